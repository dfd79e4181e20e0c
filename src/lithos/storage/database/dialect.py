"""What differs between SQLite and PostgreSQL; everything else of `Database` is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from lithos.errors import LithosError
from lithos.storage.values import Tx


class Session(Protocol):
    """One connection. `notices` are the channels that this process must wake itself after the commit."""

    notices: list[str]

    @property
    def tx(self) -> Tx: ...

    def begin(self, *, write: bool) -> None: ...

    def savepoint(self) -> None: ...

    def keep(self) -> None:
        """Let go of the savepoint; what was done since stays, if the transaction does."""
        ...

    def undo(self) -> None:
        """Undo what was done since the savepoint, and let go of it."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """End the transaction, if one is still open, without its effects."""
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
    words: Mapping[str, str]  # what {text}, {integer} … of a migration become

    def connect(self, *, write: bool) -> Session: ...

    def check(self, session: Session) -> None:
        """Refuse at start, in one line, what could not be worked with."""
        ...

    def explain(self, error: Exception) -> LithosError | None:
        """A driver's error as one of ours; None for an error that is not the driver's."""
        ...

    def worth_retrying(self, error: Exception) -> bool:
        """Whether the same work, from the start, may well succeed at once. Asked only where nothing was committed."""
        ...

    def find_out(self, session: Session) -> bool | None:
        """Whether the session's last COMMIT, of which no answer came, took effect; None: nobody can tell (now)."""
        ...

    def lock_migrations(self, session: Session) -> None:
        """Keep other hosts from migrating at the same time, until the transaction ends."""
        ...

    def back_up(self, session: Session, label: str) -> None:
        """Keep a copy of an existing store before its first change; nothing where the server's backups do that."""
        ...

    def make_room(self) -> bool:
        """Give up the reserve on a full disk; False when there is none left."""
        ...

    def keep_room(self) -> None:
        """Have the reserve again, once there is space."""
        ...

    def columns(self, tx: Tx, table: str) -> tuple[list[str], list[str]]:
        """(all columns, those of the primary key), each in their order."""
        ...

    def continue_counting(self, tx: Tx, table: str) -> None:
        """After rows were copied with their numbers: the next one that counts by itself comes after them."""
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

    def listen(self, wake: Callable[[str], None], wake_all: Callable[[], None]) -> None:
        """Start to hear other hosts' notices; `wake_all` where some may have been missed."""
        ...

    def close(self) -> None: ...
