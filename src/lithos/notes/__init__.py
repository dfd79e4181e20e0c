"""Notes: a vault of Markdown files that agents write and people own."""

from __future__ import annotations

from lithos.notes.answers import (
    ConflictList,
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
from lithos.notes.decay import Decay, Decayed
from lithos.notes.feedback import Feedback, FeedbackGiven, Outcomes, Source
from lithos.notes.frontmatter import Frontmatter, parse_frontmatter
from lithos.notes.index import Progress, Rules
from lithos.notes.knowledge import Knowledge, Looking
from lithos.notes.lens import Rank, Shown
from lithos.notes.life import Life
from lithos.notes.lifecycle import OnConflict, Status, TtlPolicy
from lithos.notes.moving import Move
from lithos.notes.notes import Following, Ground, Notes, open_notes
from lithos.notes.promotions import Promoted, Promotions
from lithos.notes.queries import Direction
from lithos.notes.reading import DEEPEST, LARGEST_PAGE
from lithos.notes.similar import Likes
from lithos.notes.validation import KINDS, NOTICES
from lithos.notes.vault import ROOT, Gates, Vault, Write
from lithos.notes.writing import Request

__all__ = [
    "DEEPEST",
    "KINDS",
    "LARGEST_PAGE",
    "NOTICES",
    "ROOT",
    "ConflictList",
    "Decay",
    "Decayed",
    "Deleted",
    "Difference",
    "Direction",
    "Feedback",
    "FeedbackGiven",
    "Following",
    "Frontmatter",
    "Gates",
    "Ground",
    "Knowledge",
    "Life",
    "Likes",
    "Looking",
    "Move",
    "Moved",
    "NoteHistory",
    "NoteLinks",
    "NoteList",
    "Notes",
    "OnConflict",
    "Outcomes",
    "Progress",
    "Promoted",
    "Promotions",
    "Rank",
    "ReadNote",
    "Request",
    "Restored",
    "Rules",
    "Shown",
    "Source",
    "Status",
    "Tags",
    "TtlPolicy",
    "Validation",
    "Vault",
    "Write",
    "Written",
    "open_notes",
    "parse_frontmatter",
]
