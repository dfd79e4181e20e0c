"""The garden: agents edit people's files, safely, and every change can be explained."""

from lithos.garden.answers import (
    Appended,
    Explanation,
    Hashes,
    Lint,
    Logged,
    Made,
    Matches,
    Moved,
    OpenProposals,
    Patched,
    PathHistory,
    Paths,
    Proposal,
    ProposalApplied,
    ProposalRefused,
    Reading,
    Sections,
    Snapshot,
    Undone,
    Written,
)
from lithos.garden.editor import EditRequest
from lithos.garden.edits.diff import unified
from lithos.garden.edits.edits import ReplaceText, edit_of
from lithos.garden.edits.replacing import Replacing, replacing
from lithos.garden.garden import Garden
from lithos.garden.reading import Search
from lithos.garden.rules.policy import Policy, load_policy
from lithos.garden.statements import Statement
from lithos.garden.targets import GARDEN, VAULT, NoteFiles, for_user

__all__ = [
    "GARDEN",
    "VAULT",
    "Appended",
    "EditRequest",
    "Explanation",
    "Garden",
    "Hashes",
    "Lint",
    "Logged",
    "Made",
    "Matches",
    "Moved",
    "NoteFiles",
    "OpenProposals",
    "Patched",
    "PathHistory",
    "Paths",
    "Policy",
    "Proposal",
    "ProposalApplied",
    "ProposalRefused",
    "Reading",
    "ReplaceText",
    "Replacing",
    "Search",
    "Sections",
    "Snapshot",
    "Statement",
    "Undone",
    "Written",
    "edit_of",
    "for_user",
    "load_policy",
    "replacing",
    "unified",
]
