"""Texts side by side, and the three-way merge of two edits of one text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from markupsafe import Markup

from lithos.serving.web.templates import plain

HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
MOST_ROWS = 2_000  # of a shown diff
LONGEST_LINE = 2_000  # characters of a line that are shown
LONGEST_MARKED = 400  # characters of a line whose changed words are marked: the comparison is quadratic
MOST_MERGED = 20_000  # lines: above that two edits are shown, not merged


class Row(NamedTuple):
    """One line of both sides; a number is None where the side has no such line."""

    kind: Literal["same", "changed", "added", "removed", "gap"]
    old_number: int | None
    old: Markup
    new_number: int | None
    new: Markup


def side_by_side(unified: str) -> list[Row]:
    """The rows of a unified diff; removed and added lines that follow each other are in one row."""
    rows: list[Row] = []
    old = new = 0
    removed: list[str] = []
    added: list[str] = []

    def flush() -> None:
        nonlocal old, new
        for place in range(max(len(removed), len(added))):
            left = removed[place] if place < len(removed) else None
            right = added[place] if place < len(added) else None
            rows.append(_pair(left, right, old, new))
            old, new = old + (left is not None), new + (right is not None)
        removed.clear()
        added.clear()

    for line in unified.split("\n")[2:]:
        if len(rows) + max(len(removed), len(added)) > MOST_ROWS:
            flush()
            rows.append(Row("gap", None, plain("… more is not shown"), None, Markup("")))
            return rows
        if found := HUNK.match(line):
            flush()
            old, new = int(found[1]), int(found[2])
            if rows or old > 1:
                rows.append(Row("gap", None, Markup("⋯"), None, Markup("")))
        elif line.startswith("-"):
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])
        elif line.startswith(" "):
            flush()
            rows.append(Row("same", old, _shown(line[1:]), new, _shown(line[1:])))
            old, new = old + 1, new + 1
    flush()
    return rows


def compare(old: str, new: str) -> list[Row]:
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), "old", "new", lineterm="", n=3)
    return side_by_side("\n".join(lines))


def _pair(left: str | None, right: str | None, old: int, new: int) -> Row:
    if left is None:
        return Row("added", None, Markup(""), new, _shown(right or ""))
    if right is None:
        return Row("removed", old, _shown(left), None, Markup(""))
    return Row("changed", old, *_marked(left, right, new))


def _marked(left: str, right: str, number: int) -> tuple[Markup, int, Markup]:
    """Both lines with the words that differ marked."""
    if max(len(left), len(right)) > LONGEST_MARKED:
        return _shown(left), number, _shown(right)
    old, new = _words(left), _words(right)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.3:
        return _shown(left), number, _shown(right)
    shown_old, shown_new = Markup(""), Markup("")
    for what, a1, a2, b1, b2 in matcher.get_opcodes():
        before, after = "".join(old[a1:a2]), "".join(new[b1:b2])
        shown_old += plain(before) if what == "equal" else Markup("<del>{}</del>").format(plain(before))
        shown_new += plain(after) if what == "equal" else Markup("<ins>{}</ins>").format(plain(after))
    return shown_old, number, shown_new


def _words(line: str) -> list[str]:
    return re.findall(r"\w+|\s+|[^\w\s]", line)


def _shown(line: str) -> Markup:
    return plain(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…")


@dataclass(frozen=True, slots=True)
class Merge:
    text: str
    conflicts: int  # places that both changed; marked in the text


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Both edits of `base` in one text, by lines. Where both changed one place, both are kept between marks."""
    lines = base.split("\n"), mine.split("\n"), theirs.split("\n")
    if max(map(len, lines)) > MOST_MERGED:
        return Merge(_both(mine, theirs), 1)
    merged: list[str] = []
    conflicts = 0
    for old, left, right in _regions(*lines):
        if left == right or right == old:
            merged += left
        elif left == old:
            merged += right
        else:
            conflicts += 1
            merged += [MINE, *left, BETWEEN, *right, THEIRS]
    return Merge("\n".join(merged), conflicts)


MINE, BETWEEN, THEIRS = "<<<<<<< yours", "=======", ">>>>>>> in the memory"


def _both(mine: str, theirs: str) -> str:
    return "\n".join((MINE, mine, BETWEEN, theirs, THEIRS))


def _regions(
    base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]
) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """The text cut into pieces (base, mine, theirs): lines that all three share, and what is between them."""
    b = m = t = 0
    for start, in_mine, in_theirs, length in [*_anchors(base, mine, theirs), (len(base), len(mine), len(theirs), 0)]:
        if (b, m, t) != (start, in_mine, in_theirs):
            yield [*base[b:start]], [*mine[m:in_mine]], [*theirs[t:in_theirs]]
        if length:
            shared = [*base[start : start + length]]
            yield shared, shared, shared
        b, m, t = start + length, in_mine + length, in_theirs + length


def _anchors(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines of `base` that neither edit touched: place in base, in mine, in theirs, length."""
    # With difflib's shortcut for lines that are everywhere: without it 20,000 blank lines take minutes.
    left = difflib.SequenceMatcher(None, base, mine).get_matching_blocks()
    right = difflib.SequenceMatcher(None, base, theirs).get_matching_blocks()
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i].a, right[j].a)
        end = min(left[i].a + left[i].size, right[j].a + right[j].size)
        if start < end:
            yield start, left[i].b + start - left[i].a, right[j].b + start - right[j].a, end - start
        if left[i].a + left[i].size < right[j].a + right[j].size:
            i += 1
        else:
            j += 1
