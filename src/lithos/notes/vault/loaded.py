"""Loaded: a note as the vault found it on the disk."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.notes.format.note import Note
from lithos.storage import Row

ROOT = "vault"  # the name under which `app` gives the root to the effects


@dataclass(frozen=True, slots=True)
class Loaded:
    """A note as it is on the disk now, and what the catalogue knows of it."""

    id: str
    note: Note
    row: Row

    @property
    def path(self) -> str:
        return self.note.path

    @property
    def seen(self) -> bool:
        """False: the file was saved since the index last saw it."""
        return bool(self.row["version"] == self.note.version)
