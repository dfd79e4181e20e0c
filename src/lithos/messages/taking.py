"""Taking and settling: one taker per message, by a lease with a fencing token."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lithos.core.clock import from_micros, micros, rfc3339
from lithos.core.fair_turns import after_turn
from lithos.messages import store
from lithos.messages.model import (
    CRITICAL,
    FENCE,
    LONGEST_ERROR,
    SHOWN_PAYLOAD,
    DeadReason,
    Message,
    MessageStatus,
    TakenMessage,
)
from lithos.messages.rules import POISON_DEATHS, MessageLimits, breaker_of, next_lane, refused
from lithos.messages.sending import registered
from lithos.storage import Answer, JournalHead, Lease, Outcome, Row, Tx, lease_from, lease_of, prolong

LEASE_SECONDS = 600.0
MOST_TAKEN = 32
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
    closed: frozenset[str] = frozenset()  # sessions whose messages the caller may not have


def take(tx: Tx, request: TakeRequest, limits: MessageLimits) -> Answer:
    """Hand out what is ready, by lane and turn. Costs the same whether ten or 100,000 wait."""
    locked = store.JOURNAL.lock(tx)
    known, asked = store.ask_agent(tx, request.inbox), store.ask_lanes(tx, request.inbox)
    total = tx.ask("SELECT coalesce(sum(waiting), 0) AS n FROM message_lanes WHERE target = ?", request.inbox)
    head, agent = locked(), known.one()
    lanes = {(each.lane, each.session_id): each for each in store.lanes_of(asked.all())}
    lanes = {key: each for key, each in lanes.items() if each.session_id not in request.closed}
    if request.session_id is not None:
        lanes = {key: each for key, each in lanes.items() if each.session_id == request.session_id}
    state = breaker_of(agent).at(head.now)
    picks = first_pick = agent["picks"] if agent else 0
    if agent is None:
        head = registered(tx, head, request.inbox)
    allowed, taken, room = state.allows, list[TakenMessage](), SHOWN_PAYLOAD
    while len(taken) < request.limit:
        open_lanes = [each for each in lanes.values() if allowed is None or allowed > 0 or each.lane == CRITICAL]
        lane = next_lane(open_lanes, picks)
        if lane is None:
            break
        key = lane.contender.key
        row = store.first_ready(tx, request.inbox, lane.lane, lane.session_id, request.types)
        if row is None:  # none of the wanted types
            del lanes[key]
            continue
        if row["ends_at"] is not None and row["ends_at"] <= micros(head.now.wall):
            del lanes[key]  # the timer is about to expire it
            continue
        lanes[key] = replace(lane, ready=lane.ready - 1)
        picks += 1
        turn = after_turn(lane.contender, picks)
        lanes[key] = replace(lanes[key], contender=turn)
        store.save_turn(tx, request.inbox, turn)
        shown, head = _hand_out(tx, head, row, request, room)
        room -= min(room, row["bytes"])
        taken.append(shown)
        if lane.lane != CRITICAL and allowed is not None:
            allowed -= 1
    probes = 0 if state.allows is None or allowed is None else state.allows - allowed
    if picks != first_pick or agent is None:
        store.save_agent(tx, request.inbox, state.taken(probes), picks=picks)
    waiting = total.one()
    answer: Answer = {"success": True, "messages": taken}
    answer["waiting"] = max(0, (int(waiting["n"]) if waiting else 0) - len(taken))
    return answer | ({"fence": FENCE} if taken else {})


def _hand_out(tx: Tx, head: JournalHead, row: Row, request: TakeRequest, room: int) -> tuple[TakenMessage, JournalHead]:
    lease = lease_from(head.now, request.lease_seconds)
    token = store.announce(tx, head, "taken", row, agent=request.inbox)
    tx.put("UPDATE messages SET status = 'processing', ready = 0, attempt = attempt + 1 WHERE id = ?", row["id"])
    store.count(tx, row, waiting=-1, ready=-1)
    store.insert_lease(tx, token, row["id"], request.inbox, request.host, lease)
    store.hop(tx, row, "taken", head.now, row["sent_at"])
    handed = Message({**row, "status": "processing", "attempt": row["attempt"] + 1})
    shown: TakenMessage = {
        "message": handed.envelope(budget=room),
        "token": token,
        "expires_at": rfc3339(lease.expires_at),
    }
    return shown, store.advanced(head, token)


@dataclass(frozen=True, slots=True)
class Held:
    """A message whose lease the caller proved."""

    head: JournalHead
    message: Message
    lease: Lease
    token: int


@dataclass(frozen=True, slots=True)
class Settlement:
    """A caller's word on a message that it took."""

    message_id: str
    token: int
    allow: Callable[[Message], None] = lambda message: None  # raises where the message is not the caller's


def holding(tx: Tx, settlement: Settlement) -> Held | Outcome:
    """The one check of every settlement: the token is of the newest lease, and that is alive."""
    message_id, token = settlement.message_id, settlement.token
    locked = store.JOURNAL.lock(tx)
    asked, lease = store.ask(tx, message_id), store.ask_lease(tx, message_id)
    head, message, row = locked(), store.found(asked, message_id), lease.one()
    settlement.allow(message)
    if not message.is_open:
        return refused("settled", _SETTLED, message_id=message_id, status=message.row["status"])
    if row is None or row["id"] != token or not lease_of(row).alive(head.now):
        return refused("claim_lost", _LOST, message_id=message_id)
    return Held(head, message, lease_of(row), token)


def renew(tx: Tx, settlement: Settlement, seconds: float) -> Outcome:
    held = holding(tx, settlement)
    if isinstance(held, Outcome):
        return held
    lease = lease_from(held.head.now, seconds)
    prolong(tx, "message_leases", held.token, lease)
    return Outcome({"success": True, "message_id": held.message.id, "expires_at": rfc3339(lease.expires_at)})


def complete(tx: Tx, settlement: Settlement, then: Callable[[Tx, Held], dict[str, Any]] | None = None) -> Outcome:
    """Acknowledge; `then` sends a reply in the same transaction."""
    held = holding(tx, settlement)
    if isinstance(held, Outcome):
        return held
    head = store.settle(tx, held.head, held.message, "completed")
    _record(tx, held, success=True)
    answer: Answer = {"success": True, "message_id": held.message.id, "status": "completed"}
    if then is not None:
        answer |= then(tx, replace(held, head=head))
    return Outcome(answer)


def fail(tx: Tx, settlement: Settlement, error: str, limits: MessageLimits, *, retry: bool) -> Outcome:
    held = holding(tx, settlement)
    if isinstance(held, Outcome):
        return held
    _record(tx, held, success=False)
    error = error[:LONGEST_ERROR]
    _, due = give_back(tx, held.head, held.message, limits, None if retry else "rejected", error)
    answer: Answer = {"success": True, "message_id": held.message.id, "status": "queued" if due else "failed"}
    if due:
        answer["retry_at"] = rfc3339(due)
    return Outcome(answer)


def give_back(
    tx: Tx, head: JournalHead, message: Message, limits: MessageLimits, dead: DeadReason | None, error: str | None
) -> tuple[JournalHead, datetime | None]:
    """Queue it for another attempt, and say when that is due; or bury it: `dead` says so, or no attempt is left."""
    row = message.row
    ended = row["ends_at"] is not None and row["ends_at"] <= micros(head.now.wall)
    if dead is None and row["attempt"] >= row["max_attempts"]:
        dead = "retry_exhausted"
    if dead is None and ended:
        dead = "timeout"
    if dead is not None:
        status: MessageStatus = "expired" if dead == "timeout" else "failed"
        return store.bury(tx, head, message, dead, error, status), None
    delay = limits.retry(row["target"]).delay_ms(row["attempt"], random.random())
    due = micros(head.now.wall) + int(delay * 1000)
    store.requeue(tx, message, due, error)
    return head, from_micros(due)


def _record(tx: Tx, held: Held, *, success: bool) -> None:
    """The breaker of the receiver learns of it; a lease that was kept ends the count of those that were not."""
    name = held.message.row["target"]
    state = breaker_of(store.ask_agent(tx, name).one()).after(held.head.now, success=success)
    store.save_agent(tx, name, state, ended_leases=0)


def lease_ended(tx: Tx, head: JournalHead, lease: Row, limits: MessageLimits, *, died: bool = False) -> JournalHead:
    """A lease ran out, or the host of its taker died: an attempt was made, and the message comes back."""
    row = store.ask(tx, lease["message_id"]).one()
    if row is None:
        store.drop_lease(tx, lease["message_id"])
        return head
    message, target = Message(row), row["target"]
    agent = store.ask_agent(tx, target).one()
    state = breaker_of(agent).after(head.now, success=False)
    store.save_agent(tx, target, state, ended_leases=(agent["ended_leases"] if agent else 0) + 1)
    store.hop(tx, row, "host_died" if died else "lease_ended", head.now, row["sent_at"])
    dead: DeadReason | None = None
    error = "its taker's host died" if died else "its lease ended"
    if died:
        tx.put("UPDATE messages SET deaths = deaths + 1 WHERE id = ?", message.id)
        if row["deaths"] + 1 >= POISON_DEATHS:
            dead, error = "processing_error", "it ended the process that worked on it, twice"
            store.mark_poison(tx, row)
    return give_back(tx, head, message, limits, dead, error)[0]
