"""Reading: list, read, search, hash, outline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice

import re2

from lithos.core.cursor import next_cursor, offset_of
from lithos.core.markdown import split_lines
from lithos.errors import InvalidInput
from lithos.garden.answers import Match, Matches, SectionShown, Slice
from lithos.garden.sections import Outline
from lithos.storage import Root

LONGEST_PATTERN = 1_000
LONGEST_SHOWN = 400
BATCH = 64  # files; notes are small, and a batch in which one line matches is looked at file by file
PATTERN_MEMORY = 8 * 2**20  # bytes that one pattern's automaton may take


@dataclass(frozen=True, slots=True)
class Search:
    pattern: str
    ignore_case: bool = False
    context: int = 0
    limit: int = 100
    cursor: str | None = None


def text_of(data: bytes, path: str) -> str:
    """A file of text as text; anything else is refused, its bytes stay as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path!r} is not UTF-8 text (byte {error.start})", hint="Only text files can be read and edited here."
        ) from None
    if "\0" in text:
        raise InvalidInput(f"{path!r} is binary", hint="Only text files can be read and edited here.")
    return text


def slices_of(text: str, ranges: list[tuple[int, int]]) -> list[Slice]:
    """Lines by number, both ends included; lines beyond the end are left out."""
    lines = split_lines(text)
    found: list[Slice] = []
    for start, end in ranges:
        if start < 1 or end < start:
            raise InvalidInput(f"range [{start}, {end}]: lines count from 1, the end is not before the start")
        chosen = lines[start - 1 : end]
        found.append({"start_line": start, "end_line": start + max(len(chosen) - 1, 0), "content": "".join(chosen)})
    return found


def shown(outlined: Outline) -> list[SectionShown]:
    return [
        {
            "anchor": each.anchor,
            "heading": each.heading,
            "level": each.level,
            "path": each.name,
            "start_line": each.first + 1,
            "end_line": each.end,
        }
        for each in outlined.sections
    ]


def glob_matches(path: str, folder: str, glob: str | None) -> bool:
    """Against the whole path, the path below the folder, or the bare name."""
    if not glob:
        return True
    below = path.removeprefix(folder.rstrip("/") + "/")
    return any(fnmatchcase(each, glob) for each in (path, below, path.rpartition("/")[2]))


def search(root: Root, folder: str, wanted: Search, allowed: Callable[[str], bool]) -> Matches:
    """Lines that match, in linear time for any pattern."""
    pattern = compiled(wanted)
    filters = ["lithos_fs_search", folder, wanted.pattern, wanted.ignore_case, wanted.context]
    offset = offset_of(wanted.cursor, filters)
    hits = ((path, data) for path, data in _hits(root.contents(folder), pattern) if allowed(path))
    matches = (match for path, data in hits for match in _in_file(path, data, pattern, wanted.context))
    found = list(islice(matches, offset, offset + wanted.limit + 1))
    if len(found) <= wanted.limit:
        return {"matches": found}
    place = [offset + wanted.limit]
    return {"matches": found[: wanted.limit], "truncated": True, "next_cursor": next_cursor(filters, place)}


def _hits(files: Iterator[tuple[str, bytes]], pattern: re2._Regexp) -> Iterator[tuple[str, bytes]]:
    """The files in which the pattern occurs. Most have none, and asking about many at once costs a fraction."""
    while batch := list(islice(files, BATCH)):
        if pattern.search(b"\n".join(data for _, data in batch)):
            yield from ((path, data) for path, data in batch if pattern.search(data))


def compiled(wanted: Search) -> re2._Regexp:
    if not wanted.pattern or len(wanted.pattern) > LONGEST_PATTERN:
        raise InvalidInput(f"pattern: 1 to {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.case_sensitive = not wanted.ignore_case
    options.max_mem = PATTERN_MEMORY
    options.log_errors = False
    try:
        return re2.compile(b"(?m)" + wanted.pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else "not a pattern"
        raise InvalidInput(
            f"pattern: {reason}", hint="RE2 syntax: no look-around and no back-references; escape . ( [ with \\."
        ) from None


def _in_file(path: str, data: bytes, pattern: re2._Regexp, context: int) -> Iterator[Match]:
    lines = data.split(b"\n")
    for index, line in enumerate(lines):
        if pattern.search(line.rstrip(b"\r")):
            match: Match = {"path": path, "line": index + 1, "match": _cut(line)}
            if context:
                match["before"] = [_cut(each) for each in lines[max(0, index - context) : index]]
                match["after"] = [_cut(each) for each in lines[index + 1 : index + 1 + context]]
            yield match


def _cut(line: bytes) -> str:
    return line.rstrip(b"\r").decode("utf-8", "replace")[:LONGEST_SHOWN]
