"""Lookup: from what a caller writes (`pkg/auth.Login`, `Class.method`, `src/a.py:12`, an id) to one node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from lithos.errors import InvalidInput, NotFound
from lithos.graph.code.code import OpenRoot
from lithos.graph.code.languages import language_of, shown
from lithos.graph.code.schema import number
from lithos.graph.code.values import NODE_NAMES, NodeType
from lithos.storage import Row, Tx

NEAR_NAMES = 5
_MOST_SHOWN = 10
_LINE = re.compile(r"(.+):(\d{1,7})\Z")
_SPLIT = re.compile(r"[./#:\\]+|->")
_OWN = 100.0  # above every ratio
_HINT = "Give an id from lithos_search_code, pkg/file.Name, Class.method or path:line."
_ROWS = "SELECT n.*, f.path, f.version, f.language FROM nodes n LEFT JOIN files f ON f.number = n.file WHERE"
_NODES = f"{_ROWS} n.type <> 8 AND "


@dataclass(frozen=True, slots=True)
class Symbol:
    """A node of one root."""

    root: OpenRoot
    row: Row

    @property
    def number(self) -> int:
        return int(self.row["number"])

    @property
    def path(self) -> str:
        return str(self.row["path"] or self.row["local"])

    @property
    def id(self) -> str:
        return symbol_id(self.root.spec.name, self.row)


def symbol_id(root: str, row: Row) -> str:
    if row["type"] == NodeType.PACKAGE and not row["path"]:
        return f"{root}:{row['local']}"
    return f"{root}:{row['path']}#{row['local']}" if row["local"] else f"{root}:{row['path']}"


def rendered(root: str, row: Row) -> dict[str, Any]:
    """A symbol as every answer shows it."""
    entry: dict[str, Any] = {
        "id": symbol_id(root, row),
        "name": row["name"],
        "type": NODE_NAMES[NodeType(row["type"])],
        "path": row["path"] or row["local"],
        "root": root,
        "start_line": row["line"],
        "end_line": row["end_line"],
        "version": row["version"] or "",
    }
    if row["language"]:
        entry["language"] = shown(row["language"])
    if row["signature"]:
        entry["signature"] = row["signature"]
    return entry


def nodes(tx: Tx, numbers: Sequence[int]) -> dict[int, Row]:
    found: dict[int, Row] = {}
    for start in range(0, len(numbers), 500):
        part = ",".join(map(str, numbers[start : start + 500]))
        found.update((row["number"], row) for row in tx.all(f"{_ROWS} n.number IN ({part})"))
    return found


def within(roots: Sequence[OpenRoot], path: str) -> str:
    """A path of the machine beneath one of these roots as ROOT:path, the deepest root first; any other as it came."""
    folders = {root.spec.path.rstrip("/"): root.spec.name for root in roots}
    for folder in sorted(folders, key=len, reverse=True):
        if path.strip() == folder or path.strip().startswith(f"{folder}/"):
            return f"{folders[folder]}:{path.strip()[len(folder) + 1 :]}"
    return path


def find(roots: Sequence[OpenRoot], text: str, *, offers: bool = True) -> Symbol:
    """The one node that `text` means. NotFound offers near names; InvalidInput the candidates of an ambiguous name.

    `offers`: False for who does not show them: near names cost more than the rest.
    """
    text = within(roots, text.strip())
    if not text or len(text) > 1_000:
        raise InvalidInput("name a symbol", hint=_HINT)
    if not roots:
        raise no_root()
    exact = [each for root in roots if (each := _exact(root, text)) is not None]
    if len(exact) == 1:
        return exact[0]
    found: list[Symbol] = exact or [each for root in roots for each in named(root, text)]
    if not found:
        near = _near(roots, text) if offers else []
        offer = f"Did you mean {', '.join(near)}?" if near else _HINT
        raise NotFound(f"there is no symbol {text[:120]!r}", hint=offer, near=near)
    if len(found) > 1:
        found = _narrowed(found, text)
    if len(found) > 1:
        ids = [each.id for each in found[:_MOST_SHOWN]]
        raise InvalidInput(
            f"{text[:120]!r} names {len(found)} symbols", hint="Send one of `candidates` as symbol_id.", candidates=ids
        )
    return found[0]


def _exact(root: OpenRoot, text: str) -> Symbol | None:
    """An id with or without its root, a path, or path:line."""
    rest = text.removeprefix(f"{root.spec.name}:")
    row = root.store.read(lambda tx: nodes(tx, [number(rest)])).get(number(rest))
    if row is not None and row["type"] != NodeType.IMPORT:
        return Symbol(root, row)
    line = _LINE.match(rest)
    return _at_line(root, line.group(1), int(line.group(2))) if line else None


def _at_line(root: OpenRoot, path: str, line: int) -> Symbol | None:
    sql = f"{_NODES} n.file = ? AND n.line <= ? AND n.end_line >= ? ORDER BY n.end_line - n.line, n.place DESC LIMIT 1"
    row = root.store.read(lambda tx: tx.one(sql, number(path), line, line))
    return Symbol(root, row) if row else None


def named(root: OpenRoot, text: str, *, repeated: bool = False) -> list[Symbol]:
    """Nodes whose path and qualified name end with the parts given; the file's own name may be left out.

    `repeated`: every definition of a name that a file defines more than once (overloads), else the first.
    """
    parts = [part for part in _SPLIT.split(text.removeprefix(f"{root.spec.name}:").removesuffix("()")) if part]
    if not parts:
        return []
    rows = root.store.read(lambda tx: tx.all(f"{_NODES} n.name = ? LIMIT 2000", parts[-1].split("~")[0]))
    return [Symbol(root, row) for row in rows if _ends_with(row, parts, repeated)]


def _ends_with(row: Row, parts: list[str], repeated: bool) -> bool:
    folders = str(row["path"] or "").split("/")
    stem = folders.pop().split(".")[0] if folders else ""
    local = str(row["local"]).split(".") if row["local"] else [str(row["name"])]
    if repeated:
        local = [part.partition("~")[0] for part in local]
    for whole in (
        [*folders, stem, *local],
        [*folders, *local],
        [*folders, *str(row["path"] or "").split("/")[-1:], *local],
    ):
        if len(parts) <= len(whole) and whole[-len(parts) :] == parts:
            return True
    return False


def _narrowed(found: list[Symbol], text: str) -> list[Symbol]:
    """An exact qualified name rules; then what is no test; then a definition that is no field."""
    exact = [each for each in found if each.row["local"] == text]
    found = exact if exact else found
    code = [each for each in found if not is_test(each.path)]
    found = code if code else found
    strong = [each for each in found if each.row["type"] not in (NodeType.VARIABLE, NodeType.CONSTANT)]
    return strong if len(strong) == 1 else found


def is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return bool(
        re.search(r"(?:^|/)(?:tests?|__tests__|spec|testing|testdata|benches)/", path)
        or re.match(r"(?:test_.*|.*_test\.\w+|.*\.(?:test|spec)\.\w+|conftest\.py|.*Tests?\.\w+)\Z", name)
    )


def near_names(roots: Sequence[OpenRoot], text: str) -> list[str]:
    """Ids of the five symbols whose names are most like the last part of `text`; members of the class that it names
    come first.

    The plain ratio: 200 of 200 typos among 63,000 names, a fifth of the time of rapidfuzz's weighted default.
    """
    from rapidfuzz import fuzz, process

    *owners, wanted = [part for part in _SPLIT.split(text) if part] or [text]
    found: list[tuple[float, str]] = []
    for root in roots:
        members = root.store.read(partial(_members, owners[-1])) if owners else []
        likely = process.extract(
            wanted, [row["name"] for row in members], scorer=fuzz.ratio, limit=NEAR_NAMES, score_cutoff=55
        )
        found += [(-_OWN - score, symbol_id(root.spec.name, members[at])) for _, score, at in likely]
        names = root.store.read(_all_names)
        for name, score, _ in process.extract(wanted, names, scorer=fuzz.ratio, limit=NEAR_NAMES, score_cutoff=55):
            row = root.store.read(partial(_first_named, name))
            if row:
                found.append((-score, symbol_id(root.spec.name, row)))
    return list(dict.fromkeys(id for _, id in sorted(found)))[:NEAR_NAMES]


def near_files(roots: Sequence[OpenRoot], path: str) -> list[str]:
    """The five files whose paths are most like this one; a file of the same name counts wherever it is."""
    from rapidfuzz import fuzz, process

    wanted = _LINE.sub(r"\1", path.strip())
    found: list[tuple[float, str]] = []
    for root in roots:
        inside = wanted.removeprefix(f"{root.spec.name}:")
        paths = root.store.read(_all_paths)
        likely = process.extract(inside, paths, scorer=fuzz.ratio, limit=NEAR_NAMES, score_cutoff=55)
        found += [(-score, f"{root.spec.name}:{near}") for near, score, _ in likely]
        name = inside.rpartition("/")[2].lower()
        found += [(-99.0, f"{root.spec.name}:{each}") for each in paths if each.rpartition("/")[2].lower() == name]
    return list(dict.fromkeys(path for _, path in sorted(found)))[:NEAR_NAMES]


def _near(roots: Sequence[OpenRoot], text: str) -> list[str]:
    """Near names; of `src/a.py` or `src/a.py:12`, which is no `pkg/auth.Login`, near paths."""
    is_path = "/" in text and language_of(_LINE.sub(r"\1", text))
    return near_files(roots, text) if is_path else near_names(roots, text)


def no_file(roots: Sequence[OpenRoot], path: str) -> NotFound:
    """The refusal of a path that no root has, with the paths that may be meant."""
    near = near_files(roots, path)
    offer = f"Did you mean {', '.join(near)}?" if near else "lithos_list_files shows what there is."
    return NotFound(f"there is no file or folder {path[:200]!r}", hint=offer, near=near)


def no_root() -> NotFound:
    return NotFound("there is no code root", hint="The operator adds one: lithos code add PATH.")


def _all_paths(tx: Tx) -> list[str]:
    row = tx.one("SELECT json_group_array(path) AS paths FROM files WHERE reason = ''")
    return list(orjson.loads(row["paths"])) if row else []


def _all_names(tx: Tx) -> list[str]:
    """One row of JSON: a row for each of 60,000 names takes twice as long."""
    row = tx.one("SELECT json_group_array(DISTINCT name) AS names FROM nodes WHERE type <> 8")
    return list(orjson.loads(row["names"])) if row else []


def _members(owner: str, tx: Tx) -> list[Row]:
    """Of the classes of this name, 2,000 at most."""
    sql = (
        f"{_NODES} n.number IN (SELECT m.number FROM nodes o JOIN nodes m ON m.file = o.file"
        " AND substr(m.local, 1, length(o.local) + 1) = o.local || '.' WHERE o.name = ? AND o.type <> 8) LIMIT 2000"
    )
    return tx.all(sql, owner)


def _first_named(name: str, tx: Tx) -> Row | None:
    return tx.one(f"{_NODES} n.name = ? ORDER BY n.type, n.number LIMIT 1", name)
