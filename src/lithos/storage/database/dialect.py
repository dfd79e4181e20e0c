"""Dialect: the differences between SQLite and PostgreSQL. `Database` is the shared body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from lithos.errors import LithosError
from lithos.storage.values import Notice, Tx


class Session(Protocol):
    """One connection. `notices`: the listeners that this process wakes itself after the commit."""

    notices: list[Notice]

    @property
    def tx(self) -> Tx: ...

    def begin(self, *, write: bool) -> None: ...

    def savepoint(self) -> None: ...

    def keep(self) -> None:
        """Release the savepoint and keep what was done since."""
        ...

    def undo(self) -> None:
        """Undo what was done since the savepoint, and release it."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """ChainEnd the transaction, if one is still open, without its effects."""
        ...

    def in_transaction(self) -> bool:
        """False once an error has ended the whole transaction, not only the statement."""
        ...

    def usable(self) -> bool:
        """False once the connection is lost."""
        ...

    def script(self, sql: str) -> None:
        """Several statements without parameters."""
        ...

    def close(self) -> None: ...


class Dialect(Protocol):
    name: str
    alone: bool  # no other host commits to it
    words: Mapping[str, str]  # how {text}, {integer} … of a migration are spelled

    def connect(self, *, write: bool) -> Session: ...

    def check(self, session: Session) -> None:
        """Refuse an unusable server or file at start, in one line."""
        ...

    def explain(self, error: Exception) -> LithosError | None:
        """A driver's error as one of ours; None for an error that is not the driver's."""
        ...

    def is_retryable(self, error: Exception) -> bool:
        """Whether the same work may succeed at once. Asked only when nothing was committed."""
        ...

    def was_committed(self, session: Session) -> bool | None:
        """Whether the session's last COMMIT took effect, when no answer came; None: unknown."""
        ...

    def lock_migrations(self, session: Session) -> None:
        """Keep other hosts from migrating at the same time, until the transaction ends."""
        ...

    def back_up(self, session: Session, label: str) -> None:
        """Copy an existing store before its first migration. A server has its own backups."""
        ...

    def release_reserve(self) -> bool:
        """Delete the reserve file on a full disk; False: there is none."""
        ...

    def restore_reserve(self) -> None:
        """Create the reserve file again once there is space."""
        ...

    def columns(self, tx: Tx, table: str) -> tuple[list[str], list[str]]:
        """(all columns, those of the primary key), each in their order."""
        ...

    def resume_counter(self, tx: Tx, table: str) -> None:
        """After rows were copied with their numbers: the next automatic number comes after them."""
        ...

    def size(self, tx: Tx) -> int:
        """Bytes that the store takes."""
        ...

    def lost(self) -> str | None:
        """Why what is committed from now on would be lost; None: it would not."""
        ...

    def problem(self) -> str | None:
        """Why the store is out of reach, or no longer the one that was opened; None: nothing known."""
        ...

    def verify(self) -> None:
        """Read everything that the store has, so that `problem` knows of damage, or of its end."""
        ...

    def listen(self, wake: Callable[[str], None], wake_all: Callable[[], None]) -> None:
        """Listen to notifications of other hosts; `wake_all` when some may have been missed."""
        ...

    def close(self) -> None: ...
