"""The shared state on either back end: what opens it stays the same, `current` says where it lies."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit, urlunsplit

from lithos.core.clock import Clock, FakeClock
from lithos.storage import Database, Faults, Migration, coordination_migrations, open_database, open_postgres

INHERITED = "TESTS_STATE_URL"


class States(Protocol):
    def open(self, folder: Path, clock: Clock | None, migrations: Any, **options: Any) -> Database: ...

    def empty(self) -> None:
        """Every folder that was used is done with."""
        ...


class SqliteStates:
    def empty(self) -> None:
        """Nothing: a file is cheap."""

    def open(self, folder: Path, clock: Clock | None, migrations: Any, **options: Any) -> Database:
        path = folder / "coordination.db"
        if migrations == coordination_migrations() and not any(folder.glob(f"{path.name}*")):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for file in _migrated().iterdir():
                shutil.copyfile(file, folder / file.name)
        return open_database(path, migrations, clock=clock, **options)


@functools.cache
def _migrated() -> Path:
    """A folder with a new database, for copies: 22 migrations take 30 ms of CPU."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    open_database(Path(folder.name, "coordination.db"), coordination_migrations(), clock=FakeClock()).close()
    return Path(folder.name)


class PostgresStates:
    """Each folder has a schema of its own. Migrating one takes a third of a second, so emptied ones are used again."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._clean: list[str] = []
        self._used: dict[Path, str] = {}
        self._lock = threading.Lock()

    def open(self, folder: Path, clock: Clock | None, migrations: Any, **options: Any) -> Database:
        url = self.url(folder) if migrations == coordination_migrations() else self.fresh(folder)
        return open_postgres(url, migrations, clock=clock, faults=options.get("faults"))

    def url(self, folder: Path) -> str:
        """Of a schema that is migrated and empty when the folder is first used."""
        with self._lock:
            if folder not in self._used:
                self._used[folder] = self._clean.pop() if self._clean else self._migrated(folder)
            return self._at(self._used[folder])

    def fresh(self, folder: Path) -> str:
        """Of a schema with nothing in it, for migrations of a test's own."""
        return self._at(self._made(folder))

    def _at(self, name: str) -> str:
        joint = "&" if urlsplit(self._server).query else "?"
        return f"{self._server}{joint}options=-csearch_path%3D{name}"

    def _made(self, folder: Path) -> str:
        name = f"t_{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"
        execute(self._server, f"CREATE SCHEMA IF NOT EXISTS {name}")
        return name

    def _migrated(self, folder: Path) -> str:
        name = self._made(folder)
        open_postgres(self._at(name), coordination_migrations()).close()
        return name

    def empty(self) -> None:
        """Bring every schema that was used back to what it was after its migrations."""
        import psycopg

        if self._used:
            with psycopg.connect(self._server, autocommit=True) as connection:
                for name in self._used.values():
                    connection.execute(f"SET search_path = {name}")  # type: ignore[arg-type]
                    connection.execute(_EMPTY.format(name=name))  # type: ignore[arg-type]
        self._clean += self._used.values()
        self._used.clear()


# The heads of journals and the cursors of messages stay: migrations insert them.
_EMPTY = """
DO $$
DECLARE each record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR each IN SELECT relname, relkind FROM pg_class
        WHERE relnamespace = '{name}'::regnamespace AND relkind IN ('r', 'S') AND relname <> 'migrations'
    LOOP
        IF each.relkind = 'S' THEN
            EXECUTE format('ALTER SEQUENCE %I RESTART', each.relname);
        ELSIF each.relname = 'journal_heads' THEN
            UPDATE journal_heads SET seq = 0, era = '', steady = 0;
        ELSIF each.relname = 'message_cursors' THEN
            UPDATE message_cursors SET seq = 0;
        ELSE
            EXECUTE format('DELETE FROM %I', each.relname);
        END IF;
    END LOOP;
END $$
"""


class InheritedState:
    """In a child of a test: the one schema that its parent has chosen for it."""

    def empty(self) -> None:
        """Nothing: it is the parent's."""

    def open(self, folder: Path, clock: Clock | None, migrations: Any, **options: Any) -> Database:
        return open_postgres(os.environ[INHERITED], migrations, clock=clock, faults=options.get("faults"))


current: States = InheritedState() if INHERITED in os.environ else SqliteStates()


def for_child(folder: Path) -> dict[str, str]:
    """The environment in which a child opens the same state as its parent."""
    if isinstance(current, PostgresStates):
        return {**os.environ, INHERITED: current.url(folder)}
    return dict(os.environ)


def open_state(
    folder: Path,
    clock: Clock | None = None,
    faults: Faults | None = None,
    *,
    migrations: tuple[Migration, ...] | None = None,
    **options: Any,
) -> Database:
    return current.open(folder, clock, migrations or coordination_migrations(), faults=faults, **options)


def execute(url: str, sql: str) -> list[Any]:
    """One statement outside of everything that is tested."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


def with_database(url: str, name: str, **changes: str) -> str:
    """The same server, another database (and user and password)."""
    parts = urlsplit(url)
    netloc = parts.netloc
    if "user" in changes:
        host = netloc.rpartition("@")[2]
        netloc = f"{quote(changes['user'])}:{quote(changes.get('password', ''))}@{host}"
    return urlunsplit((parts.scheme, netloc, f"/{name}", parts.query, ""))
