"""Scrub: delete recorded answers that mention an id, so that no page or log keeps a byte of them."""

from __future__ import annotations

import apsw

from lithos.errors import Busy
from lithos.storage.database.database import Database
from lithos.storage.database.dialect import Dialect
from lithos.storage.database.sqlite import SqliteDialect
from lithos.storage.values import Tx

WAIT_MS = 10_000
TABLES = ("once", "deliveries")
QUOTING = ("graph_checks", "graph_check_words", "graph_conflicts")  # their owner deletes its rows before


def scrub(database: Database, thing: str) -> int:
    """Delete the answers that mention this id; how many. The log and backups of a database server are out of reach."""
    gone = database.write(lambda tx: _forget_answers(tx, thing))
    if isinstance(database.dialect, SqliteDialect):
        # VACUUM leaves no free page behind; truncating the log leaves no old copy of one.
        _rewrite(database.dialect, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
    else:
        _rewrite_tables(database.dialect)
    return gone


def _forget_answers(tx: Tx, thing: str) -> int:
    return sum(tx.run(f"DELETE FROM {table} WHERE answer LIKE ?", f"%{thing}%") for table in TABLES)


def _rewrite_tables(dialect: Dialect) -> None:
    """A plain VACUUM leaves the bytes of deleted rows in place; a full one writes the table into a new file."""
    session = dialect.connect(write=True)
    try:
        for table in (*TABLES, *QUOTING):
            session.script(f"VACUUM FULL {table}")
    except Exception as error:
        raise dialect.explain(error) or error from error
    finally:
        session.close()


def truncate_log(database: Database) -> None:
    """Empty SQLite's log: it holds old copies of pages from which rows were deleted since."""
    assert isinstance(database.dialect, SqliteDialect)
    _rewrite(database.dialect, "PRAGMA wal_checkpoint(TRUNCATE)")


def _rewrite(dialect: SqliteDialect, *statements: str) -> None:
    connection = apsw.Connection(str(dialect.path))
    try:
        connection.set_busy_timeout(WAIT_MS)
        connection.execute("PRAGMA secure_delete = 1")
        for statement in statements:
            connection.execute(statement).fetchall()
    except apsw.BusyError:
        raise Busy("the database is in use", hint="Call again: the rest is erased then.") from None
    finally:
        connection.close()
