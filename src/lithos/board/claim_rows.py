"""The table of claims: one row per (task, aspect), whose id is the fencing token."""

from __future__ import annotations

from collections.abc import Sequence

from lithos.board.changes import JOURNAL
from lithos.board.values import Claim
from lithos.core.clock import micros
from lithos.storage import ALIVE_SQL, LEASE_COLUMNS, Deferred, Lease, Moment, Row, Tx, carry_over, lease_of, prolong

TABLE = "claims"


def ask(tx: Tx, task_id: str, aspect: str) -> Deferred:
    """The row of the aspect; its lease may have ended."""
    return tx.ask("SELECT * FROM claims WHERE task_id = ? AND aspect = ?", task_id, aspect)


def claims_in(asked: Deferred) -> list[Claim]:
    return [_claim(row) for row in asked.all()]


def ask_all(tx: Tx, task_id: str) -> Deferred:
    return tx.ask("SELECT * FROM claims WHERE task_id = ? ORDER BY id", task_id)


def claim_of_token(tx: Tx, token: int) -> Claim | None:
    """The claim on the aspect of this token: the token's own, or the one that overtook it.

    The journal knows the aspect of a token that was overtaken; of one older than the journal nothing is known.
    """
    own, given = tx.ask("SELECT * FROM claims WHERE id = ?", token), JOURNAL.entry(tx, token)
    found = claims_in(own)
    if not found and given is not None and given.kind == "claimed":
        found = claims_in(ask(tx, given.subject, given.details["aspect"]))
    return found[0] if found else None


def was_given(tx: Tx, token: int) -> bool:
    """Whether a claim may have had this token. The journal numbers claims among all changes, and forgets old ones."""
    entry = JOURNAL.entry(tx, token)
    return 0 < token <= JOURNAL.since(tx, None).cursor if entry is None else entry.kind == "claimed"


def take(tx: Tx, claim: Claim, now: Moment) -> None:
    """Give the aspect to this claim, in place of one that has ended."""
    drop(tx, claim.task_id, claim.aspect)
    tx.put(
        f"INSERT INTO claims (id, task_id, agent, aspect, session_id, began, claimed_at, {', '.join(LEASE_COLUMNS)})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(claim.token, claim.task_id, claim.agent, claim.aspect, claim.session_id, now.steady, micros(now.wall)),
        *claim.lease.values(),
    )


def renew(tx: Tx, token: int, lease: Lease) -> None:
    prolong(tx, TABLE, token, lease)


def drop(tx: Tx, task_id: str, aspect: str) -> None:
    tx.put("DELETE FROM claims WHERE task_id = ? AND aspect = ?", task_id, aspect)


def drop_all(tx: Tx, task_id: str) -> None:
    tx.put("DELETE FROM claims WHERE task_id = ?", task_id)


def live_claims(tx: Tx, task_ids: Sequence[str], now: Moment) -> dict[str, list[Claim]]:
    """Task → the claims on it that hold now."""
    if not task_ids:
        return {}
    marks = ", ".join("?" * len(task_ids))
    rows = tx.all(
        f"SELECT * FROM claims WHERE task_id IN ({marks}) AND {ALIVE_SQL} ORDER BY id",
        *(*task_ids, now.era, now.steady),
    )
    found: dict[str, list[Claim]] = {}
    for row in rows:
        found.setdefault(row["task_id"], []).append(_claim(row))
    return found


def of_session(tx: Tx, session_id: str, now: Moment) -> list[Claim]:
    """Live claims that were made in a session."""
    rows = tx.all(
        f"SELECT * FROM claims WHERE session_id = ? AND {ALIVE_SQL} ORDER BY id", session_id, now.era, now.steady
    )
    return [_claim(row) for row in rows]


def count_live(tx: Tx, now: Moment) -> int:
    row = tx.one(f"SELECT count(*) AS n FROM claims WHERE {ALIVE_SQL}", now.era, now.steady)
    return int(row["n"]) if row else 0


def carry_over_claims(tx: Tx, grace: float) -> None:
    """After a reboot: give the leases of the earlier boot their grace."""
    head = JOURNAL.lock(tx)()
    carry_over(tx, TABLE, head.last_era, head.last_steady, head.now, grace)
    JOURNAL.record_clock(tx, head)


def _claim(row: Row) -> Claim:
    return Claim(row["id"], row["task_id"], row["aspect"], row["agent"], lease_of(row), row["session_id"], row["began"])
