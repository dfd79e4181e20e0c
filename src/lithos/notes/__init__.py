"""Notes: a vault of Markdown files that agents write and people own."""

from __future__ import annotations

from lithos.notes.answers import (
    ConflictList,
    Deleted,
    Difference,
    Moved,
    NoteGraph,
    NoteHistory,
    NoteLinks,
    NoteList,
    ReadNote,
    Restored,
    Tags,
    Validation,
    Written,
)
from lithos.notes.changes import NoteChange
from lithos.notes.fields import SEARCH_KEYWORDS as NOTE_KEYWORDS
from lithos.notes.fields import SEARCH_NUMBERS as NOTE_NUMBERS
from lithos.notes.fields import Status, TtlPolicy
from lithos.notes.format.frontmatter import Frontmatter, parse_frontmatter
from lithos.notes.index.index import FileRules, Progress
from lithos.notes.index.queries import Direction
from lithos.notes.lifecycle.decay import Decay, Decayed
from lithos.notes.lifecycle.decisions import OnConflict
from lithos.notes.lifecycle.feedback import Feedback, FeedbackGiven, Outcomes, Source
from lithos.notes.lifecycle.knowledge import Knowledge
from lithos.notes.lifecycle.near_duplicates import NearDuplicates
from lithos.notes.lifecycle.promotion_uses import PromotionUses
from lithos.notes.lifecycle.promotions import Promoted, Promotions
from lithos.notes.lifecycle.search_scope import Rank, StatusFilter
from lithos.notes.lifecycle.standing import NoteStanding
from lithos.notes.notes import Notes, NotesEnvironment, WatchOptions, open_notes
from lithos.notes.search import (
    FIRST_PAGE,
    MeaningAnswer,
    NoteHit,
    NoteSearch,
    ScopeRequest,
    WordsAnswer,
    checked_query,
    cited,
)
from lithos.notes.validation import KINDS, NOTICES
from lithos.notes.vault.loaded import ROOT
from lithos.notes.vault.moving import Move
from lithos.notes.vault.reading import DEEPEST, LARGEST_PAGE, MOST_IN_GRAPH, MOST_TAGS
from lithos.notes.vault.vault import Vault, WriteChecks
from lithos.notes.vault.writing import WriteRequest

__all__ = [
    "DEEPEST",
    "FIRST_PAGE",
    "KINDS",
    "LARGEST_PAGE",
    "MOST_IN_GRAPH",
    "MOST_TAGS",
    "NOTE_KEYWORDS",
    "NOTE_NUMBERS",
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
    "FileRules",
    "Frontmatter",
    "Knowledge",
    "MeaningAnswer",
    "Move",
    "Moved",
    "NearDuplicates",
    "NoteChange",
    "NoteGraph",
    "NoteHistory",
    "NoteHit",
    "NoteLinks",
    "NoteList",
    "NoteSearch",
    "NoteStanding",
    "Notes",
    "NotesEnvironment",
    "OnConflict",
    "Outcomes",
    "Progress",
    "Promoted",
    "PromotionUses",
    "Promotions",
    "Rank",
    "ReadNote",
    "Restored",
    "ScopeRequest",
    "Source",
    "Status",
    "StatusFilter",
    "Tags",
    "TtlPolicy",
    "Validation",
    "Vault",
    "WatchOptions",
    "WordsAnswer",
    "WriteChecks",
    "WriteRequest",
    "Written",
    "checked_query",
    "cited",
    "open_notes",
    "parse_frontmatter",
]
