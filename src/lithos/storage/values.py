"""Values that other packages pass to storage: outcomes, plans, events, file changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

Answer = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, by the clock of the store: this machine on SQLite, the server on PostgreSQL.

    `steady` seconds compare only within one `era` (a boot of this machine); across eras `wall` decides.
    """

    wall: datetime
    steady: float
    era: str


class Deferred(Protocol):
    """The rows of a statement; on PostgreSQL it is sent when they are first read."""

    def one(self) -> Row | None: ...

    def all(self) -> list[Row]: ...


class Notice(NamedTuple):
    """A commit wakes a channel's listeners. `subject` None: it may concern all of them."""

    channel: str
    subject: str | None = None
    number: int = 0


class Tx(Protocol):
    """One transaction. `?` marks a parameter in both dialects; work may run twice, so it has no other effect.

    On PostgreSQL a round trip costs as much as ten statements: `put` and `ask` queue, and the first answer that is read
    sends the queue.
    """

    def ask(self, sql: str, *values: Any) -> Deferred: ...

    def put(self, sql: str, *values: Any) -> None:
        """Without a result."""
        ...

    def run(self, sql: str, *values: Any) -> int: ...

    def one(self, sql: str, *values: Any) -> Row | None: ...

    def all(self, sql: str, *values: Any) -> list[Row]: ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Once per row, without a result."""
        ...

    def next_number(self, table: str, column: str) -> Deferred:
        """`number`: the next value of a {counter} column, for a row that this transaction inserts."""
        ...

    def lock(self, name: str) -> None:
        """Hold this name until the transaction ends: advisory on PostgreSQL, nothing on SQLite (one writer)."""
        ...

    def lock_now(self, name: str) -> Callable[[], Moment]:
        """`lock`, and the time at which it was got, in one question; the returned function reads it."""
        ...

    def ask_now(self) -> Callable[[], Moment]:
        """`now`, queued like `ask`; the returned function reads it."""
        ...

    def now(self) -> Moment:
        """The time that decides leases and expiry; one clock for all hosts that share the database."""
        ...

    def notify(self, channel: str, subject: str | None = None, number: int = 0) -> None:
        """Wake `Database.listen(channel, …)` of every host after this transaction commits; nothing if it does not.

        `subject`: those who watch the channel learn in this process whom it concerns, and up to which number.
        """
        ...


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event to append. The log adds sequence, id, time, status and HMAC; the call gives agent and user."""

    type: str  # the noun: "note", "task", "agent", "profile_update" …
    op: str  # the verb: "create", "update", "claim" …
    thing: str = ""  # id of its subject
    path: str | None = None
    section_anchor: str | None = None
    before_hash: str | None = None
    after_hash: str | None = None
    rationale: str | None = None
    lint: dict[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a transaction: its answer, and events to append unless the work appended its own."""

    answer: Answer
    events: tuple[EventDraft, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    root: str
    path: str
    before: str | None
    after: bytes | None
    move_to: str | None = None
    history: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    changes: tuple[FileChange, ...]
    event: EventDraft
    answer: Answer
    before: Callable[[Tx], None] | None = None
    after: Callable[[Tx], None] | None = None
    check: Callable[[], None] | None = None  # runs when the files are in place; an error from it undoes them
