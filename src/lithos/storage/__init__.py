"""What is kept: the database, confined files, idempotency, events, and the saga that joins them."""

from __future__ import annotations

from lithos.storage.audit import Problem, Verdict
from lithos.storage.database import Database, open_database, open_postgres
from lithos.storage.effects import Effects
from lithos.storage.event_query import Event, EventFilter, EventPage
from lithos.storage.events import Events
from lithos.storage.faults import Crash, Faults, NoFaults, PlannedFaults
from lithos.storage.files import Entry, File, Kept, Limits, Replaced, Root, is_conflict_copy
from lithos.storage.folder_lock import hold_folder
from lithos.storage.keys import Keyring, create_private, store_id
from lithos.storage.migrate import Migration, coordination_migrations, read_migrations
from lithos.storage.once import Once
from lithos.storage.saga import Recovered
from lithos.storage.scrub import scrub
from lithos.storage.transfer import Transfer, dialect_at, status
from lithos.storage.values import Answer, Asked, EventDraft, FileChange, Moment, Outcome, Plan, Row, Tx

__all__ = [
    "Answer",
    "Asked",
    "Crash",
    "Database",
    "Effects",
    "Entry",
    "Event",
    "EventDraft",
    "EventFilter",
    "EventPage",
    "Events",
    "Faults",
    "File",
    "FileChange",
    "Kept",
    "Keyring",
    "Limits",
    "Migration",
    "Moment",
    "NoFaults",
    "Once",
    "Outcome",
    "Plan",
    "PlannedFaults",
    "Problem",
    "Recovered",
    "Replaced",
    "Root",
    "Row",
    "Transfer",
    "Tx",
    "Verdict",
    "coordination_migrations",
    "create_private",
    "dialect_at",
    "hold_folder",
    "is_conflict_copy",
    "open_database",
    "open_postgres",
    "read_migrations",
    "scrub",
    "status",
    "store_id",
]
