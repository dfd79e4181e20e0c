"""Files of the roots: reading, listing, and the shape of the whole. One rule decides what is served."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from io import StringIO
from typing import Any, Protocol

from lithos.core.call import Call
from lithos.core.canonical import same_version
from lithos.core.relative import relative
from lithos.core.text import BYTES_PER_TOKEN, estimate_tokens
from lithos.errors import Forbidden, InvalidInput, NotFound
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.languages import shown
from lithos.graph.code.questions.lookup import no_file, no_root, within
from lithos.graph.code.questions.questions import degraded
from lithos.graph.code.roots import globs
from lithos.graph.code.roots.rule import is_secret
from lithos.graph.code.schema import number
from lithos.storage import Row, Tx

MOST_LINES = 2_000
MOST_CHARACTERS = 200_000
_LEFT_OUT = "Only files that are indexed are served; lithos_list_files shows them."


def located(roots: Sequence[OpenRoot], path: str) -> tuple[OpenRoot, str]:
    """The root and the path within it; `root:path` says which, or the machine's path, else the one root that has the
    file."""
    plain = within(roots, path).removeprefix("./").strip()
    for root in roots:
        if plain.startswith(f"{root.spec.name}:"):
            return root, relative(plain[len(root.spec.name) + 1 :])
    plain = relative(plain)
    if not roots:
        raise no_root()
    has = [root for root in roots if _row(root, plain) is not None]
    if len(has) > 1:
        names = [f"{root.spec.name}:{plain}" for root in has]
        raise InvalidInput(f"{plain[:200]!r} is in several roots", hint="Send one of `candidates`.", candidates=names)
    if has:
        return has[0], plain
    there = [root for root in roots if root.index.tree.stamp(plain) is not None]
    return (there or list(roots))[0], plain


def _row(root: OpenRoot, path: str) -> Row | None:
    return root.store.read(lambda tx: tx.one("SELECT * FROM files WHERE number = ?", number(path)))


def served(root: OpenRoot, path: str) -> tuple[bytes, str, Row]:
    """Bytes, version and row of a file that the rule lets through; the graph is brought to the same version."""
    if is_secret(path):
        raise Forbidden(f"{path[:200]!r} looks like a credential file", hint="Such files are never served.")
    if (reason := root.spec.rule.refuses(path)) is not None:
        raise Forbidden(f"{path[:200]!r} is left out: {reason}", hint=_LEFT_OUT)
    for _ in range(3):
        data, version = _read(root, path)
        row = _row(root, path)
        if row is None or row["version"] != version:
            root.index.refresh(path)
            row = _row(root, path)
        if row is None and root.index.progress.state in ("starting", "indexing"):
            raise root.not_settled(path)
        if row is None:
            raise Forbidden(
                f"{path[:200]!r} is ignored by the repository", hint="Only files that git would list are served."
            )
        if row["reason"]:
            raise Forbidden(f"{path[:200]!r} is left out: {row['reason']}", hint=_LEFT_OUT)
        if row["version"] == version:
            return data, version, row
    raise root.not_settled(path)


def _read(root: OpenRoot, path: str) -> tuple[bytes, str]:
    try:
        data, version, _ = root.index.tree.read(path)
    except NotFound:
        raise no_file([root], path) from None
    return data, version


class KeptTexts(Protocol):
    """Texts that were served before, by version; forgetting one costs a reader tokens, nothing else."""

    def get(self, version: str) -> tuple[str, bytes] | None:
        """The whole version and its bytes; a version may be given by its first digits."""

    def keep(self, version: str, data: bytes) -> None: ...


def file(
    code: Code,
    call: Call,
    path: str,
    start_line: int | None,
    end_line: int | None,
    known_version: str | None,
    kept: KeptTexts | None = None,
) -> dict[str, Any]:
    """The text with its version and its size in tokens. The caller says which version it still has before it: then
    nothing, or only the changed hunks where they are shorter."""
    root, inside = located(code.visible(call), path)
    data, version, row = served(root, inside)
    entry: dict[str, Any] = {"path": inside, "root": root.spec.name, "version": version, "lines": row["lines"]}
    if row["language"]:
        entry["language"] = shown(row["language"])
    text = excerpt(inside, data, version, start_line, end_line, known_version, kept)
    return {**entry, **text, **degraded([root])}


def excerpt(
    inside: str,
    data: bytes,
    version: str,
    start_line: int | None,
    end_line: int | None,
    known_version: str | None,
    kept: KeptTexts | None = None,
) -> dict[str, Any]:
    """The text of a file as a reader gets it: nothing new, changed hunks, or whole lines up to the limits."""
    if known_version is not None and same_version(known_version, version):
        return {"unchanged": True, "token_count": token_count(data)}
    whole = data.decode("utf-8", "replace")
    if kept is not None:
        kept.keep(version, data)
        if known_version is not None and start_line is None and end_line is None:
            hunks = _hunks(kept.get(known_version), whole, inside)
            if hunks is not None:
                count = estimate_tokens(whole)
                return {"since": known_version, "hunks": hunks, "token_count": count, "truncated": False}
    lines = [*StringIO(whole, newline="\n")]  # grammars count no other ends of lines, such as a form feed
    first = max(start_line or 1, 1)
    if first > max(len(lines), 1):
        raise InvalidInput(f"{inside} has {len(lines)} lines", hint=f"start_line is at most {len(lines)}.")
    last = min(end_line or len(lines), len(lines))
    if end_line is not None and end_line < first:
        raise InvalidInput(f"end_line {end_line} is before start_line {first}")
    text, until = _fitting(lines, first, last)
    lines_shown = {"start_line": first, "end_line": until, "content": text, "truncated": until < last}
    return {**lines_shown, "token_count": estimate_tokens(text)}


def token_count(data: bytes) -> int:
    return -(-len(data) // BYTES_PER_TOKEN)


def _hunks(earlier: tuple[str, bytes] | None, now: str, path: str) -> str | None:
    """The hunks that changed since, if they are shorter than the text and the text is served whole."""
    if earlier is None or len(now) > MOST_CHARACTERS or now.count("\n") > MOST_LINES:
        return None
    before = earlier[1].decode("utf-8", "replace").splitlines(keepends=True)
    after = now.splitlines(keepends=True)
    if abs(len(before) - len(after)) > len(after):
        return None
    rows = [*difflib.unified_diff(before, after, path, path, n=2)][2:]
    text = "".join(row if row.endswith("\n") else f"{row}\n" for row in rows)
    return text if estimate_tokens(text) < estimate_tokens(now) else None


def _fitting(lines: list[str], first: int, last: int) -> tuple[str, int]:
    """Whole lines up to the limits; a single giant line is cut."""
    last = min(last, first + MOST_LINES - 1)
    size, until = 0, first - 1
    for line in lines[first - 1 : last]:
        size += len(line)
        if size > MOST_CHARACTERS and until >= first:
            break
        until += 1
    return "".join(lines[first - 1 : until])[:MOST_CHARACTERS], until


def _paths_after(low: str, tx: Tx) -> list[Row]:
    sql = "SELECT path, language, lines, size FROM files WHERE reason = '' AND path > ? ORDER BY path"
    return tx.all(sql, low)


def listing(code: Code, call: Call, pattern: str, root: str | None, limit: int, cursor: str | None) -> dict[str, Any]:
    matcher = globs.compiled(pattern)
    roots = code.visible(call, root)
    after_root, _, after = (cursor or "").partition(":")
    files: list[dict[str, Any]] = []
    more = ""
    for each in sorted(roots, key=lambda each: each.spec.name):
        name = each.spec.name
        if cursor and name < after_root:
            continue
        low = after if cursor and name == after_root else ""
        for row in each.store.read(partial(_paths_after, low)):
            if matcher.fullmatch(row["path"]) is None:
                continue
            if len(files) == limit:
                more = f"{files[-1]['root']}:{files[-1]['path']}"
                break
            files.append(
                {
                    "path": row["path"],
                    "root": name,
                    "language": shown(row["language"]),
                    "lines": row["lines"],
                    "bytes": row["size"],
                }
            )
        if more:
            break
    answer: dict[str, Any] = {"files": files, "count": len(files)}
    if more:
        answer["cursor"] = more
    return {**answer, **degraded(roots)}


def structure(code: Code, call: Call, path: str, depth: int, root: str | None) -> dict[str, Any]:
    """Folders with their files, lines, languages and symbols, `depth` levels deep."""
    roots = code.visible(call, root)
    path = within(roots, path)
    if path.strip(" /") not in ("", "."):
        named, inside = located(roots, path.rstrip("/"))
        inside = inside.strip("/")
        if ".." in inside.split("/"):
            raise InvalidInput(f"{inside[:200]!r} leads out of the root", hint="Name a folder beneath it.")
        asked = [named] if path.strip().startswith(f"{named.spec.name}:") else roots
    else:
        asked, inside = roots, ""
    counted = [(each, rows) for each in asked if (rows := _counted(each, inside)) or not inside]
    if inside and not counted:
        names = ", ".join(each.spec.name for each in asked)
        raise NotFound(f"there is no folder {inside[:200]!r} in {names}", hint="lithos_list_files shows what there is.")
    trees = [{"root": each.spec.name, **_folder(inside, rows, depth)} for each, rows in counted]
    return {"structure": trees, **degraded([each for each, _ in counted])}


def _counted(root: OpenRoot, inside: str) -> list[Row]:
    sql = (
        "SELECT f.path, f.language, f.lines, "
        "(SELECT count(*) FROM nodes n WHERE n.file = f.number AND n.type NOT IN (0, 8)) AS symbols "
        "FROM files f WHERE f.reason = ''"
    )
    if not inside:
        return root.store.read(lambda tx: tx.all(sql))
    beneath = f"{sql} AND (f.path = ? OR (f.path > ? || '/' AND f.path < ? || '0'))"
    return root.store.read(lambda tx: tx.all(beneath, inside, inside, inside))


def _folder(path: str, rows: Sequence[Row], depth: int) -> dict[str, Any]:
    languages = Counter(shown(row["language"]) for row in rows if row["language"])
    entry: dict[str, Any] = {
        "path": path or "/",
        "files": len(rows),
        "lines": sum(row["lines"] for row in rows),
        "symbols": sum(row["symbols"] for row in rows),
        "languages": dict(languages.most_common(5)),
    }
    if depth <= 0:
        return entry
    prefix = f"{path}/" if path else ""
    folders: dict[str, list[Row]] = {}
    files: list[str] = []
    for row in rows:
        name, slash, _ = row["path"][len(prefix) :].partition("/")
        if slash:
            folders.setdefault(name, []).append(row)
        elif row["path"] != path:
            files.append(name)
    if folders:
        biggest = sorted(folders.items(), key=lambda item: (-len(item[1]), item[0]))
        entry["folders"] = [_folder(prefix + name, inner, depth - 1) for name, inner in sorted(biggest[:60])]
        if len(biggest) > 60:
            entry["more_folders"] = len(biggest) - 60
    if files:
        entry["names"] = sorted(files)[:60]
    return entry
