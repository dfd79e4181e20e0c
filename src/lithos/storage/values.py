"""What the parts above hand to storage: outcomes, plans, events, changes of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

Answer = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, as the store's authority on time has it: this machine on SQLite, the server on PostgreSQL.

    `steady` seconds compare only within one `era` (a boot of this machine); across eras `wall` decides.
    """

    wall: datetime
    steady: float
    era: str


class Asked(Protocol):
    """A question that was asked; its answer is there, or comes when it is first looked at."""

    def one(self) -> Row | None: ...

    def all(self) -> list[Row]: ...


class Tx(Protocol):
    """One transaction. `?` marks a parameter in both dialects; work may run twice, so it has no other effect.

    On PostgreSQL a trip to the server costs as much as ten statements: what is put or asked waits until an answer is
    looked at, and travels with it.
    """

    def ask(self, sql: str, *values: Any) -> Asked: ...

    def put(self, sql: str, *values: Any) -> None:
        """Of no result."""
        ...

    def run(self, sql: str, *values: Any) -> int: ...

    def one(self, sql: str, *values: Any) -> Row | None: ...

    def all(self, sql: str, *values: Any) -> list[Row]: ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Once per row, of no result."""
        ...

    def next_number(self, table: str, column: str) -> Asked:
        """`number`: the next of a {counter} column, for a row that this transaction writes with it."""
        ...

    def lock(self, name: str) -> None:
        """Hold the others of this name off until commit: nothing on SQLite (one writer), advisory on PostgreSQL."""
        ...

    def ask_now(self) -> Callable[[], Moment]:
        """`now`, asked here and looked at by calling what comes back."""
        ...

    def now(self) -> Moment:
        """The time by which leases and expiry are judged; the same for all hosts that share the database."""
        ...

    def notify(self, channel: str) -> None:
        """Wake `Database.listen(channel, …)` of every host after this transaction commits; nothing if it does not."""
        ...


@dataclass(frozen=True, slots=True)
class EventDraft:
    """One audited intent; sequence, id, time, status and HMAC are the log's. Agent and user come from the call."""

    type: str  # the noun: "note", "task", "agent", "profile_update" …
    op: str  # the verb: "create", "update", "claim" …
    thing: str = ""  # id of what it concerns
    path: str | None = None
    section_anchor: str | None = None
    before_hash: str | None = None
    after_hash: str | None = None
    rationale: str | None = None
    lint: dict[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a work gives back; its events are handed over here, or else all written by the work itself."""

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
    check: Callable[[], None] | None = None  # the files are in place: what it raises takes them back
