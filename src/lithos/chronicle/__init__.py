"""The chronicle: entries of sessions, and what becomes of them."""

from __future__ import annotations

from lithos.chronicle.checkpoints import (
    POLICIES,
    AgentRole,
    Checkpoints,
    LatestCheckpoint,
    PolicyAnswer,
    StoredCheckpoint,
    memory_policy,
)
from lithos.chronicle.chronicle import Chronicle
from lithos.chronicle.onboarding import onboarding
from lithos.chronicle.promotion import PromotedEntries, Promotion
from lithos.chronicle.query import EntryPage, EntryShown
from lithos.chronicle.snapshots import RestoredAnswer, Section, SnapshotAnswer, Snapshots
from lithos.chronicle.summary import SessionSummary, summarize

__all__ = [
    "POLICIES",
    "AgentRole",
    "Checkpoints",
    "Chronicle",
    "EntryPage",
    "EntryShown",
    "LatestCheckpoint",
    "PolicyAnswer",
    "PromotedEntries",
    "Promotion",
    "RestoredAnswer",
    "Section",
    "SessionSummary",
    "SnapshotAnswer",
    "Snapshots",
    "StoredCheckpoint",
    "memory_policy",
    "onboarding",
    "summarize",
]
