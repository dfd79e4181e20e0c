"""Taking and settling: one taker per message, by a lease with a fencing token."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from lithos.core.clock import from_micros, micros, rfc3339
from lithos.core.fair_turns import after_turn
from lithos.messages import store
from lithos.messages.model import (
    CRITICAL,
    FENCE,
    LONGEST_ERROR,
    DeadReason,
    Message,
    Room,
    TakenMessage,
)
from lithos.messages.rules.breaker import breaker_of
from lithos.messages.rules.lanes import next_lane
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.rules.refusals import refused
from lithos.messages.rules.retries import POISON_DEATHS
from lithos.storage import Answer, Lease, Outcome, Row, Tx, lease_from, lease_of, prolong

LEASE_SECONDS = 600.0
MOST_TAKEN = 32
MOST_LATE_REPLIES = 8  # of one message
_LOST = "The lease has ended, or another holds the message. Take again; it may come back to you."
_SETTLED = "It is settled already: nothing is left to do."


@dataclass(frozen=True, slots=True)
class TakeRequest:
    inbox: str
    limit: int = 1
    lease_seconds: float = LEASE_SECONDS
    types: Sequence[str] = ()
    session_id: str | None = None
    host: str | None = None  # a worker of ours takes


def take(tx: Tx, request: TakeRequest, closed_sessions: Callable[[], frozenset[str]]) -> Answer:
    """Hand out what is ready, by lane and turn, as much as one answer holds. Costs the same for ten and for 100,000.

    `closed_sessions`: those whose messages the caller may not have, asked where something of a session waits.
    """
    change = store.Change(tx)
    rows = store.ask_lanes(tx, request.inbox).all()
    first = rows[0]
    agent = first if first["name"] is not None else None
    if any(row["session_id"] for row in rows):
        closed = closed_sessions()
        rows = [row for row in rows if row["session_id"] not in closed]
    if request.session_id is not None:
        rows = [row for row in rows if row["session_id"] == request.session_id]
    waiting = sum(row["waiting"] or 0 for row in rows)
    lanes = {each.contender.key: each for each in store.lanes_of(rows)}
    state = breaker_of(agent).at(change.now)
    allowed, picks, taken, room = state.allows, first["picks"] or 0, list[TakenMessage](), Room()
    while True:
        open_lanes = [each for each in lanes.values() if allowed is None or allowed > 0 or each.lane == CRITICAL]
        lane = next_lane(open_lanes, picks)
        if lane is None:
            break
        key = lane.contender.key
        lease = lease_from(change.now, request.lease_seconds)
        row = store.hand_out(change, request.inbox, lane, request.types, request.host, lease)
        if row is None:
            del lanes[key]
            continue
        picks += 1
        turn = after_turn(lane.contender, picks)
        store.save_turn(tx, request.inbox, turn, picks)
        taken.append(_shown(row, lease, room.payload))
        if lane.lane != CRITICAL and allowed is not None:
            allowed -= 1
        if len(taken) == request.limit or not room.spend(taken[-1]):
            break
        lanes[key] = replace(lane, ready=lane.ready - 1, contender=turn)
    if taken:
        tx.notify(store.HANDLED_CHANNEL)
        change.due_in(request.lease_seconds)
    probes = 0 if state.allows is None or allowed is None else state.allows - allowed
    store.save_agent(tx, request.inbox, agent, state.taken(probes), ended_leases=agent["ended_leases"] if agent else 0)
    answer: Answer = {"success": True, "messages": taken, "waiting": max(0, waiting - len(taken))}
    return answer | ({"fence": FENCE} if taken else {})


def number_of(token: int) -> int:
    """The number of the message that a token is for."""
    return token // store.MOST_ATTEMPTS


def _shown(row: Row, lease: Lease, budget: int) -> TakenMessage:
    return {
        "message": Message(row).envelope(budget=budget),
        "token": store.token_of(row),
        "expires_at": rfc3339(lease.expires_at),
    }


@dataclass(frozen=True, slots=True)
class Held:
    """A message whose lease the caller proved."""

    change: store.Change
    message: Message


@dataclass(frozen=True, slots=True)
class Settlement:
    """A caller's word on a message that it took."""

    message_id: str
    token: int
    allow: Callable[[Tx, Message], None] = lambda tx, message: None  # raises where the message is not the caller's


def holding(tx: Tx, settlement: Settlement) -> Held | Outcome:
    """The one check of every settlement: the token is of the newest lease, and that is alive."""
    message_id = settlement.message_id
    change = store.Change(tx)
    message = store.found(store.ask_held(tx, message_id), message_id)
    row = message.row
    settlement.allow(tx, message)
    if not message.is_open:
        return refused("settled", _SETTLED, message_id=message_id, status=row["status"])
    if row["status"] != "processing" or store.token_of(row) != settlement.token:
        return refused("claim_lost", _LOST, message_id=message_id)
    if not lease_of(row).alive(change.now):
        return refused("claim_lost", _LOST, message_id=message_id)
    return Held(change, message)


def renew(tx: Tx, settlement: Settlement, seconds: float) -> Outcome:
    held = holding(tx, settlement)
    if isinstance(held, Outcome):
        return held
    lease = lease_from(held.change.now, seconds)
    prolong(tx, "messages", held.message.id, lease)
    held.change.due_in(seconds)
    return Outcome({"success": True, "message_id": held.message.id, "expires_at": rfc3339(lease.expires_at)})


def complete(tx: Tx, settlement: Settlement, then: Callable[[Tx, Held], dict[str, Any]] | None = None) -> Outcome:
    """Acknowledge; `then` sends a reply in the same transaction."""
    held = holding(tx, settlement)
    if isinstance(held, Outcome):
        return held
    store.settle(held.change, held.message, "completed")
    _record(held, success=True)
    answer: Answer = {"success": True, "message_id": held.message.id, "status": "completed"}
    if then is not None:
        answer |= then(tx, held)
    return Outcome(answer)


def keep_late_reply(tx: Tx, message_id: str, token: int, payload: Mapping[str, Any]) -> None:
    """Keep in the trace what was answered after the lease ended; of one that took the message, and not without end."""
    row = store.ask(tx, message_id).one()
    if row is None or number_of(token) != row["seq"] or not 1 <= token % store.MOST_ATTEMPTS <= row["attempt"]:
        return
    kept = tx.one("SELECT count(*) AS n FROM message_hops WHERE message_id = ? AND what = 'late_reply'", message_id)
    if kept is not None and kept["n"] < MOST_LATE_REPLIES:
        text = orjson.dumps(payload).decode()[:LONGEST_ERROR]
        store.hop(tx, row, "late_reply", micros(tx.now().wall), text)


def fail(tx: Tx, settlement: Settlement, error: str, limits: MessageLimits, *, retry: bool) -> Outcome:
    held = holding(tx, settlement)
    if isinstance(held, Outcome):
        return held
    _record(held, success=False)
    error = error[:LONGEST_ERROR]
    due = give_back(held.change, held.message, limits, None if retry else "rejected", error)
    answer: Answer = {"success": True, "message_id": held.message.id, "status": "queued" if due else "failed"}
    if due:
        answer["retry_at"] = rfc3339(due)
    return Outcome(answer, tuple(held.change.events))


def give_back(
    change: store.Change, message: Message, limits: MessageLimits, dead: DeadReason | None, error: str | None
) -> datetime | None:
    """Queue it for another attempt, and say when that is due; or bury it: `dead` says so, or no attempt is left."""
    row = message.row
    if dead is None and row["attempt"] >= row["max_attempts"]:
        dead = "retry_exhausted"
    if dead is None and row["ends_at"] is not None and row["ends_at"] <= change.wall:
        dead = "timeout"
    if dead is not None:
        store.bury(change, message, dead, error, "expired" if dead == "timeout" else "failed")
        return None
    delay = limits.retry(row["target"]).delay_ms(row["attempt"], random.random())
    return from_micros(store.requeue(change, message, delay / 1000, error))


def _record(held: Held, *, success: bool) -> None:
    """The breaker of the receiver learns of it; a lease that was kept ends the count of those that were not."""
    row = held.message.row
    state = breaker_of(row).after(held.change.now, success=success)
    store.save_agent(held.change.tx, row["target"], row, state, ended_leases=0)


def lease_ended(change: store.Change, message_id: str, limits: MessageLimits, *, died: bool = False) -> None:
    """A lease ran out, or the host of its taker died: an attempt was made, and the message comes back."""
    row, tx = store.ask_held(change.tx, message_id).one(), change.tx
    if row is None or row["status"] != "processing":
        return
    state = breaker_of(row).after(change.now, success=False)
    store.save_agent(tx, row["target"], row, state, ended_leases=(row["ended_leases"] or 0) + 1)
    store.hop(tx, row, "host_died" if died else "lease_ended", change.wall)
    dead: DeadReason | None = None
    error = "its taker's host died" if died else "its lease ended"
    if died:
        tx.put("UPDATE messages SET deaths = deaths + 1 WHERE seq = ?", row["seq"])
        if row["deaths"] + 1 >= POISON_DEATHS:
            dead, error = "processing_error", "it ended the process that worked on it, twice"
            store.mark_poison(tx, row)
    give_back(change, Message(row), limits, dead, error)
