"""The top-level list items of a stretch of lines, by the structure that the scanner found."""

from __future__ import annotations

import re

from lithos.core.markdown import CONTINUES, Kind, Scan

_MARKER = re.compile(r"(?P<indent> {0,3})(?P<sign>[-+*]|(?P<number>\d{1,9})(?P<dot>[.)]))(?P<gap>[ \t]+|$)")
# Someone who writes one of these at the margin below an item means a table, HTML or a quotation. To Markdown the first
# two are the item's own text where no blank line is between.
_OTHER_BLOCKS = ("|", "<", ">")


def marker_of(line: str) -> re.Match[str] | None:
    return _MARKER.match(line.rstrip("\r\n"))


def item_ranges(scanned: Scan, begin: int, end: int) -> list[tuple[int, int]]:
    """(first line, line after the last that is not blank) of each top-level item between these lines."""
    found: list[tuple[int, int]] = []
    width = 0  # the column at which the content of the open item begins; 0: none is open
    for index in range(begin, end):
        line, kind = scanned.lines[index], scanned.kinds[index]
        if kind is Kind.BLANK:
            continue
        text = line.rstrip("\r\n").expandtabs(4)
        indent = len(text) - len(text.lstrip(" "))
        if width and kind is Kind.NESTED and (indent >= width or _is_lazy(scanned, index, text)):
            found[-1] = (found[-1][0], index + 1)
        elif kind is Kind.NESTED and scanned.inline[index] != CONTINUES and (marker := marker_of(text)):
            found.append((index, index + 1))
            width = _content_column(marker, text)
        else:
            width = 0
    return found


def _is_lazy(scanned: Scan, index: int, text: str) -> bool:
    """A line at the margin that goes on with the paragraph of an item."""
    return scanned.inline[index] == CONTINUES and not text.lstrip(" ").startswith(_OTHER_BLOCKS)


def _content_column(marker: re.Match[str], text: str) -> int:
    gap = len(marker["gap"]) if marker.end() < len(text) and len(marker["gap"]) <= 4 else 1
    return marker.end("sign") + gap
