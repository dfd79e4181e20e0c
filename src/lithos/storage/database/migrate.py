"""Numbered migrations, the same on SQLite and PostgreSQL: those of a new store together, later ones one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from lithos.core.clock import Clock, micros
from lithos.errors import Internal, Unsupported
from lithos.storage.database.dialect import Dialect, Session
from lithos.storage.faults import Faults

_NAME = re.compile(r"^(\d{4})_([a-z_]+)(?:\.(sqlite|postgres))?\.sql$")
_LIST = """
CREATE TABLE IF NOT EXISTS migrations (
    number {integer} PRIMARY KEY,
    name {text} NOT NULL,
    applied_at {integer} NOT NULL
) {strict}
"""


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    sql: str = ""  # for both dialects, with {words}
    only: dict[str, str] = field(default_factory=dict)  # dialect → SQL for it alone

    def spelled(self, dialect: Dialect) -> str:
        return _spelled(f"{self.sql}\n{self.only.get(dialect.name, '')}", dialect)


@cache
def coordination_migrations() -> tuple[Migration, ...]:
    """The migrations of the shared state: coordination.db, or PostgreSQL."""
    return read_migrations(files("lithos.storage.database") / "migrations")


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    found: dict[int, Migration] = {}
    for entry in folder.iterdir():
        match = _NAME.match(entry.name)
        if match:
            _add(found, int(match[1]), match[2], match[3], entry.read_text(encoding="utf-8"))
    return tuple(found[number] for number in sorted(found))


def _add(found: dict[int, Migration], number: int, name: str, dialect: str | None, sql: str) -> None:
    known = found.setdefault(number, Migration(number, name))
    if known.name != name:
        raise Internal(f"two migrations have the number {number}: {known.name} and {name}")
    changed = Migration(number, name, known.sql, {**known.only, dialect: sql}) if dialect else None
    found[number] = changed or Migration(number, name, sql, known.only)


def applied(session: Session) -> dict[int, str]:
    return {row["number"]: row["name"] for row in session.tx.all("SELECT number, name FROM migrations")}


def migrate(
    session: Session, dialect: Dialect, migrations: Sequence[Migration], *, where: str, clock: Clock, faults: Faults
) -> list[Migration]:
    """Apply what is missing. A store that a newer Lithos has changed is refused and left unchanged."""
    done = _list(session, dialect)
    _refuse_newer(done, migrations, where)
    pending = [each for each in migrations if each.number not in done]
    if done and pending:
        dialect.back_up(session, f"before-{pending[0].number:04d}")
    # A new store gets all of them in one transaction: each commit flushes, and half of them serve no one.
    for together in [[each] for each in pending] if done else [pending]:
        _apply(session, dialect, together, clock, faults)
    return pending


def _list(session: Session, dialect: Dialect) -> dict[int, str]:
    session.begin(write=True)
    try:
        dialect.lock_migrations(session)
        session.script(_spelled(_LIST, dialect))
        done = applied(session)
        session.commit()
    finally:
        session.rollback()
    return done


def _apply(session: Session, dialect: Dialect, migrations: Sequence[Migration], clock: Clock, faults: Faults) -> None:
    session.begin(write=True)
    try:
        dialect.lock_migrations(session)
        done = applied(session)  # another host may have applied some
        for migration in migrations:
            if migration.number not in done:
                session.script(migration.spelled(dialect))
                row = (migration.number, migration.name, micros(clock.now()))
                session.tx.run("INSERT INTO migrations (number, name, applied_at) VALUES (?, ?, ?)", *row)
                faults.at(f"migrate.{migration.number:04d}.commit")
        session.commit()
    finally:
        session.rollback()


def _refuse_newer(done: dict[int, str], migrations: Sequence[Migration], where: str) -> None:
    newest = max((each.number for each in migrations), default=0)
    unknown = sorted(set(done) - {each.number for each in migrations})
    if unknown:
        names = ", ".join(f"{number:04d}_{done[number]}" for number in unknown)
        raise Unsupported(
            f"{where} was changed by a newer Lithos ({names}); this one knows up to {newest:04d}",
            hint="Start the newer Lithos, or restore the backup beside the file (*.bak).",
        )


def _spelled(sql: str, dialect: Dialect) -> str:
    """Replace known words; other braces (JSON defaults) stay."""
    for word, spelled in dialect.words.items():
        sql = sql.replace(f"{{{word}}}", spelled)
    return sql
