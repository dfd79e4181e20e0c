"""What is kept: the database, confined files, idempotency, events, and the saga that joins them."""

from __future__ import annotations

from lithos.storage.database import Database, open_database
from lithos.storage.faults import Crash, Faults, NoFaults, PlannedFaults
from lithos.storage.migrate import Migration, coordination_migrations, read_migrations
from lithos.storage.values import Answer, EventDraft, FileChange, Moment, Outcome, Plan, Row, Tx

__all__ = [
    "Answer",
    "Crash",
    "Database",
    "EventDraft",
    "Faults",
    "FileChange",
    "Migration",
    "Moment",
    "NoFaults",
    "Outcome",
    "Plan",
    "PlannedFaults",
    "Row",
    "Tx",
    "coordination_migrations",
    "open_database",
    "read_migrations",
]
