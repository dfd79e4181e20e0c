"""States: cheap fingerprints of what an answer rests on, so that a cached one is given only while it still holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from lithos.core.call import Call
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.schema import number
from lithos.storage import Tx


@dataclass(frozen=True, slots=True)
class FileState:
    version: str
    size: int


def file_states(code: Code, paths: Iterable[str]) -> dict[str, FileState]:
    """`root:path` → its version and size now; what is gone is left out."""
    roots = {root.spec.name: root for root in code.roots()}
    by_root: dict[str, list[str]] = {}
    for each in paths:
        name, _, path = each.partition(":")
        by_root.setdefault(name, []).append(path)
    found: dict[str, FileState] = {}
    for name, inside in by_root.items():
        if name in roots:
            found.update((f"{name}:{path}", state) for path, state in _files(roots[name], inside).items())
    return found


def _files(root: OpenRoot, paths: list[str]) -> dict[str, FileState]:
    numbers = ",".join(str(number(path)) for path in dict.fromkeys(paths))
    sql = f"SELECT path, version, size FROM files WHERE number IN ({numbers}) AND reason = ''"
    return {row["path"]: FileState(row["version"], row["size"]) for row in root.store.read(lambda tx: tx.all(sql))}


def names_state(code: Code, call: Call, names: Iterable[str]) -> Hashable:
    """Where each of these names is defined now, with the files' versions."""
    wanted = list(dict.fromkeys(names))[:50]
    sql = (
        "SELECT n.number, n.line, f.version FROM nodes n JOIN files f ON f.number = n.file "
        f"WHERE n.name IN ({', '.join('?' * len(wanted))}) AND n.type NOT IN (0, 1, 8) ORDER BY n.number LIMIT 500"
    )

    def work(tx: Tx) -> tuple[tuple[int, int, str], ...]:
        return tuple((row["number"], row["line"], row["version"]) for row in tx.all(sql, *wanted))

    return tuple((root.spec.name, root.store.read(work)) for root in code.visible(call)) if wanted else ()


def uses_state(code: Code, ids: Iterable[str]) -> Hashable:
    """All edges into and out of these symbols now."""
    roots = {root.spec.name: root for root in code.roots()}
    sql = "SELECT source, target, type, line FROM edges WHERE target = ? OR source = ? ORDER BY 1, 2, 3"
    found = []
    for id in ids:
        name, _, inside = id.partition(":")
        if name in roots:
            at = number(inside)
            rows = roots[name].store.read(lambda tx, at=at: tx.all(sql, at, at))  # type: ignore[misc]
            found.append((id, hash(tuple(tuple(row.values()) for row in rows))))
    return tuple(found)


def folders_state(code: Code, folders: Iterable[str]) -> Hashable:
    """Names of the files in these folders (`root:folder`) now."""
    roots = {root.spec.name: root for root in code.roots()}
    sql = "SELECT path FROM files WHERE reason = '' AND path >= ? AND path < ? ORDER BY path"
    found = []
    for each in dict.fromkeys(folders):
        name, _, folder = each.partition(":")
        if name in roots:
            low, high = (f"{folder}/", f"{folder}0") if folder else ("", "\U0010ffff")
            rows = roots[name].store.read(lambda tx, low=low, high=high: tx.all(sql, low, high))  # type: ignore[misc]
            inside = [row["path"] for row in rows if "/" not in row["path"][len(low) :]]
            found.append((each, hash(tuple(inside))))
    return tuple(found)
