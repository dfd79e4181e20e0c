"""Storage: the database, confined files, idempotency, events, and the saga that joins them."""

from __future__ import annotations

from lithos.storage.acknowledged import Mark, marked
from lithos.storage.audit.event_query import Event, EventFilter, EventPage
from lithos.storage.audit.events import CHANNEL as EVENTS_CHANNEL
from lithos.storage.audit.events import Events
from lithos.storage.audit.keys import Keyring, create_private, store_id
from lithos.storage.audit.verify import Problem, Verdict
from lithos.storage.database.database import Database, open_database, open_postgres
from lithos.storage.database.migrate import Migration, coordination_migrations, read_migrations
from lithos.storage.database.page_checksums import checksum_vfs
from lithos.storage.database.rebuildable import RebuildableDatabase, Rebuilding
from lithos.storage.database.transfer import Transfer, database_status, dialect_at
from lithos.storage.effects.effects import Applied, Effects, Recovered
from lithos.storage.effects.idempotency import Idempotency
from lithos.storage.effects.scrub import scrub, truncate_log
from lithos.storage.faults import Crash, Faults, NoFaults, PlannedFaults
from lithos.storage.files import (
    File,
    FileEntry,
    KeptVersion,
    Limits,
    Replaced,
    Root,
    Watcher,
    best_kernel,
    checked,
    clear_place,
    copied_from,
    flush_path,
    gather_events,
    is_conflict_copy,
    make_folder,
    open_file,
    read_file,
    replace_file,
    restore_access_below,
    watch_folder,
)
from lithos.storage.journal.followers import Followers
from lithos.storage.journal.journal import Journal, JournalEntry, JournalHead, JournalPage, NewEntry
from lithos.storage.leases import ALIVE_SQL, LEASE_COLUMNS, Lease, carry_over, lease_from, lease_of, prolong
from lithos.storage.quarantine import derived_folder, discard, quarantine
from lithos.storage.storage import STATE, Storage, StorageOptions, folder_size
from lithos.storage.values import Answer, Deferred, EventDraft, FileChange, Moment, Outcome, Plan, Row, Tx

__all__ = [
    "ALIVE_SQL",
    "EVENTS_CHANNEL",
    "LEASE_COLUMNS",
    "STATE",
    "Answer",
    "Applied",
    "Crash",
    "Database",
    "Deferred",
    "Effects",
    "Event",
    "EventDraft",
    "EventFilter",
    "EventPage",
    "Events",
    "Faults",
    "File",
    "FileChange",
    "FileEntry",
    "Followers",
    "Idempotency",
    "Journal",
    "JournalEntry",
    "JournalHead",
    "JournalPage",
    "KeptVersion",
    "Keyring",
    "Lease",
    "Limits",
    "Mark",
    "Migration",
    "Moment",
    "NewEntry",
    "NoFaults",
    "Outcome",
    "Plan",
    "PlannedFaults",
    "Problem",
    "RebuildableDatabase",
    "Rebuilding",
    "Recovered",
    "Replaced",
    "Root",
    "Row",
    "Storage",
    "StorageOptions",
    "Transfer",
    "Tx",
    "Verdict",
    "Watcher",
    "best_kernel",
    "carry_over",
    "checked",
    "checksum_vfs",
    "clear_place",
    "coordination_migrations",
    "copied_from",
    "create_private",
    "database_status",
    "derived_folder",
    "dialect_at",
    "discard",
    "flush_path",
    "folder_size",
    "gather_events",
    "is_conflict_copy",
    "lease_from",
    "lease_of",
    "make_folder",
    "marked",
    "open_database",
    "open_file",
    "open_postgres",
    "prolong",
    "quarantine",
    "read_file",
    "read_migrations",
    "replace_file",
    "restore_access_below",
    "scrub",
    "store_id",
    "truncate_log",
    "watch_folder",
]
