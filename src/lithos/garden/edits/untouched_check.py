"""Checks that a change of one section left the rest of the file alone, against the bytes that were read back.

Checked by comparing texts, with none of the code that made the change: a bug there must not vouch for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lithos.garden.sections import Outline, Section


@dataclass(frozen=True, slots=True)
class UntouchedCheck:
    """Every byte before and behind the section stays, but for one line of a Change Log."""

    head: str  # heading and anchor of the section included
    tail: str
    log: str

    def kept_by(self, found: str) -> bool:
        return self._framed(found) or any(map(self._framed, without_line(found, self.log)))

    def _framed(self, text: str) -> bool:
        whole = len(text) >= len(self.head) + len(self.tail)
        return whole and text.startswith(self.head) and text.endswith(self.tail)


def promise_of(before: Outline, section: Section, own: bool, log: str) -> UntouchedCheck:
    """`own`: the subsections belong to what stays."""
    end = section.own_end if own else section.end
    return UntouchedCheck("".join(before.lines[: section.body]), "".join(before.lines[end:]), log)


def without_line(text: str, line: str) -> Iterator[str]:
    """`text` with one of its lines `line` taken out, in every way in which it may have come in: a last line without an
    end got one first, and a blank line on either side keeps it apart. Line ends may be mixed in one file."""
    at = text.find(line)
    while at >= 0:
        for end in ("\n", "\r\n"):
            behind = at + len(line) + len(end)
            if text.startswith(end, behind - len(end)):
                ends_before = next(count for count in (2, 1, 0) if text.endswith(end * count, 0, at))
                starts = [at - count * len(end) for count in range(ends_before + 1)]
                ends = [behind, behind + len(end)] if text.startswith(end, behind) else [behind]
                yield from (text[:start] + text[stop:] for start in starts for stop in ends)
        at = text.find(line, at + 1)
