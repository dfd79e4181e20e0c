"""Journal: the numbered changes of one topic, appended in the transaction of their effect and read from a cursor.

Numbers are given under the topic's lock, so their order is the order of the commits, on SQLite and PostgreSQL alike: a
reader that has seen number N has seen every number before it. Only the owner of the rows appends. A rebuild of derived
state changes no row, so it announces nothing. `Followers` wait for new entries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from lithos.core.clock import from_micros, micros
from lithos.errors import CursorExpired, Damaged
from lithos.storage.values import Deferred, Moment, Row, Tx

KEPT_ENTRIES = 10_000  # per topic, at ~150 bytes a row; a cursor older than this has expired
MOST_ENTRIES = 200  # of one page
TRIM_EVERY = 256  # entries between two deletions of old ones


@dataclass(frozen=True, slots=True)
class NewEntry:
    kind: str
    subject: str  # id of what changed; followers can ask for some subjects only
    agent: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    seq: int
    kind: str
    subject: str
    agent: str
    at: datetime
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JournalPage:
    entries: tuple[JournalEntry, ...]
    cursor: int  # read on from here
    more: bool = False  # the page is full: read on at once


@dataclass(frozen=True, slots=True)
class JournalHead:
    """The end of a journal, read under its lock, which is held until the transaction ends."""

    seq: int
    now: Moment
    last_era: str  # the clock at the newest entry: after a reboot, leases are judged by it
    last_steady: float


@dataclass(frozen=True, slots=True)
class Journal:
    """`topic` has a row in `journal_heads`, which the migration of its owner inserts."""

    topic: str

    @property
    def channel(self) -> str:
        """Lock and notification of this topic."""
        return f"journal {self.topic}"

    def lock(self, tx: Tx) -> Callable[[], JournalHead]:
        """Hold the topic until the transaction ends; the returned function gives its head.

        Put other questions between the two: on PostgreSQL all of them then travel together.
        """
        now, asked = tx.lock_now(self.channel), tx.ask(_HEAD, self.topic)
        return lambda: self._head(asked, now())

    def append(self, tx: Tx, head: JournalHead, *entries: NewEntry) -> int:
        """Number the entries from `head` on; the number of the last one."""
        seq, at, rows = head.seq, micros(head.now.wall), []
        for seq, entry in enumerate(entries, head.seq + 1):
            details = orjson.dumps(dict(entry.details)).decode() if entry.details else None
            rows.append((self.topic, seq, entry.kind, entry.subject, entry.agent, at, details))
        for subject in {entry.subject: None for entry in entries}:
            tx.notify(self.channel, subject, seq)
        tx.many(_APPEND, rows)
        self._move_head(tx, head, seq)
        if seq // TRIM_EVERY > head.seq // TRIM_EVERY:
            tx.put("DELETE FROM journal WHERE topic = ? AND seq <= ?", self.topic, seq - KEPT_ENTRIES)
        return seq

    def record_clock(self, tx: Tx, head: JournalHead) -> None:
        """Record the clock without an entry, for leases."""
        self._move_head(tx, head, head.seq)

    def entry(self, tx: Tx, seq: int) -> JournalEntry | None:
        """None: no entry has this number, or it is no longer kept."""
        row = tx.one("SELECT * FROM journal WHERE topic = ? AND seq = ?", self.topic, seq)
        return _entry(row) if row else None

    def since(self, tx: Tx, cursor: int | None, subjects: Collection[str] | None = None) -> JournalPage:
        """The entries after `cursor`, oldest first. None: no entries, only the cursor of now.

        CursorExpired when entries after `cursor` are no longer kept, or `cursor` is from another journal.
        """
        asked, oldest = tx.ask(_HEAD, self.topic), tx.ask(_OLDEST, self.topic)
        found = self._ask_after(tx, cursor, subjects) if cursor is not None else None
        newest = int(self._head_row(asked)["seq"])
        if cursor is None or found is None:
            return JournalPage((), newest)
        if not _first(oldest, newest) - 1 <= cursor <= newest:
            raise CursorExpired(
                f"the changes after cursor {cursor} are no longer kept",
                hint=f"Read the lists again, then go on from cursor {newest}.",
                cursor=newest,
            )
        entries = tuple(map(_entry, found.all()))
        full = len(entries) == MOST_ENTRIES
        return JournalPage(entries, entries[-1].seq if full else newest, more=full)

    def _move_head(self, tx: Tx, head: JournalHead, seq: int) -> None:
        tx.put(_MOVE_HEAD, seq, head.now.era, head.now.steady, self.topic)

    def _ask_after(self, tx: Tx, cursor: int, subjects: Collection[str] | None) -> Deferred:
        chosen = "" if subjects is None else f" AND subject IN ({', '.join('?' * len(subjects)) or 'NULL'})"
        sql = f"SELECT * FROM journal WHERE topic = ? AND seq > ?{chosen} ORDER BY seq LIMIT {MOST_ENTRIES}"
        return tx.ask(sql, self.topic, cursor, *(subjects or ()))

    def _head(self, asked: Deferred, now: Moment) -> JournalHead:
        row = self._head_row(asked)
        return JournalHead(row["seq"], now, row["era"], row["steady"])

    def _head_row(self, asked: Deferred) -> Row:
        row = asked.one()
        if row is None:  # to begin at 0 again would give the same fencing tokens a second time
            raise Damaged(f"the journal {self.topic!r} has no head", hint="Restore the database from a backup.")
        return row


_HEAD = "SELECT seq, era, steady FROM journal_heads WHERE topic = ?"
_MOVE_HEAD = "UPDATE journal_heads SET seq = ?, era = ?, steady = ? WHERE topic = ?"
_OLDEST = "SELECT min(seq) AS seq FROM journal WHERE topic = ?"
_APPEND = "INSERT INTO journal (topic, seq, kind, subject, agent, at, details) VALUES (?, ?, ?, ?, ?, ?, ?)"


def _first(oldest: Deferred, newest: int) -> int:
    """The first number that is kept; the next one to come while none is."""
    row = oldest.one()
    return int(row["seq"]) if row and row["seq"] is not None else newest + 1


def _entry(row: Row) -> JournalEntry:
    details = orjson.loads(row["details"]) if row["details"] is not None else {}
    return JournalEntry(row["seq"], row["kind"], row["subject"], row["agent"], from_micros(row["at"]), details)
