"""What differs between SQLite and PostgreSQL; everything else of `Database` is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from lithos.errors import LithosError
from lithos.storage.values import Tx


class InDoubt(Exception):
    """COMMIT was sent and its answer never came: the transaction may be there or not."""


class Session(Protocol):
    """One connection. `notices` are the channels that this process must wake itself after the commit."""

    notices: list[str]

    @property
    def tx(self) -> Tx: ...

    def begin(self, *, write: bool) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """End the transaction, if one is still open, without its effects."""
        ...

    def in_transaction(self) -> bool:
        """False once an error has ended the whole transaction, not only the statement."""
        ...

    def script(self, sql: str) -> None:
        """Several statements without parameters."""
        ...

    def close(self) -> None: ...


class Dialect(Protocol):
    name: str
    words: Mapping[str, str]  # what {text}, {integer} … of a migration become

    def connect(self, *, write: bool) -> Session: ...

    def explain(self, error: Exception) -> LithosError | None:
        """A driver's error as one of ours; None for an error that is not the driver's."""
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

    def listen(self, wake: Callable[[str], None]) -> None:
        """Start to hear other hosts' notices."""
        ...

    def close(self) -> None: ...
