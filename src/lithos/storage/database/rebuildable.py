"""A database that can be rebuilt: damage moves its file aside, and it starts empty."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from lithos.errors import Damaged, Forbidden, Internal, LithosError, Unavailable, Unsupported
from lithos.storage.database.database import Database
from lithos.storage.files.durable import restore_access
from lithos.storage.quarantine import quarantine
from lithos.storage.values import Tx

T = TypeVar("T")
TAILS = ("", "-wal", "-shm")
AGAIN_AFTER = 60.0  # seconds: what fails sooner than this on an empty database is no damage of the file
_log = logging.getLogger(__name__)


def allow_database(path: Path) -> bool:
    """Give the owner its rights to a derived database and its log back. True: that was needed."""
    restored = [restore_access(path.with_name(path.name + tail)) for tail in TAILS]
    return any(restored)


class RebuildableDatabase:
    """`lost` is called after the database started empty, at the open too: the owner fills it again."""

    def __init__(self, path: Path, open_it: Callable[[], Database]) -> None:
        self._path = path
        allow_database(path)
        self._open = open_it
        self._healing = threading.Lock()
        self._healed_at = float("-inf")
        self.lost: Callable[[], None] = lambda: None
        self.restarts = 0  # how often damage made it start empty
        try:
            self._database = open_it()
        except LithosError as damage:
            if not _is_damage(damage) and not isinstance(damage, Unsupported):
                raise
            self._database = self._restarted(damage)

    @property
    def current(self) -> Database:
        """The database in use now; damage replaces it."""
        return self._database

    def read(self, work: Callable[[Tx], T]) -> T:
        database = self._database
        try:
            return database.read(work)
        except LithosError as error:
            raise self._healed(error, database) from error

    def write(self, work: Callable[[Tx], T]) -> T:
        database = self._database
        try:
            return database.write(work)
        except LithosError as error:
            raise self._healed(error, database) from error

    def close(self) -> None:
        self._database.close()

    def _healed(self, error: LithosError, database: Database) -> LithosError:
        """The caller's error: the same one, or `Rebuilding`, because an empty answer would be wrong."""
        with self._healing:
            if self._database is not database:  # another thread was faster, and closed the one that we used
                return _rebuilding()
            if isinstance(error, Forbidden) and allow_database(self._path):
                return _rebuilding()
            if not _is_damage(error) or time.monotonic() - self._healed_at < AGAIN_AFTER:
                return error
            database.close()
            self._database = self._restarted(error)
        self.lost()
        return _rebuilding()

    def _restarted(self, damage: LithosError) -> Database:
        _log.warning("%s is damaged and starts empty: %s", self._path.name, damage.message)
        for tail in TAILS:
            quarantine(self._path.with_name(self._path.name + tail), self._path.with_name(f"damaged.db{tail}"))
        self._healed_at = time.monotonic()
        self.restarts += 1
        return self._open()


class Rebuilding(Unavailable):
    """Something derived was damaged and begins again from its source."""


def _rebuilding() -> Rebuilding:
    return Rebuilding("an index was damaged and is being rebuilt", hint="Call again in a moment.")


def _is_damage(error: LithosError) -> bool:
    """Also what SQLite calls an error of ours: half a schema, a key that is there twice."""
    return isinstance(error, Damaged) or (isinstance(error, Internal) and isinstance(error.__cause__, apsw.Error))
