"""Import: memories of other programs become notes, or thoughts of a chain. A second run adds nothing."""

from __future__ import annotations

from lithos.importing.detect import KINDS, detect
from lithos.importing.items import Attachment, Extent, ImportedNote, ImportedThought, Skipped
from lithos.importing.place import ImportReport, Placed, place_note
from lithos.importing.read import read_source

__all__ = [
    "KINDS",
    "Attachment",
    "Extent",
    "ImportReport",
    "ImportedNote",
    "ImportedThought",
    "Placed",
    "Skipped",
    "detect",
    "place_note",
    "read_source",
]
