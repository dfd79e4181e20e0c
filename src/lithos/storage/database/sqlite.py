"""SQLite through apsw: connections, checked pragmas, errors, and the reserve for a full disk."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from lithos.core.clock import Clock
from lithos.errors import (
    Busy,
    Damaged,
    Forbidden,
    Internal,
    LithosError,
    ReadOnly,
    StorageFull,
    Unavailable,
    Unsupported,
)
from lithos.storage.database.dialect import Session
from lithos.storage.database.page_checksums import add_checksums, checksum_vfs
from lithos.storage.disk import read_only, storage_full, why_unwritable
from lithos.storage.files.durable import clear_place, flush_path, open_file
from lithos.storage.values import Moment, Notice, Row, Tx

# STRICT: SQLite refuses the wrong types that PostgreSQL refuses.
WORDS = {
    "text": "TEXT",
    "integer": "INTEGER",
    "real": "REAL",
    "bytes": "BLOB",
    "counter": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "strict": "STRICT",
    "keyed": "STRICT, WITHOUT ROWID",  # one tree instead of two for a key of several columns
}
SYNCHRONOUS = {"FULL": 2, "NORMAL": 1}
BUSY_MS = 10_000  # only a CLI command or a backup of another process ever holds the file
WAL_KEPT = 64 * 1024 * 1024
RESERVE_BYTES = 2 * 1024 * 1024  # for some hundred closing rows and their log on a full disk
RESERVE_PAUSE_S = 30.0
STATEMENTS = 200  # kept prepared per connection


class _Rows:
    """The rows of a statement that has already run."""

    __slots__ = ("_rows",)

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def one(self) -> Row | None:
        return self._rows[0] if self._rows else None

    def all(self) -> list[Row]:
        return self._rows


class SqliteSession:
    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._columns: dict[str, list[str]] = {}  # of each statement: asking apsw costs as much as a small SELECT
        self.notices: list[Notice] = []

    @property
    def tx(self) -> SqliteSession:
        return self

    def ask(self, sql: str, *values: Any) -> _Rows:
        return _Rows(self._rows(sql, values))

    def put(self, sql: str, *values: Any) -> None:
        self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, *values: Any) -> int:
        self.put(sql, *values)
        return int(self._connection.changes())

    def one(self, sql: str, *values: Any) -> Row | None:
        rows = self._rows(sql, values)
        return rows[0] if rows else None

    def all(self, sql: str, *values: Any) -> list[Row]:
        return self._rows(sql, values)

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Row]:
        cursor = self._connection.execute(sql, values)
        names = self._columns.get(sql)
        if names is None:
            try:
                names = [column[0] for column in cursor.get_description()]
            except apsw.ExecutionCompleteError:  # a statement that gives no rows
                return []
            if len(self._columns) >= STATEMENTS:
                self._columns.clear()
            self._columns[sql] = names
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows).fetchall()

    def lock(self, name: str) -> None:
        """Nothing: there is one writer, and BEGIN IMMEDIATE has made this transaction it."""

    def lock_now(self, name: str) -> Callable[[], Moment]:
        return self.ask_now()

    def next_number(self, table: str, column: str) -> _Rows:
        return self.ask("SELECT coalesce(max(seq), 0) + 1 AS number FROM sqlite_sequence WHERE name = ?", table)

    def ask_now(self) -> Callable[[], Moment]:
        now = self.now()
        return lambda: now

    def now(self) -> Moment:
        return Moment(self._clock.now(), self._clock.since_boot(), self._clock.boot_id())

    def notify(self, channel: str, subject: str | None = None, number: int = 0) -> None:
        self.notices.append(Notice(channel, subject, number))

    def begin(self, *, write: bool) -> None:
        self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def savepoint(self) -> None:
        self._connection.execute("SAVEPOINT work")

    def keep(self) -> None:
        self._connection.execute("RELEASE SAVEPOINT work")

    def undo(self) -> None:
        self._connection.execute("ROLLBACK TO SAVEPOINT work")
        self._connection.execute("RELEASE SAVEPOINT work")

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def usable(self) -> bool:
        return True

    def script(self, sql: str) -> None:
        self._connection.execute(sql).fetchall()
        self._columns.clear()

    def copy_to(self, path: Path) -> None:
        """A durable copy of everything committed."""
        unfinished = path.with_name(f"{path.name}.part")
        unfinished.unlink(missing_ok=True)
        target = apsw.Connection(str(unfinished))
        try:
            with target.backup("main", self._connection, "main") as backup:
                backup.step()
        finally:
            target.close()
        flush_path(unfinished)
        unfinished.replace(path)
        flush_path(path.parent)

    def close(self) -> None:
        self._connection.close()


class SqliteDialect:
    name = "sqlite"
    alone = True
    words: Mapping[str, str] = WORDS

    def __init__(
        self, path: Path, *, clock: Clock, synchronous: str = "FULL", reserve_bytes: int = RESERVE_BYTES
    ) -> None:
        self.path = path
        self._clock = clock
        self._synchronous = SYNCHRONOUS[synchronous]
        self._opened: tuple[int, int] | None = None  # device and inode of the file that the writer has open
        self._damage: str | None = None  # what SQLite said last of a damaged file
        self._reserve = Reserve(path.with_name(f"{path.name}.reserve"), reserve_bytes)

    def connect(self, *, write: bool) -> SqliteSession:
        try:
            return self._writer() if write else self._reader()
        except (apsw.Error, OSError) as error:
            raise self._noted(explain(error, self.path)) from error
        except Damaged as damage:
            raise self._noted(damage) from None

    def _writer(self) -> SqliteSession:
        connection = self._connection(str(self.path))
        if connection.readonly("main"):
            connection.close()
            raise why_unwritable(self.path.parent, self.path.name) or read_only(self.path.name)
        add_checksums(connection, self.path)
        # What is deleted is overwritten: forgetting must not have to copy the whole file.
        own: list[tuple[str, str | int]] = [
            ("journal_mode", "wal"),
            ("journal_size_limit", WAL_KEPT),
            ("secure_delete", 1),
        ]
        session = self._session(connection, own)
        opened = self.path.stat()
        self._opened = opened.st_dev, opened.st_ino
        return session

    def _reader(self) -> SqliteSession:
        if self._opened is not None:
            return self._session(self._connection(str(self.path)), [("journal_mode", "wal"), ("query_only", 1)])
        try:
            return self._session(self._connection(str(self.path)), [("query_only", 1)])
        except apsw.Error as error:
            if self._has_log() or not isinstance(explain(error, self.path), (StorageFull, ReadOnly)):
                raise
        # No room or right for the shared memory of a log. Without a log and without a writer nothing changes the file.
        return self._session(self._connection(f"{self.path.absolute().as_uri()}?immutable=1"), [("query_only", 1)])

    def _has_log(self) -> bool:
        log = self.path.with_name(f"{self.path.name}-wal")
        return log.exists() and log.stat().st_size > 0

    def _connection(self, name: str) -> apsw.Connection:
        _refuse_other_than_files(self.path)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(name, flags=flags, vfs=checksum_vfs(), statementcachesize=STATEMENTS)
        # Else SQLite prepares a statement again whenever a value that its plan might depend on is bound: 100 µs.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_busy_timeout(BUSY_MS)
        return connection

    def _session(self, connection: apsw.Connection, own: Sequence[tuple[str, str | int]]) -> SqliteSession:
        common = [("synchronous", self._synchronous), ("foreign_keys", 1), ("trusted_schema", 0)]
        try:
            for pragma, wanted in [*own, *common]:
                _set_pragma(connection, pragma, wanted)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # opens the log, which may fail
        except BaseException:
            connection.close()
            raise
        return SqliteSession(connection, self._clock)

    def explain(self, error: Exception) -> LithosError | None:
        return self._noted(explain(error, self.path)) if isinstance(error, (apsw.Error, OSError)) else None

    def _noted(self, error: LithosError) -> LithosError:
        """`problem` says at once what a caller was refused for."""
        if isinstance(error, Damaged):
            self._damage = error.message
        return error

    def verify(self) -> None:
        """Read the whole file through a new connection, which has no page in memory yet; `problem` has the outcome.

        Not where another file has taken its place: closing that one would apply the log of ours to it.
        """
        if self.lost() is not None:
            return
        try:
            session = self._reader()
            try:
                found = session.all("PRAGMA quick_check(1)")
            finally:
                session.close()
        except (apsw.Error, OSError) as error:
            self._noted(explain(error, self.path))
        except Damaged as damage:
            self._noted(damage)
        else:
            sound = all(value == "ok" for row in found for value in row.values())
            self._damage = None if sound else f"pages of {self.path.name} are not what was written"

    def check(self, session: Session) -> None:
        """Nothing: `connect` has checked the pragmas."""

    def is_retryable(self, error: Exception) -> bool:
        return False

    def was_committed(self, session: Session) -> bool | None:
        return None

    def lock_migrations(self, session: Session) -> None:
        """Nothing: migrations run under BEGIN IMMEDIATE, which keeps every other writer out."""

    def back_up(self, session: Session, label: str) -> None:
        assert isinstance(session, SqliteSession)
        session.copy_to(self.path.with_name(f"{self.path.name}.{label}.bak"))

    def release_reserve(self) -> bool:
        return self._reserve.release()

    def restore_reserve(self) -> None:
        self._reserve.restore()

    def columns(self, tx: Tx, table: str) -> tuple[list[str], list[str]]:
        rows = tx.all("SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", table)
        keys = sorted((row for row in rows if row["pk"]), key=lambda row: row["pk"])
        return [row["name"] for row in rows], [row["name"] for row in keys]

    def resume_counter(self, tx: Tx, table: str) -> None:
        """Nothing: AUTOINCREMENT continues after the largest number that was inserted."""

    def size(self, tx: Tx) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def problem(self) -> str | None:
        return self.lost() or self._damage

    def lost(self) -> str | None:
        """A removed or replaced file is still open here; commits to it are lost. A new connection to an empty one
        would delete the log."""
        if self._opened is None:
            return None
        try:
            found = self.path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._opened:
            return f"{self.path.name} was removed or replaced under the running host"
        return None if found.st_size else f"{self.path.name} was emptied under the running host"

    def listen(self, wake: Callable[[str], None], wake_all: Callable[[], None]) -> None:
        """Nothing: one process owns the file and wakes its own listeners."""

    def close(self) -> None:
        """Nothing is shared between connections."""


class Reserve:
    """A file that occupies space, so that a full disk still has room for the rows that close open intents."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self._next_try = 0.0

    def release(self) -> bool:
        try:
            held = self._path.stat().st_size >= self._size > 0
            self._path.unlink()
        except OSError:
            return False
        return held

    def restore(self) -> None:
        """Cheap if it exists. Otherwise tried at most every 30 s, and only if eight times its size is free."""
        if self._size == 0 or time.monotonic() < self._next_try:
            return
        self._next_try = time.monotonic() + RESERVE_PAUSE_S
        with contextlib.suppress(OSError):  # without a reserve Lithos still works
            self._write()

    def _write(self) -> None:
        if self._path.is_file() and not self._path.is_symlink() and self._path.stat().st_size >= self._size:
            return
        room = os.statvfs(self._path.parent)
        if room.f_bavail * room.f_frsize < 8 * self._size:
            return
        clear_place(self._path)
        with os.fdopen(open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, self._size)  # space without writing it; not on macOS
            else:
                file.write(bytes(self._size))
                file.flush()
            os.fsync(file.fileno())


def explain(error: apsw.Error | OSError, path: Path) -> LithosError:
    """An error of apsw or of the disk as one of ours."""
    name = path.name
    match error:
        case apsw.FullError() | OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return storage_full(name)
        case OSError(errno=errno.EROFS):
            return read_only(name)
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"{name} is locked by another process", hint="Call again.", retry_after_ms=200)
        case apsw.CorruptError() | apsw.NotADBError():
            return Damaged(f"{name} is damaged: {error}", hint=f"Restore {name} from a backup beside it (*.bak).")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
            return Damaged(f"a page of {name} is not what was written", hint=f"Restore {name} from a backup.")
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.IOError() if (
            refusal := why_unwritable(path.parent, name)
        ) is not None:
            return refusal
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError() | apsw.AuthError():
            return Forbidden(f"{name} cannot be opened or written: {error}", hint="Check owner, mode and mount.")
        case OSError() | apsw.IOError() | apsw.NoMemError() | apsw.InterruptError():
            return Unavailable(f"{name} could not be read or written: {error}", hint="Call again; look at the disk.")
        case _:
            return Internal(f"{name}: {error}", hint="This is a bug in Lithos: please report it with the log.")


def _set_pragma(connection: apsw.Connection, pragma: str, wanted: str | int) -> None:
    connection.execute(f"PRAGMA {pragma}={wanted}").fetchall()
    taken = connection.pragma(pragma)
    if taken != wanted:
        raise Unsupported(
            f"SQLite did not take {pragma}={wanted} (it says {taken})",
            hint="The data directory must be on a file system that supports locks and shared memory.",
        )


def _refuse_other_than_files(path: Path) -> None:
    """A FIFO would make SQLite wait for a writer that never comes; through a link it would write to another place."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(path.with_name(name).lstat().st_mode):
                raise Damaged(f"{name} is not a file", hint="Move it away; restore the file from a backup.")
