"""Forgetting for good: remembered answers that mention something go, and no page or log keeps a byte of them."""

from __future__ import annotations

import apsw

from lithos.errors import Busy
from lithos.storage.database import Database
from lithos.storage.sqlite import SqliteDialect
from lithos.storage.values import Tx

WAIT_MS = 10_000


def scrub(database: Database, thing: str) -> int:
    """`thing` is an id; returns how many answers went. PostgreSQL frees the space with its own vacuum."""
    gone = database.write(lambda tx: _forget_answers(tx, thing))
    if isinstance(database.dialect, SqliteDialect):
        _rewrite(database.dialect)
    return gone


def _forget_answers(tx: Tx, thing: str) -> int:
    pattern = f"%{thing}%"
    gone = tx.run("DELETE FROM once WHERE answer LIKE ?", pattern)
    return gone + tx.run("DELETE FROM deliveries WHERE answer LIKE ?", pattern)


def _rewrite(dialect: SqliteDialect) -> None:
    """VACUUM leaves no free page behind, truncating the log no old copy of one."""
    connection = apsw.Connection(str(dialect.path))
    try:
        connection.set_busy_timeout(WAIT_MS)
        connection.execute("PRAGMA secure_delete = 1")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.BusyError:
        raise Busy("the database is in use", hint="Call again: what is left to erase is erased then.") from None
    finally:
        connection.close()
