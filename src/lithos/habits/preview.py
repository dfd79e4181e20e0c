"""Preview: what an edit would do to a file, before it is made. Nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NotRequired

from rapidfuzz import fuzz
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import version_of
from lithos.core.secrets import find as find_secrets
from lithos.core.text import with_article
from lithos.errors import InvalidInput, NotFound, TooLarge, Unsupported
from lithos.garden import Garden, Replacing, replacing, unified
from lithos.graph.code import Code, OpenRoot, dependents, facts_of, file_bytes
from lithos.graph.git import compared
from lithos.storage import Root

LARGEST = 1_000_000  # bytes
LONGEST_DIFF = 6_000  # characters of an answer
SHOWN_LINES = 10
MOST_IMPACTS = 3  # changed symbols that a warning names
_CONSTANT = re.compile(r"\s*(?:export\s+)?(?:(?:const|let|var)\s+)?[\w$]+\s*[=:]")
_COMMENTS = ("#", "//", "*", "/*")
NEAR = 55.0  # of 100: how alike a passage must be to be offered
VAULT, GARDEN = "vault:", "garden:"
StyleCheck = Callable[[Call, OpenRoot, str, str], list[str]]


class NearestPassage(TypedDict):
    line: int
    similarity: float
    text: str
    difference: str


class EditPreview(TypedDict):
    path: str
    version: str
    matches: int
    diff: str
    lines_added: int
    lines_removed: int
    files_affected: int
    warnings: list[str]
    reversible: bool
    after_version: NotRequired[str]
    match_lines: NotRequired[list[int]]
    nearest: NotRequired[NearestPassage]
    truncated: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    data: bytes
    version: str
    root: OpenRoot | None = None


class Previews:
    def __init__(self, code: Code, garden: Garden, vault: Root, check_style: StyleCheck | None = None) -> None:
        self._code = code
        self._garden = garden
        self._vault = vault
        self._check_style = check_style

    def preview(self, call: Call, file_path: str, old: str, new: str, replace_all: bool = False) -> EditPreview:
        """The diff, and what would be wrong with the edit."""
        if old == new:
            raise InvalidInput("old_string and new_string are equal", hint="Nothing would change.")
        file = self._file(call, file_path)
        try:
            text = file.data.decode()
        except UnicodeDecodeError:
            raise Unsupported(f"{file.path[:200]!r} is not UTF-8 text") from None
        found = replacing(text, old, new)
        after = found.after(everywhere=replace_all)
        diff = diff_of(text, after, file.path)
        answer: EditPreview = {
            "path": file.path,
            "version": file.version,
            "matches": len(found.places),
            "diff": diff[:LONGEST_DIFF],
            "lines_added": _count(diff, "+"),
            "lines_removed": _count(diff, "-"),
            "files_affected": int(after != text),
            "warnings": [*self._warnings(call, file, found, after, replace_all)],
            "reversible": _reversible(found, after, replace_all),
        }
        if len(diff) > LONGEST_DIFF:
            answer["truncated"] = True
        if not found.places:
            nearest = nearest_passage(text, old)
            return {**answer, "nearest": nearest} if nearest else answer
        if len(found.places) > 1:
            answer["match_lines"] = found.lines[:SHOWN_LINES]
        return {**answer, "after_version": version_of(after.encode())}

    def _file(self, call: Call, path: str) -> _File:
        plain = path.strip()
        if plain.startswith(VAULT):
            return self._of_vault(plain.removeprefix(VAULT))
        if plain.startswith(GARDEN):
            return self._of_garden(call, plain.removeprefix(GARDEN))
        try:
            root, inside, data, version = file_bytes(self._code, call, plain)
            return _File(f"{root.spec.name}:{inside}", data, version, root)
        except NotFound as missing:
            if self._vault.exists(plain):
                return self._of_vault(plain)
            raise NotFound(missing.message, hint="root:path, vault:path or garden:path names a file.") from None

    def _of_vault(self, path: str) -> _File:
        found = self._vault.read(path)
        return _File(f"{VAULT}{path}", found.data, found.version)

    def _of_garden(self, call: Call, path: str) -> _File:
        found = self._garden.read(self._garden.target(call, path))
        return _File(f"{GARDEN}{path}", found["content"].encode(), found["version"])

    def _warnings(self, call: Call, file: _File, found: Replacing, after: str, everywhere: bool) -> Iterator[str]:
        if len(file.data) > LARGEST:
            raise TooLarge(f"{file.path[:200]!r} has more than {LARGEST} bytes")
        count = len(found.places)
        if not count:
            yield "old_string is not in the file; nothing would change"
            return
        if count > 1:
            lines = ", ".join(map(str, found.lines[:SHOWN_LINES]))
            which = "all are replaced" if everywhere else "only the first would be replaced: add lines around it"
            yield f"old_string matches {count} times (lines {lines}); {which}"
        for kind, line in find_secrets(found.new):
            yield f"new_string holds what looks like {with_article(kind)} in line {line}"
        yield from self._in_code(call, file, found, after)

    def _in_code(self, call: Call, file: _File, found: Replacing, after: str) -> Iterator[str]:
        path = file.path.partition(":")[2]
        before_facts = facts_of(self._code, path, file.data)
        after_facts = facts_of(self._code, path, after.encode())
        if before_facts is not None and after_facts is not None:
            more = after_facts.parse_errors - before_facts.parse_errors
            if more > 0:
                yield f"the edit breaks the syntax: {more} more place{'s' if more > 1 else ''} cannot be parsed"
            if file.root is not None:
                old = {each.local: _head(each.signature) for each in before_facts.symbols if each.local}
                new = {each.local: _head(each.signature) for each in after_facts.symbols if each.local}
                yield from _impact(file.root, path, old, new)
                yield from _still_used([name for name in old if name not in new], after)
        if file.root is not None and self._check_style is not None:
            yield from self._check_style(call, file.root, path, found.new)


def _impact(root: OpenRoot, path: str, old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    changed = [name for name in old if name not in new or new[name] != old[name]]
    used = dependents(root, path, changed[:50]) if changed else {}
    gone = tuple(f"{name}." for name in used if name not in new)  # their members are gone with them
    outer = sorted(((-count, name) for name, count in used.items() if not name.startswith(gone)))
    for less, name in outer[:MOST_IMPACTS]:
        count = -less
        what = "removes or renames" if name not in new else "changes the signature of"
        yield f"the edit {what} {name}, used by {count} symbol{'s' if count > 1 else ''} of other files"
    if len(outer) > MOST_IMPACTS:
        yield f"{len(outer) - MOST_IMPACTS} more changed symbols are used by other files"


def _still_used(gone: list[str], after: str) -> Iterator[str]:
    """Names that the edit removes and the rest of the file still says. Members are called by other names as well."""
    rows = after.split("\n")
    for name in [each for each in gone if "." not in each and len(each) > 1][:MOST_IMPACTS]:
        word = re.compile(rf"(?<![\w$.]){re.escape(name)}(?![\w$])")
        lines = [at for at, row in enumerate(rows, 1) if word.search(row) and not row.lstrip().startswith(_COMMENTS)]
        if lines:
            shown = ", ".join(map(str, lines[:SHOWN_LINES]))
            yield f"the edit removes or renames {name}, still used in line{'s' if len(lines) > 1 else ''} {shown}"


def _head(signature: str) -> str:
    """Without the value of a constant and the body of an arrow function: neither is seen by those that use the name."""
    if not _CONSTANT.match(signature):
        return signature
    depth, end = 0, len(signature)
    for at, sign in enumerate(signature):
        depth += (sign in "([{<") - (sign in ")]}" or (sign == ">" and signature[at - 1] != "="))
        if depth <= 0 and signature.startswith("=>", at):
            return signature[:at]
        if depth <= 0 and sign == "=" and end == len(signature):
            end = at
    return signature[:end]


def diff_of(before: str, after: str, path: str) -> str:
    """As `git diff --no-index` shows it, under the file's own name; without git, as difflib does."""
    if before == after:
        return ""
    try:
        hunks = compared(before.encode(), after.encode()).decode("utf-8", "replace")
    except Unsupported:
        return unified(before, after, path)
    return f"--- a/{path}\n+++ b/{path}\n{hunks}"


def _count(diff: str, mark: str) -> int:
    """Lines of the hunks that begin with the mark."""
    _, at, hunks = diff.partition("\n@@ ")
    return sum(1 for row in hunks.split("\n")[1:] if row.startswith(mark)) if at else 0


def _reversible(found: Replacing, after: str, everywhere: bool) -> bool:
    """Whether the same edit the other way round gives the bytes back."""
    if not found.places or not found.new:
        return False
    back = replacing(after, found.new, found.old)
    done = len(found.places) if everywhere else 1
    return len(back.places) == done and back.after(everywhere=everywhere) == found.before


def nearest_passage(text: str, wanted: str) -> NearestPassage | None:
    """The lines most like the passage that is not there, and how they differ."""
    lines, asked = text.split("\n"), wanted.strip("\n").split("\n")
    size = len(asked)
    best, place = 0.0, -1
    anchor = max(asked, key=lambda line: len(line.strip()))
    offset = asked.index(anchor)
    scored = sorted(((fuzz.ratio(anchor.strip(), line.strip()), at) for at, line in enumerate(lines)), reverse=True)
    for _, at in scored[:20]:
        start = max(0, at - offset)
        score = fuzz.ratio("\n".join(asked), "\n".join(lines[start : start + size]))
        if score > best:
            best, place = score, start
    if best < NEAR or place < 0:
        return None
    there = "\n".join(lines[place : place + size])
    return {
        "line": place + 1,
        "similarity": round(best / 100, 2),
        "text": there[:1_000],
        "difference": _difference("\n".join(asked), there),
    }


def _difference(asked: str, there: str) -> str:
    if asked.split() == there.split():
        return "white space only: copy the passage as it is in the file"
    if asked.replace("'", '"').split() == there.replace("'", '"').split():
        return "quotes"
    rows = unified(asked + "\n", there + "\n", "passage").split("\n")[2:]
    return "\n".join(row for row in rows if row[:1] in "+-")[:600]
