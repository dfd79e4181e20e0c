"""Ranges of lines, carried from a commit to its parent as `git log -L` does. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Ranges = tuple[tuple[int, int], ...]  # first line, one past the last; ascending, apart from each other


class Hunk(NamedTuple):
    """Lines of the parent that a commit replaced, and those that it put there; ends are exclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def hunk(old_start: int, old_count: int, new_start: int, new_count: int) -> Hunk:
    """As a diff says it: where a side has no lines, its start is the line before."""
    old = old_start + (old_count == 0)
    new = new_start + (new_count == 0)
    return Hunk(old, old + old_count, new, new + new_count)


def push_back(ranges: Ranges, hunks: Sequence[Hunk]) -> tuple[bool, Ranges]:
    """Whether the commit touched these lines, and where they were in its parent; hunks are in the order of lines.

    Lines outside the touched hunks move with what was added or removed before them. Of a touched hunk, all of the
    parent's side counts from now on.
    """
    touched = [each for each in hunks if _touches(each, ranges)]
    if not touched:
        return False, _shifted(ranges, hunks)
    rest = _without(ranges, touched)
    old = [(each.old_start, each.old_end) for each in touched if each.old_end > each.old_start]
    return True, union(_shifted(rest, hunks), tuple(old))


def _touches(each: Hunk, ranges: Ranges) -> bool:
    # A removal has no lines on the new side: it counts only strictly inside.
    return any(each.new_end > start and each.new_start < end for start, end in ranges)


def _without(ranges: Ranges, touched: Sequence[Hunk]) -> Ranges:
    left: list[tuple[int, int]] = []
    for start, end in ranges:
        for each in touched:
            if each.new_end <= start or each.new_start >= end:
                continue
            if each.new_start > start:
                left.append((start, each.new_start))
            start = max(start, each.new_end)
        if start < end:
            left.append((start, end))
    return tuple(left)


def _shifted(ranges: Ranges, hunks: Sequence[Hunk]) -> Ranges:
    moved: list[tuple[int, int]] = []
    offset = place = 0
    for start, end in ranges:
        while place < len(hunks) and hunks[place].new_start <= start:
            each = hunks[place]
            offset += (each.old_end - each.old_start) - (each.new_end - each.new_start)
            place += 1
        moved.append((start + offset, end + offset))
    return tuple(moved)


def union(one: Ranges, other: Ranges) -> Ranges:
    joined: list[tuple[int, int]] = []
    for start, end in sorted((*one, *other)):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
