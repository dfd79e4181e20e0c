"""Inline text: where a bracket is text, and not part of code, HTML, math or a comment. Linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate

from lithos.core.markdown.blocks import CONTINUES, RAW, Scan

# Everything else is plain to us; one character class keeps the search in C.
_SPECIAL = re.compile(r"[\\`$%<\[\]]")
_TICKS = re.compile(r"`+")
_DOLLAR_END = re.compile(r"(?<![\s\\$])\$(?![\d$])")


class InlineText:
    """A text with the blocks that `scan` found in it. Code spans and `$math$` end with their block at the latest;
    Obsidian's `%%` comments and `$$` formulas reach over several."""

    def __init__(self, text: str, scanned: Scan) -> None:
        self.text = text
        self._scanned = scanned
        self._raw_starts: list[int] = []  # of code and HTML blocks, whole lines
        self._raw_ends: list[int] = []
        self._without_end: set[str] = set()  # closing marks that occur no more: not searched for from every opening
        self._locate_raw()

    def _locate_raw(self) -> None:
        inline = self._scanned.inline
        first = inline.find(RAW)
        starts = self._line_starts if first >= 0 else []
        while first >= 0:
            after = first + 1
            while after < len(inline) and inline[after] == RAW:
                after += 1
            self._raw_starts.append(starts[first])
            self._raw_ends.append(starts[after])
            first = inline.find(RAW, after)

    def next_bracket(self, position: int) -> int | None:
        """The first `[` or `]` from here on that is text."""
        while found := _SPECIAL.search(self.text, position):
            at, mark = found.start(), found.group()
            raw = bisect_right(self._raw_starts, at) - 1
            if raw >= 0 and at < self._raw_ends[raw]:
                position = self._raw_ends[raw]
            elif mark in "[]":
                return at
            else:
                position = self._behind(mark, at)
        return None

    def _behind(self, mark: str, at: int) -> int:
        """Where to go on behind an escape, code, math or a comment that starts here (or behind the mark alone)."""
        if mark == "\\":
            return at + 2
        if mark == "`":
            end = _TICKS.match(self.text, at).end()  # type: ignore[union-attr]  # there is one
            return self._in_block(self._ticks.get(end - at, []), end, end - at) or end
        if mark == "$":
            return self._behind_math(at)
        if mark == "%":
            return self._behind_pair("%%", "%%", at)
        return self._behind_comment(at)

    def _behind_math(self, at: int) -> int:
        if self.text.startswith("$$", at):
            return self._behind_pair("$$", "$$", at)
        if self.text[at + 1 : at + 2].isspace():
            return at + 1
        return self._in_block(self._dollars, at + 1, 1) or at + 1

    def _behind_pair(self, opening: str, closing: str, at: int) -> int:
        if not self.text.startswith(opening, at):
            return at + 1
        end = -1 if closing in self._without_end else self.text.find(closing, at + len(opening))
        if end < 0:
            self._without_end.add(closing)
            return at + len(opening)
        return end + len(closing)

    def _behind_comment(self, at: int) -> int:
        if not self.text.startswith("<!--", at):
            return at + 1
        return self._in_block(self._comment_ends, at + len("<!--"), len("-->")) or at + len("<!--")

    def _in_block(self, places: list[int], position: int, length: int) -> int | None:
        """Behind the first of `places` from here on, unless the block ends before it."""
        index = bisect_left(places, position)
        if index == len(places):
            return None
        block = bisect_right(self._begins, position)
        if block < len(self._begins) and self._begins[block] <= places[index]:
            return None
        return places[index] + length

    @cached_property
    def _line_starts(self) -> list[int]:
        """And the end of the text."""
        return [0, *accumulate(map(len, self._scanned.lines))]

    @cached_property
    def _begins(self) -> list[int]:
        """Where a block begins."""
        return [
            start for start, inline in zip(self._line_starts, self._scanned.inline, strict=False) if inline != CONTINUES
        ]

    @cached_property
    def _ticks(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for run in _TICKS.finditer(self.text):
            found.setdefault(run.end() - run.start(), []).append(run.start())
        return found

    @cached_property
    def _dollars(self) -> list[int]:
        return [match.start() for match in _DOLLAR_END.finditer(self.text)]

    @cached_property
    def _comment_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("-->", self.text)]
