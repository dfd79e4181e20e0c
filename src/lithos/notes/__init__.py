"""Notes: a vault of Markdown files that agents write and people own."""

from __future__ import annotations

from lithos.notes.answers import Deleted, NoteLinks, NoteList, ReadNote, Tags, Written
from lithos.notes.frontmatter import Frontmatter, parse_frontmatter
from lithos.notes.index import Progress, Rules
from lithos.notes.notes import Following, Ground, Notes, open_notes
from lithos.notes.queries import Direction
from lithos.notes.reading import DEEPEST, LARGEST_PAGE
from lithos.notes.vault import ROOT, Vault, Write
from lithos.notes.writing import Request

__all__ = [
    "DEEPEST",
    "LARGEST_PAGE",
    "ROOT",
    "Deleted",
    "Direction",
    "Following",
    "Frontmatter",
    "Ground",
    "NoteLinks",
    "NoteList",
    "Notes",
    "Progress",
    "ReadNote",
    "Request",
    "Rules",
    "Tags",
    "Vault",
    "Write",
    "Written",
    "open_notes",
    "parse_frontmatter",
]
