"""Resolves a link to a note: the precedence of the specification, then what real vaults need besides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lithos.notes.format.naming import folder_of, last_name, name_key, path_key, without_suffix

LinkStatus = Literal["resolved", "ambiguous", "broken"]


class Named(NamedTuple):
    """A note as links know it."""

    number: int
    id: str
    path: str
    title: str
    aliases: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    number: int | None
    candidates: tuple[int, ...] = ()

    @property
    def status(self) -> LinkStatus:
        if self.number is not None:
            return "resolved"
        return "ambiguous" if self.candidates else "broken"


BROKEN = Resolution(None)


@dataclass(slots=True)
class Names:
    """The notes that some links could mean, by every name they go by."""

    paths: dict[str, list[Named]] = field(default_factory=dict)
    stems: dict[str, list[Named]] = field(default_factory=dict)
    ids: dict[str, list[Named]] = field(default_factory=dict)
    aliases: dict[str, list[Named]] = field(default_factory=dict)
    titles: dict[str, list[Named]] = field(default_factory=dict)
    resolved: dict[str, Resolution] = field(default_factory=dict)  # what was asked before

    @classmethod
    def of(cls, notes: Iterable[Named]) -> Names:
        names = cls()
        for note in notes:
            key = path_key(note.path)
            names.paths.setdefault(key, []).append(note)
            names.stems.setdefault(last_name(key), []).append(note)
            names.ids.setdefault(note.id, []).append(note)
            names.titles.setdefault(name_key(note.title), []).append(note)
            for alias in dict.fromkeys(map(name_key, note.aliases)):
                names.aliases.setdefault(alias, []).append(note)
        return names

    def resolve(self, target: str, source: str, markdown: bool = False) -> Resolution:
        """`source` is the path of the note that holds the link: relative targets start from its folder."""
        if markdown or target.startswith("."):
            return self._resolve(target, _places(target, source, markdown), by_file=markdown)
        if target not in self.resolved:
            self.resolved[target] = self._resolve(target, (target.lstrip("/"),))
        return self.resolved[target]

    def _resolve(self, target: str, places: Iterable[str], *, by_file: bool = False) -> Resolution:
        """`by_file`: a Markdown link names a file, by its path or its unique name, and never a title."""
        for place in places:
            if found := _one_of(self.paths, path_key(place), place):
                return found
        name = without_suffix(target).lstrip("/")
        if found := self._by_name(name):
            return found
        key = name_key(name)
        if by_file:
            return BROKEN
        for names in (self.ids, self.aliases, self.titles):
            if key in names:
                return _chosen(names[key])
        return BROKEN

    def _by_name(self, name: str) -> Resolution | None:
        """`*/name.md`; a name with folders in it matches the end of a path."""
        key = name_key(posixpath.normpath(name)) if name else ""
        while key.startswith("../"):
            key = key[3:]
        notes = self.stems.get(last_name(key), [])
        if "/" in key:
            notes = [note for note in notes if path_key(note.path).endswith(f"/{key}")]
        return _spelled(notes, last_name(without_suffix(name))) if notes else None


def is_by_title(target: str, note_id: str, path: str, title: str) -> bool:
    """Whether a resolved wiki-link means its note by the title alone: a new title breaks it."""
    key = name_key(without_suffix(target).lstrip("/"))
    return last_name(key) != last_name(path_key(path)) and key != note_id and key == name_key(title)


def _places(target: str, source: str, markdown: bool) -> tuple[str, ...]:
    """The exact paths that a relative target may be, best first."""
    here = posixpath.normpath(posixpath.join(folder_of(source), target))
    return (here, target.lstrip("/")) if markdown and not target.startswith(("./", "../")) else (here,)


def _one_of(names: Mapping[str, list[Named]], key: str, spelling: str) -> Resolution | None:
    notes = names.get(key)
    if not notes:
        return None
    exact = [note for note in notes if without_suffix(note.path) == without_suffix(spelling)]
    return _chosen(exact or notes)


def _spelled(notes: list[Named], stem: str) -> Resolution:
    """Of names that differ only in case, the one spelled as in the link is meant."""
    exact = [note for note in notes if last_name(without_suffix(note.path)) == stem]
    return _chosen(exact if len(exact) == 1 else notes)


def _chosen(notes: list[Named]) -> Resolution:
    if len(notes) == 1:
        return Resolution(notes[0].number)
    return Resolution(None, tuple(sorted(note.number for note in notes)))
