"""Claims in the table: one row per (task, aspect), whose id is the fencing token."""

from __future__ import annotations

from collections.abc import Sequence

from lithos.board.leases import ALIVE_SQL, Lease, carried_over
from lithos.board.values import Claim
from lithos.core.clock import from_micros, micros
from lithos.storage import Asked, Moment, Row, Tx


def ask(tx: Tx, task_id: str, aspect: str) -> Asked:
    """Whatever row the aspect has; its lease may have ended."""
    return tx.ask("SELECT * FROM claims WHERE task_id = ? AND aspect = ?", task_id, aspect)


def told(asked: Asked) -> list[Claim]:
    return [_claim(row) for row in asked.all()]


def ask_all(tx: Tx, task_id: str) -> Asked:
    return tx.ask("SELECT * FROM claims WHERE task_id = ? ORDER BY id", task_id)


def claim_of_token(tx: Tx, token: int) -> Claim | None:
    """The claim on the aspect that the token was given for: the token's own, or the one that overtook it.

    The journal knows the aspect of a token that was overtaken; of one older than the journal nothing is left to name.
    """
    own = tx.ask("SELECT * FROM claims WHERE id = ?", token)
    given = tx.one("SELECT task_id, aspect FROM board_changes WHERE seq = ? AND kind = 'claimed'", token)
    found = told(own) or (told(ask(tx, given["task_id"], given["aspect"])) if given else [])
    return found[0] if found else None


def take(tx: Tx, claim: Claim, now: Moment) -> None:
    """The aspect is this claim's from now on; an ended one gives way."""
    drop(tx, claim.task_id, claim.aspect)
    lease = (micros(claim.lease.expires_at), claim.lease.era, claim.lease.until)
    tx.put(
        "INSERT INTO claims (id, task_id, agent, aspect, claimed_at, expires_at, era, until, grace)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
        *(claim.token, claim.task_id, claim.agent, claim.aspect, micros(now.wall), *lease),
    )


def prolong(tx: Tx, token: int, lease: Lease) -> None:
    tx.put(
        "UPDATE claims SET expires_at = ?, era = ?, until = ?, grace = ? WHERE id = ?",
        *(micros(lease.expires_at), lease.era, lease.until, int(lease.grace), token),
    )


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


def count_live(tx: Tx, now: Moment) -> int:
    row = tx.one(f"SELECT count(*) AS n FROM claims WHERE {ALIVE_SQL}", now.era, now.steady)
    return int(row["n"]) if row else 0


def carry_over_claims(tx: Tx, now: Moment, grace: float) -> int:
    """Give the leases of an earlier boot their grace; how many live on. Nothing to do within one boot."""
    state = tx.one("SELECT era, steady FROM board_state")
    if state is None or state["era"] == now.era:
        return 0
    lived = 0
    for row in tx.all("SELECT * FROM claims WHERE era = ?", state["era"]):
        lease = carried_over(_claim(row).lease, state["steady"], now, grace)
        if lease:
            prolong(tx, row["id"], lease)
            lived += 1
    tx.put("UPDATE board_state SET era = ?, steady = ?", now.era, now.steady)
    return lived


def _claim(row: Row) -> Claim:
    lease = Lease(row["era"], row["until"], from_micros(row["expires_at"]), bool(row["grace"]))
    return Claim(row["id"], row["task_id"], row["aspect"], row["agent"], lease)
