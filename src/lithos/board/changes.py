"""The board's one counter, and the journal of what changed: a change's number is the cursor that a waiter holds."""

from __future__ import annotations

from typing import Literal

from lithos.board.answers import Changes, ChangeShown
from lithos.board.values import Sight
from lithos.core.clock import from_micros, micros, rfc3339
from lithos.errors import Damaged
from lithos.storage import Asked, Row, Tx

Kind = Literal["created", "updated", "completed", "cancelled", "reopened", "claimed", "released", "finding"]

CHANNEL = "board"
# A waiter that was away for more than this is told to read the lists again; a row has ~150 bytes.
KEPT_CHANGES = 10_000
MOST_CHANGES = 200  # of one answer
_SWEEP_EVERY = 256


def record(tx: Tx, sight: Sight, kind: Kind, task_id: str, agent: str, *, aspect: str | None = None) -> int:
    """Number and keep one change, of which a work makes one. The number of a `claimed` is the claim's fencing token."""
    now, seq = sight.now, sight.counter + 1
    tx.put("UPDATE board_state SET counter = ?, era = ?, steady = ?", seq, now.era, now.steady)
    tx.put(
        "INSERT INTO board_changes (seq, kind, task_id, aspect, agent, at) VALUES (?, ?, ?, ?, ?, ?)",
        *(seq, kind, task_id, aspect, agent, micros(now.wall)),
    )
    if seq % _SWEEP_EVERY == 0:
        tx.put("DELETE FROM board_changes WHERE seq <= ?", seq - KEPT_CHANGES)
    tx.notify(CHANNEL)
    return seq


def ask_counter(tx: Tx) -> Asked:
    return tx.ask("SELECT counter FROM board_state")


def told(asked: Asked) -> int:
    row = asked.one()
    if row is None:
        raise Damaged("the board's counter is missing", hint="Restore coordination.db from a backup.")
    return int(row["counter"])


def look(tx: Tx, since: int | None, task_id: str | None = None) -> Changes:
    """What came after `since`, and where to go on from. `missed`: the journal no longer reaches back that far."""
    asked, first = ask_counter(tx), tx.ask("SELECT min(seq) AS seq FROM board_changes")
    after = _after(tx, since, task_id) if since is not None else None
    newest = told(asked)
    if since is None or after is None:
        return {"changes": [], "cursor": newest}
    if not _oldest(first, newest) - 1 <= since <= newest:
        return {"changes": [], "cursor": newest, "missed": True}
    rows = after.all()
    full = len(rows) == MOST_CHANGES
    return {"changes": [_shown(row) for row in rows], "cursor": rows[-1]["seq"] if full else newest}


def _after(tx: Tx, since: int, task_id: str | None) -> Asked:
    one = " AND task_id = ?" if task_id else ""
    values = (since, task_id) if task_id else (since,)
    return tx.ask(f"SELECT * FROM board_changes WHERE seq > ?{one} ORDER BY seq LIMIT {MOST_CHANGES}", *values)


def _oldest(asked: Asked, newest: int) -> int:
    """The first number that the journal still has; the counter's next one when it is empty."""
    row = asked.one()
    return int(row["seq"]) if row and row["seq"] is not None else newest + 1


def _shown(row: Row) -> ChangeShown:
    return {
        "seq": row["seq"],
        "kind": row["kind"],
        "task_id": row["task_id"],
        "aspect": row["aspect"],
        "agent": row["agent"],
        "at": rfc3339(from_micros(row["at"])),
    }
