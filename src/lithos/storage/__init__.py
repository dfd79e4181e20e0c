"""What is kept: the database, confined files, idempotency, events, and the saga that joins them."""

from __future__ import annotations

from lithos.storage.database import Database, open_database
from lithos.storage.faults import Crash, Faults, NoFaults, PlannedFaults
from lithos.storage.files import Entry, File, Kept, Limits, Replaced, Root, is_conflict_copy
from lithos.storage.migrate import Migration, coordination_migrations, read_migrations
from lithos.storage.values import Answer, EventDraft, FileChange, Moment, Outcome, Plan, Row, Tx

__all__ = [
    "Answer",
    "Crash",
    "Database",
    "Entry",
    "EventDraft",
    "Faults",
    "File",
    "FileChange",
    "Kept",
    "Limits",
    "Migration",
    "Moment",
    "NoFaults",
    "Outcome",
    "Plan",
    "PlannedFaults",
    "Replaced",
    "Root",
    "Row",
    "Tx",
    "coordination_migrations",
    "is_conflict_copy",
    "open_database",
    "read_migrations",
]
