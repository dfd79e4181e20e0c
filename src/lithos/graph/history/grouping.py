"""Grouping entries that say the same: by name, by words, and by meaning as far as it is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lithos.graph.history.values import HistoryRow

COMMON = 0.5  # share of words that two texts of one group have in common
NEAR = 0.7  # cosine of two texts of one group
NAMED = "name:"  # tag of a pattern that was recorded with a name
_WORD = re.compile(r"[^\W\d_]{3,}")
_EMPTY = re.compile(
    r"(?:the|and|for|with|from|that|this|are|was|were|has|have|not|but|uses?|used|all|any|its|into|each|per|our|when|"
    r"then|than|they|their|there|which|will|can|should|must|example|name|pattern|approach|reason|context)\Z"
)


def words(text: str) -> frozenset[str]:
    return frozenset(
        word.rstrip("s") for word in (each.casefold() for each in _WORD.findall(text)) if not _EMPTY.match(word)
    )


def common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def name_of(tags: Sequence[str]) -> str:
    return next((tag.removeprefix(NAMED) for tag in tags if tag.startswith(NAMED)), "")


def grouped(rows: Sequence[HistoryRow], near: Callable[[HistoryRow], Sequence[str]]) -> list[list[HistoryRow]]:
    """Groups in the order of their best member; `near` gives ids that mean nearly the same as a row."""
    place = {row["id"]: number for number, row in enumerate(rows)}
    leader = list(range(len(rows)))

    def first(number: int) -> int:
        while leader[number] != number:
            number = leader[number]
        return number

    said = [words(row["content"]) for row in rows]
    names = [name_of(row.get("tags", [])) for row in rows]
    for number, row in enumerate(rows):
        close = {place[id] for id in near(row) if id in place}
        for other in range(number):
            same_name = bool(names[number]) and names[number] == names[other]
            if same_name or other in close or common(said[number], said[other]) >= COMMON:
                low, high = sorted((first(number), first(other)))
                leader[high] = low
    groups: dict[int, list[HistoryRow]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(first(number), []).append(row)
    return list(groups.values())
