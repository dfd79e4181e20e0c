"""Applies unified diffs strictly: a hunk that does not match exactly at its place is refused."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from lithos.core.markdown import split_lines
from lithos.errors import Conflict, InvalidInput

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_HINT = "Send a unified diff made against the file as it is now; lithos_fs_read shows it."


@dataclass(frozen=True, slots=True)
class Hunk:
    line: int  # of the diff, for messages
    old_start: int
    old: list[str]
    new: list[str]


def unified(before: str, after: str, path: str) -> str:
    """The diff that `patch` takes back; a missing last newline is marked as diff(1) does."""
    rows: list[str] = []
    for row in difflib.unified_diff(_lf(before), _lf(after), f"a/{path}", f"b/{path}"):
        rows.append(row if row.endswith("\n") else f"{row}\n{_NO_NEWLINE}\n")
    return "".join(rows)


def patch(text: str, diff: str) -> str:
    """`text` with every hunk applied at exactly the line it names, or a refusal that says which did not fit."""
    lines = _lf(text)
    done: list[str] = []
    at = 0
    for hunk in parse(diff):
        start = hunk.old_start - 1 if hunk.old else hunk.old_start
        if start < at:
            raise _malformed(hunk.line, "hunks overlap or are out of order")
        if lines[start : start + len(hunk.old)] != hunk.old or start > len(lines):
            raise _misfit(lines, start, hunk)
        done += lines[at:start] + hunk.new
        at = start + len(hunk.old)
    result = done + lines[at:]
    _refuse_inner_end(result)
    return "".join(result)


def parse(diff: str) -> list[Hunk]:
    rows = _lf(diff)
    hunks: list[Hunk] = []
    index = 0
    while index < len(rows):
        header = _HUNK.match(rows[index])
        if header:
            hunk, index = _hunk(rows, index, header)
            hunks.append(hunk)
        elif hunks and rows[index].strip():
            raise _malformed(index + 1, "this line belongs to no hunk")
        else:
            index += 1
    if not hunks:
        raise InvalidInput("the diff has no hunk", hint=_HINT)
    return hunks


def _hunk(rows: list[str], index: int, header: re.Match[str]) -> tuple[Hunk, int]:
    old_left, new_left = int(header[2] or 1), int(header[4] or 1)
    hunk = Hunk(index + 1, int(header[1]), [], [])
    at = index + 1
    while (old_left or new_left) and at < len(rows):
        mark, rest = (rows[at][:1], rows[at][1:]) if rows[at].strip("\r\n") else (" ", rows[at])
        if mark not in (" ", "-", "+"):
            raise _malformed(at + 1, "a line of a hunk starts with a space, - or +")
        if mark in (" ", "-"):
            hunk.old.append(rest)
            old_left -= 1
        if mark in (" ", "+"):
            hunk.new.append(rest)
            new_left -= 1
        at = _strip_newline(rows, at + 1, mark, hunk)
    if old_left or new_left:
        raise _malformed(index + 1, "the hunk's header counts other lines than it has")
    return hunk, at


def _strip_newline(rows: list[str], at: int, mark: str, hunk: Hunk) -> int:
    if at >= len(rows) or not rows[at].startswith("\\"):
        return at
    for side in [hunk.old] if mark == "-" else [hunk.new] if mark == "+" else [hunk.old, hunk.new]:
        side[-1] = side[-1].rstrip("\r\n")
    return at + 1


def _lf(text: str) -> list[str]:
    return split_lines(text)


def _refuse_inner_end(lines: list[str]) -> None:
    """A line without an end is only ever the last one."""
    for number, line in enumerate(lines[:-1], 1):
        if not line.endswith(("\n", "\r")):
            raise Conflict(f"the diff would join lines {number} and {number + 1}", hint=_HINT)


def _malformed(line: int, why: str) -> InvalidInput:
    return InvalidInput(f"line {line} of the diff: {why}", hint=_HINT)


def _misfit(lines: list[str], start: int, hunk: Hunk) -> Conflict:
    for offset, wanted in enumerate(hunk.old):
        found = lines[start + offset] if start + offset < len(lines) else None
        if found != wanted:
            there = "the end of the file" if found is None else repr(found[:80])
            message = (
                f"the hunk at line {hunk.line} of the diff does not fit line {start + offset + 1} of the file: {there}"
            )
            return Conflict(message, hint=_HINT, line=start + offset + 1)
    return Conflict(f"the hunk at line {hunk.line} of the diff starts beyond the end of the file", hint=_HINT)
