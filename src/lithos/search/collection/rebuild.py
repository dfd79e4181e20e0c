"""Rebuild the full-text index of a collection: each rebuild is a new generation, made beside the one that answers.

The catalogue holds every document and says which generation counts, so a kill leaves either the old or the new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from lithos.search.collection.catalogue import Catalogue
from lithos.search.collection.schema import CollectionSchema
from lithos.search.text.fulltext import FullText, UncutFullText
from lithos.storage import Faults, quarantine


class TextGenerations:
    """The folders `text1`, `text2` … of one collection."""

    def __init__(self, folder: Path, schema: CollectionSchema, faults: Faults) -> None:
        self._folder = folder
        self._schema = schema
        self._faults = faults

    def recovered(self, catalogue: Catalogue, passages: Mapping[int, int]) -> FullText:
        """The current one, with nothing in it that the catalogue does not hold. Damaged if it cannot be that."""
        self.discard_others(catalogue.generation())
        fulltext = self._open(catalogue.generation())
        if moving := catalogue.unfinished():
            fulltext.write(moving, ())
            catalogue.sweep()
        fulltext.compare(passages)
        return fulltext

    def rebuilt(self, catalogue: Catalogue, ordinals: Sequence[int]) -> FullText:
        """The next one, filled from the catalogue. It counts once `Catalogue.use_generation` names it."""
        generation = catalogue.generation() + 1
        shutil.rmtree(self._folder / _name(generation), ignore_errors=True)
        made = self._open(generation)
        made.refill(catalogue.entries(ordinals))
        return made

    def empty(self, catalogue: Catalogue) -> FullText:
        """The next one, empty; it counts at once."""
        generation = catalogue.generation() + 1
        made = self._open(generation)
        catalogue.use_generation(generation)
        return made

    def move_damaged_aside(self, catalogue: Catalogue) -> None:
        quarantine(self._folder / _name(catalogue.generation()), self._folder / "damaged")

    def discard_others(self, generation: int) -> None:
        """Delete what a kill left of a rebuild, and the generation before it."""
        for folder in self._folder.glob(_name("*")):
            if folder.name != _name(generation):
                shutil.rmtree(folder, ignore_errors=True)

    def _open(self, generation: int) -> FullText:
        folder, kind = self._folder / _name(generation), UncutFullText if self._schema.uncut else FullText
        return kind(folder, self._schema.numbers, self._faults, parted=self._schema.parted)


def _name(generation: int | str) -> str:
    return f"text{generation}"
