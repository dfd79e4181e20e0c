"""Which database a data directory belongs to. Its id is in the database and, outside it, in `.lithos/database.json`.

A database that was deleted, emptied or exchanged would otherwise be replaced by an empty one without a word.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from pathlib import Path
from typing import Any

from lithos.errors import Damaged
from lithos.storage.database.database import Database
from lithos.storage.files.durable import read_file, replace_file
from lithos.storage.values import Tx

FILE = "database.json"
DATABASE = "coordination.db"
_NAME = "database_id"


def check_log(state: Path) -> None:
    """Before the database is opened, which applies its log: raise `Damaged` if the log is that of the last host, and
    the database beside it another file. Copies of both are other files, too, and belong together."""
    last = _recorded(state / FILE) or {}
    file, log = state / DATABASE, state / f"{DATABASE}-wal"
    if last.get("log") and last["log"] == _inode(log) and log.stat().st_size and last["file"] != _inode(file):
        raise Damaged(
            f"{DATABASE} was exchanged, and the log beside it belongs to the file of before",
            hint=f"Restore {DATABASE} and {DATABASE}-wal of one moment from a backup. To start without what the log "
            f"has, move {DATABASE}-wal away.",
        )


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except OSError:
        return 0


def check_identity(database: Database, state: Path) -> None:
    """Raise `Damaged` unless this is the database of the last start. The first start records it."""
    path = state / FILE
    last = _recorded(path)
    known, events = database.read(_found)
    if last is not None and last["id"] != known:
        raise Damaged(
            f"the database is not the one of the last start ({last['events']} events then), and "
            + ("is empty" if known is None else "has another id"),
            hint=f"Restore it from a backup (*.bak beside it). To start with it anyway, delete .lithos/{FILE}.",
        )
    _record(path, last, known or database.write(_made), events)


def record_identity(database: Database, state: Path) -> None:
    """Its id and how many events it has now."""
    path = state / FILE
    known, events = database.read(_found)
    _record(path, _recorded(path), known or database.write(_made), events)


def _record(path: Path, last: dict[str, Any] | None, known: str, events: int) -> None:
    files = {"file": _inode(path.with_name(DATABASE)), "log": _inode(path.with_name(f"{DATABASE}-wal"))}
    now = {"id": known, "events": events, **files}
    if last == now:
        return
    with contextlib.suppress(OSError):  # a full or read-only disk: the record of before still names the database
        replace_file(path, json.dumps(now).encode())


def _recorded(path: Path) -> dict[str, Any] | None:
    try:
        read = json.loads(read_file(path))
        files = {name: int(read[name]) for name in ("file", "log") if name in read}
        return {"id": str(read["id"]), "events": int(read["events"]), **files}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise Damaged(f"{path.name} cannot be read", hint=f"If the database is yours, delete .lithos/{FILE}.") from None


def _found(tx: Tx) -> tuple[str | None, int]:
    return _id(tx), _events(tx)


def _id(tx: Tx) -> str | None:
    row = tx.one("SELECT value FROM meta WHERE name = ?", _NAME)
    return None if row is None else str(row["value"])


def _made(tx: Tx) -> str:
    tx.run("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", _NAME, secrets.token_hex(8))
    return str(_id(tx))


def _events(tx: Tx) -> int:
    row = tx.one("SELECT coalesce(max(sequence), 0) AS last FROM events")
    return int(row["last"]) if row else 0
