"""Replaces one text by another, exactly: previews and the garden's edits share this, so that they cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.errors import Conflict, InvalidInput

SHOWN_LINES = 10


@dataclass(frozen=True, slots=True)
class Replacing:
    """Where `old` occurs in a text, and the text after the edit."""

    before: str
    old: str
    new: str
    places: tuple[int, ...]  # offsets, none overlapping

    @property
    def lines(self) -> list[int]:
        """Of the matches, counted from 1."""
        return [self.before.count("\n", 0, place) + 1 for place in self.places]

    def after(self, *, everywhere: bool) -> str:
        """Every match replaced, or the first."""
        if not self.places:
            return self.before
        return self.before.replace(self.old, self.new) if everywhere else self.before.replace(self.old, self.new, 1)


def replacing(text: str, old: str, new: str) -> Replacing:
    if not old:
        raise InvalidInput("old_string is empty", hint="Copy the passage to replace from the file.")
    places, at = [], text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return Replacing(text, old, new, tuple(places))


def replaced(text: str, old: str, new: str, replace_all: bool) -> str:
    """The text after the edit; Conflict where the passage is not there, or is not the only one."""
    found = replacing(text, old, new)
    if not found.places:
        raise Conflict("old_string is not in the file", hint="lithos_preview_edit shows the nearest passage.")
    if len(found.places) > 1 and not replace_all:
        shown = ", ".join(map(str, found.lines[:SHOWN_LINES]))
        raise Conflict(
            f"old_string occurs {len(found.places)} times, in lines {shown}",
            hint="Add lines around it until it is the only one, or send replace_all.",
        )
    return found.after(everywhere=replace_all)
