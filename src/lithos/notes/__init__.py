"""Notes: a vault of Markdown files that agents write and people own."""

from __future__ import annotations

from lithos.notes.answers import (
    Deleted,
    Difference,
    Moved,
    NoteHistory,
    NoteLinks,
    NoteList,
    ReadNote,
    Restored,
    Tags,
    Validation,
    Written,
)
from lithos.notes.frontmatter import Frontmatter, parse_frontmatter
from lithos.notes.index import Progress, Rules
from lithos.notes.moving import Move
from lithos.notes.notes import Following, Ground, Notes, open_notes
from lithos.notes.queries import Direction
from lithos.notes.reading import DEEPEST, LARGEST_PAGE
from lithos.notes.validation import KINDS, NOTICES
from lithos.notes.vault import ROOT, Vault, Write
from lithos.notes.writing import Request

__all__ = [
    "DEEPEST",
    "KINDS",
    "LARGEST_PAGE",
    "NOTICES",
    "ROOT",
    "Deleted",
    "Difference",
    "Direction",
    "Following",
    "Frontmatter",
    "Ground",
    "Move",
    "Moved",
    "NoteHistory",
    "NoteLinks",
    "NoteList",
    "Notes",
    "Progress",
    "ReadNote",
    "Request",
    "Restored",
    "Rules",
    "Tags",
    "Validation",
    "Vault",
    "Write",
    "Written",
    "open_notes",
    "parse_frontmatter",
]
