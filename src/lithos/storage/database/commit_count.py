"""How many transactions were committed, counted in the database and, after each commit, in a mark beside it.

A log that was cut, deleted or altered after a kill loses commits, and SQLite opens what is left without a word. So does
an older copy of the database. Then the mark knows more commits than the database.
"""

from __future__ import annotations

from pathlib import Path

from lithos.errors import Damaged
from lithos.storage.acknowledged import Mark, marked
from lithos.storage.values import Tx

SUFFIX = ".mark"
_NAME = "commits"
_SET = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class CommitCount:
    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(f"{database.name}{SUFFIX}")
        self._mark = Mark(self._path)
        self._count: int | None = None  # None: not read yet, or the outcome of a commit is unknown
        self._next = 0

    def check(self, tx: Tx) -> None:
        """Raise `Damaged` where commits are missing that were acknowledged."""
        missing = marked(self._path) - _stored(tx)
        if missing > 0:
            name = self._database.name
            raise Damaged(
                f"{missing} acknowledged changes are missing from {name}: it is an older copy, or its log was lost",
                hint=f"Restore {name} and {name}-wal of one moment from a backup. To start with what is there, delete "
                f".lithos/{self._path.name}.",
            )

    def add(self, tx: Tx) -> None:
        """In the transaction, before it is committed."""
        self._next = (_stored(tx) if self._count is None else self._count) + 1
        self._count = None
        tx.put(_SET, _NAME, str(self._next))

    def committed(self) -> None:
        self._count = self._next
        try:
            self._mark.set(self._next)
        except OSError:
            return  # evidence, not authority

    def close(self) -> None:
        self._mark.close()


def _stored(tx: Tx) -> int:
    row = tx.one("SELECT value FROM meta WHERE name = ?", _NAME)
    return int(row["value"]) if row is not None else 0
