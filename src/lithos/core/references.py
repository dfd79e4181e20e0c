"""Names that a caller may give instead of an id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SHORTEST_PART = 6  # characters of an id's beginning or end: time-sorted ids share their beginnings
LONGEST_PART = 36  # a UUID with its hyphens
_ID_SIGNS = frozenset("0123456789abcdefABCDEF-")


@dataclass(frozen=True, slots=True)
class Candidate:
    id: str
    title: str
    path: str = ""

    def shown(self) -> dict[str, str]:
        return {name: value for name, value in (("id", self.id), ("title", self.title), ("path", self.path)) if value}


def bare_name(text: str) -> str:
    """`[[Name#Heading|shown]]` → `Name`."""
    name = text.strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2].partition("|")[0].partition("#")[0].strip()
    return name


def is_part_of_id(text: str) -> bool:
    return SHORTEST_PART <= len(text) <= LONGEST_PART and _ID_SIGNS.issuperset(text)


def matching(given: str, known: Iterable[Candidate], *, exact: bool) -> list[Candidate]:
    """Those that it names: by id; else by title; else by a beginning or end of the id."""
    things, name = list(known), given.strip().lstrip("…")
    if by_id := [each for each in things if each.id == name]:
        return by_id
    if by_title := [each for each in things if each.title == name]:
        return by_title
    if not exact and (folded := [each for each in things if each.title.casefold() == name.casefold()]):
        return folded
    if not is_part_of_id(name):
        return []
    return [each for each in things if each.id.startswith(name.lower()) or each.id.endswith(name.lower())]
