"""Copy the shared state from one database to another: in pages, resumable, then compared row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import orjson
from typing_extensions import TypedDict

from lithos.core.clock import Clock, SystemClock
from lithos.errors import Conflict, Damaged, InvalidInput, NotFound
from lithos.storage.audit.verify import Verdict
from lithos.storage.database.dialect import Dialect, Session
from lithos.storage.database.migrate import Migration, applied, migrate
from lithos.storage.database.sqlite import SqliteDialect
from lithos.storage.faults import Faults, NoFaults
from lithos.storage.values import Row, Tx

PAGE = 1_000
NOTE = "copy"  # in `meta` of the target during a copy: its progress
_TABLE = re.compile(r"^(CREATE|DROP|ALTER)(?: TEMPORARY)? TABLE (\w+)(?: RENAME TO (\w+))?", re.MULTILINE)
OnProgress = Callable[[str, int], None]  # (table, rows so far)


class DatabaseStatus(TypedDict):
    dialect: Literal["sqlite", "postgres"]
    where: str
    applied: list[str]
    pending: list[str]
    unknown: list[str]


def dialect_at(address: str, clock: Clock | None = None) -> Dialect:
    """`sqlite:PATH` or `postgresql://…`."""
    if address.startswith("sqlite:"):
        return SqliteDialect(Path(address.removeprefix("sqlite:")), clock=clock or SystemClock())
    if address.startswith(("postgresql://", "postgres://")):
        from lithos.storage.database.database import postgres_dialect

        return postgres_dialect(address)
    raise InvalidInput("this is not the address of a database", hint="sqlite:PATH, or postgresql://user@host/database.")


def database_status(dialect: Dialect, migrations: Sequence[Migration]) -> DatabaseStatus:
    """Which migrations were applied and which a start would apply; changes nothing."""
    session = _connect_existing(dialect)
    try:
        session.begin(write=False)
        done = applied(session) if _is_ours(dialect, session) else {}
    finally:
        session.rollback()
        session.close()
    known = {each.number: each.name for each in migrations}
    return {
        "dialect": "sqlite" if dialect.name == "sqlite" else "postgres",
        "where": _where(dialect),
        "applied": _names({number: name for number, name in done.items() if number in known}),
        "pending": _names({number: name for number, name in known.items() if number not in done}),
        "unknown": _names({number: name for number, name in done.items() if number not in known}),
    }


def _names(migrations: dict[int, str]) -> list[str]:
    return [f"{number:04d}_{migrations[number]}" for number in sorted(migrations)]


def _where(dialect: Dialect) -> str:
    return str(dialect.path) if isinstance(dialect, SqliteDialect) else str(getattr(dialect, "where", ""))


def _connect_existing(dialect: Dialect) -> Session:
    if isinstance(dialect, SqliteDialect) and not dialect.path.exists():
        raise NotFound(f"there is no database {dialect.path}", hint="Check the path.")
    return dialect.connect(write=False)


def _is_ours(dialect: Dialect, session: Session) -> bool:
    if isinstance(dialect, SqliteDialect):
        return session.tx.one("SELECT name FROM sqlite_schema WHERE name = 'migrations'") is not None
    return session.tx.one("SELECT 1 AS one WHERE to_regclass('migrations') IS NOT NULL") is not None


class Transfer:
    """One copy. An interrupted copy resumes after its last page."""

    def __init__(
        self,
        source: Dialect,
        target: Dialect,
        migrations: Sequence[Migration],
        *,
        clock: Clock | None = None,
        faults: Faults | None = None,
        on_progress: OnProgress | None = None,
        verify: Callable[[Tx], Verdict] | None = None,
    ) -> None:
        self._from, self._to = source, target
        self._migrations = migrations
        self._clock = clock or SystemClock()
        self._faults = faults or NoFaults()
        self._on_progress = on_progress or (lambda table, rows: None)
        self._verify = verify

    def run(self) -> dict[str, int]:
        """The number of rows of each table; Damaged if a row did not arrive as it was sent."""
        ready = database_status(self._from, self._migrations)
        if ready["pending"] or ready["unknown"]:
            raise Conflict(
                f"{ready['where']} is not at this version of Lithos", hint="Run `lithos db migrate` on it first."
            )
        source, target = _connect_existing(self._from), self._to.connect(write=True)
        try:
            self._to.check(target)
            migrate(target, self._to, self._migrations, where=_where(self._to), clock=self._clock, faults=self._faults)
            source.begin(write=False)
            return self._copied(source, target)
        finally:
            for session in (source, target):
                session.rollback()
                session.close()

    def _copied(self, source: Session, target: Session) -> dict[str, int]:
        progress = self._begun(source, target)
        tables = self._tables()
        for table in tables:
            if table not in progress["done"]:
                self._copy(source, target, table, progress)
        counts = {table: self._compared(source, target, table) for table in tables}
        self._check_audit(target)
        self._in_transaction(target, lambda tx: tx.run("DELETE FROM meta WHERE name = ?", NOTE))
        return counts

    def _check_audit(self, target: Session) -> None:
        verdict = self._verify(target.tx) if self._verify is not None else None
        if verdict is not None and not verdict["ok"]:
            raise Damaged(
                f"the audit is not whole: {verdict['problems'][0]['what']}",
                hint="Every row arrived as it was sent: `lithos events verify` shows what is wrong with the source.",
            )

    def _tables(self) -> list[str]:
        """In the order in which they were made, without those dropped since: what others refer to comes first."""
        made: dict[str, None] = {}
        for migration in self._migrations:
            for verb, name, renamed in _TABLE.findall(f"{migration.sql}\n{migration.only.get(self._to.name, '')}"):
                if verb == "CREATE":
                    made[name] = None
                elif verb == "DROP" or renamed:
                    made.pop(name)
                if renamed:
                    made[renamed] = None
        return list(made)

    def _begun(self, source: Session, target: Session) -> dict[str, Any]:
        noted = target.tx.one("SELECT value FROM meta WHERE name = ?", NOTE)
        if noted is not None:
            progress: dict[str, Any] = orjson.loads(noted["value"])
            return progress
        for table in ("agents", "events", "once", "intents", "messages"):
            if target.tx.one(f"SELECT 1 AS one FROM {table} LIMIT 1") is not None:
                raise Conflict(
                    f"{_where(self._to)} is not empty: it has rows in {table}",
                    hint="Copy into a new database. Nothing was changed.",
                )
        return {"done": [], "table": None, "after": None}

    def _copy(self, source: Session, target: Session, table: str, progress: dict[str, Any]) -> None:
        columns, keys = self._from.columns(source.tx, table)
        after = progress["after"] if progress["table"] == table else None
        rows = 0
        for page in _pages(source.tx, table, keys, after):
            last = [page[-1][key] for key in keys]
            progress.update(table=table, after=last)
            values = [[row[column] for column in columns] for row in page if not _is_note(table, row)]
            self._faults.at("copy.page")
            self._in_transaction(
                target, partial(_put, table=table, columns=columns, keys=keys, rows=values, progress=progress)
            )
            rows += len(page)
            self._on_progress(table, rows)
        progress["done"].append(table)
        self._in_transaction(target, lambda tx: self._finish(tx, table, progress))

    def _finish(self, tx: Tx, table: str, progress: dict[str, Any]) -> None:
        self._to.resume_counter(tx, table)
        _remember(tx, progress)

    def _in_transaction(self, session: Session, work: Callable[[Tx], object]) -> None:
        session.begin(write=True)
        try:
            work(session.tx)
            session.commit()
        finally:
            session.rollback()

    def _compared(self, source: Session, target: Session, table: str) -> int:
        _, keys = self._from.columns(source.tx, table)
        count = 0
        sent = (row for page in _pages(source.tx, table, keys) for row in page if not _is_note(table, row))
        arrived = (row for page in _pages(target.tx, table, keys) for row in page if not _is_note(table, row))
        for row in sent:
            if next(arrived, None) != row:
                raise _differs(table, row, keys)
            count += 1
        extra = next(arrived, None)
        if extra is not None:
            raise _differs(table, extra, keys)
        return count


def _differs(table: str, row: Row, keys: list[str]) -> Damaged:
    where = ", ".join(f"{key} {row[key]!r}" for key in keys)
    return Damaged(f"{table} differs at {where}", hint="Empty the target and copy again; the source is unchanged.")


def _pages(tx: Tx, table: str, keys: list[str], after: list[Any] | None = None) -> Iterator[list[Row]]:
    order = ", ".join(keys)
    marks = ", ".join("?" * len(keys))
    while True:
        where = f"WHERE ({order}) > ({marks})" if after is not None else ""
        page = tx.all(f"SELECT * FROM {table} {where} ORDER BY {order} LIMIT ?", *(after or ()), PAGE)
        if not page:
            return
        yield page
        after = [page[-1][key] for key in keys]


def _put(
    tx: Tx, *, table: str, columns: list[str], keys: list[str], rows: list[list[Any]], progress: dict[str, Any]
) -> None:
    """A row that exists already (from a migration, or a page copied before) is overwritten."""
    rest = [column for column in columns if column not in keys]
    update = f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in rest)}" if rest else "DO NOTHING"
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT ({', '.join(keys)}) {update}"
    tx.many(sql, rows)
    _remember(tx, progress)


def _remember(tx: Tx, progress: dict[str, Any]) -> None:
    text = orjson.dumps(progress).decode()
    sql = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    tx.run(sql, NOTE, text)


def _is_note(table: str, row: Row) -> bool:
    return table == "meta" and row["name"] == NOTE
