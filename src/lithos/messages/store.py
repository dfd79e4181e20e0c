"""Rows of messages, and the steps of their transactions; none of them commits.

Every change runs under the lock of the journal, so that counts and turns are never changed by two at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from lithos.core.clock import micros
from lithos.core.fair_turns import Contender
from lithos.errors import NotFound
from lithos.messages.model import OPEN, DeadReason, Message, MessageStatus
from lithos.messages.rules import BreakerState, LaneRow
from lithos.messages.topics import agent_topic
from lithos.storage import LEASE_COLUMNS, Deferred, Journal, JournalHead, Lease, Moment, NewEntry, Row, Tx

JOURNAL = Journal("messages")
SESSIONS_CURSOR = "sessions"
INBOX = "inbox "  # before the name of its owner: the subject under which takers wait
PUBLIC_TOPIC = "topic"  # subject of journal entries that no inbox waits for
UNKNOWN = "lithos_inbox_list shows your messages."
_COLUMNS = (
    *("id", "seq", "correlation_id", "parent_id", "session_id", "source", "bound", "person", "target", "topic"),
    *("type", "payload", "bytes", "sent_at", "deadline", "ttl", "ends_at", "paused_at", "status", "attempt"),
    *(
        "max_attempts",
        "priority",
        "lane",
        "metadata",
        "error",
        "processed_at",
        "ready",
        "due_at",
        "depth",
        "pipeline_id",
    ),
)
_INSERT = f"INSERT INTO messages ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_COUNT = """
INSERT INTO message_lanes (target, lane, session_id, waiting, ready) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (target, lane, session_id) DO UPDATE SET
    waiting = message_lanes.waiting + excluded.waiting, ready = message_lanes.ready + excluded.ready
"""
_LANES = """
SELECT lanes.*, sessions.state, sessions.closed_at, sessions.config FROM message_lanes AS lanes
LEFT JOIN sessions ON sessions.id = lanes.session_id WHERE lanes.target = ? AND lanes.ready > 0
"""


def inbox(name: str) -> str:
    return INBOX + name


def insert(tx: Tx, values: Row) -> None:
    tx.put(_INSERT, *(values.get(name) for name in _COLUMNS))
    if values["status"] == "queued":
        count(tx, values, waiting=1, ready=values["ready"])


def count(tx: Tx, row: Row, *, waiting: int = 0, ready: int = 0) -> None:
    tx.put(_COUNT, row["target"], row["lane"], row["session_id"], waiting, ready)


def ask(tx: Tx, message_id: str) -> Deferred:
    return tx.ask("SELECT * FROM messages WHERE id = ?", message_id)


def found(asked: Deferred, message_id: str) -> Message:
    row = asked.one()
    if row is None:
        raise unknown(message_id)
    return Message(row)


def unknown(message_id: str) -> NotFound:
    """Also for what the caller may not see: that a message exists is part of what is private."""
    return NotFound(f"there is no message {message_id[:80]!r}", hint=UNKNOWN)


def announce(tx: Tx, head: JournalHead, what: str, row: Row, *, agent: str = "") -> int:
    """An entry for takers of the inbox, and for followers of the agent's topic."""
    topic = row["topic"] or agent_topic(row["target"], "responses" if what == "replied" else "requests")
    details: dict[str, Any] = {"topic": topic, "message_id": row["id"]}
    if row["session_id"]:
        details["session_id"] = row["session_id"]
    subject = inbox(row["target"]) if row["target"] else PUBLIC_TOPIC
    return JOURNAL.append(tx, head, NewEntry(what, subject, agent or row["source"], details))


def advanced(head: JournalHead, seq: int) -> JournalHead:
    """The head after an append of this transaction."""
    return JournalHead(seq, head.now, head.last_era, head.last_steady)


# -- turns


def lanes_of(rows: Sequence[Row]) -> list[LaneRow]:
    """Of sessions that are active; one that is suspended hands out nothing."""
    return [
        LaneRow(row["lane"], row["session_id"], row["ready"], _contender(row))
        for row in rows
        if not row["session_id"] or (row["state"] == "active" and row["closed_at"] is None)
    ]


def ask_lanes(tx: Tx, target: str) -> Deferred:
    return tx.ask(_LANES, target)


def _contender(row: Row) -> Contender[tuple[int, str]]:
    weight = orjson.loads(row["config"]).get("message_weight", 1) if row["config"] else 1
    return Contender((row["lane"], row["session_id"]), row["served"], row["credit"], weight)


def save_turn(tx: Tx, target: str, turn: Contender[tuple[int, str]]) -> None:
    sql = "UPDATE message_lanes SET served = ?, credit = ? WHERE target = ? AND lane = ? AND session_id = ?"
    tx.put(sql, turn.served, turn.credit, target, *turn.key)


def first_ready(tx: Tx, target: str, lane: int, session_id: str, types: Sequence[str] = ()) -> Row | None:
    chosen = f" AND type IN ({', '.join('?' * len(types))})" if types else ""
    sql = f"SELECT * FROM messages WHERE target = ? AND lane = ? AND session_id = ? AND ready = 1{chosen}"
    return tx.one(f"{sql} ORDER BY seq LIMIT 1", target, lane, session_id, *types)


def save_agent(tx: Tx, name: str, state: BreakerState, **more: int) -> None:
    values: dict[str, Any] = {
        "breaker": state.breaker,
        "failures": state.failures,
        "opened_era": state.era,
        "opened_steady": state.steady,
        "probes": state.probes,
        "successes": state.successes,
        **more,
    }
    names = ", ".join(values)
    changes = ", ".join(f"{each} = excluded.{each}" for each in values)
    tx.put(
        f"INSERT INTO message_agents (name, {names}) VALUES (?, {', '.join('?' * len(values))})"
        f" ON CONFLICT (name) DO UPDATE SET {changes}",
        *(name, *values.values()),
    )


def ask_agent(tx: Tx, name: str) -> Deferred:
    return tx.ask("SELECT * FROM message_agents WHERE name = ?", name)


# -- leases


def insert_lease(tx: Tx, token: int, message_id: str, taker: str, host: str | None, lease: Lease) -> None:
    columns = ("id", "message_id", "taker", "host", *LEASE_COLUMNS)
    tx.put(
        f"INSERT INTO message_leases ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
        *(token, message_id, taker, host, *lease.values()),
    )


def ask_lease(tx: Tx, message_id: str) -> Deferred:
    return tx.ask("SELECT * FROM message_leases WHERE message_id = ?", message_id)


def drop_lease(tx: Tx, message_id: str) -> None:
    tx.put("DELETE FROM message_leases WHERE message_id = ?", message_id)


# -- ends


def settle(tx: Tx, head: JournalHead, message: Message, status: MessageStatus, error: str | None = None) -> JournalHead:
    """The message is done with: its lease ends, and the next of its correlation may be handed out."""
    row, at = message.row, micros(head.now.wall)
    tx.put(
        "UPDATE messages SET status = ?, error = ?, processed_at = ?, ready = 0, due_at = 0, ends_at = NULL"
        " WHERE id = ?",
        *(status, error, at, row["id"]),
    )
    if row["status"] == "queued":
        count(tx, row, waiting=-1, ready=-row["ready"])
    drop_lease(tx, row["id"])
    return _release_next(tx, head, row)


def _release_next(tx: Tx, head: JournalHead, row: Row) -> JournalHead:
    if not row["target"]:
        return head
    follower = tx.one(
        "SELECT * FROM messages WHERE target = ? AND correlation_id = ? AND status IN ('queued', 'processing')"
        " AND id <> ? ORDER BY seq LIMIT 1",
        *(row["target"], row["correlation_id"], row["id"]),
    )
    if follower is None or follower["status"] != "queued" or follower["ready"] or follower["due_at"]:
        return head
    return make_ready(tx, head, follower)


def make_ready(tx: Tx, head: JournalHead, row: Row) -> JournalHead:
    tx.put("UPDATE messages SET ready = 1, due_at = 0 WHERE id = ?", row["id"])
    count(tx, row, ready=1)
    return advanced(head, announce(tx, head, "ready", row))


def is_blocked(tx: Tx, row: Row) -> bool:
    """Whether an earlier message of its correlation to the same receiver is not settled yet."""
    sql = (
        "SELECT 1 AS yes FROM messages WHERE target = ? AND correlation_id = ? AND seq < ? AND status IN (?, ?) LIMIT 1"
    )
    return tx.one(sql, row["target"], row["correlation_id"], row["seq"], *OPEN) is not None


def requeue(tx: Tx, message: Message, due: int, error: str | None) -> None:
    """Back into its queue, to be handed out again when it is due. It stays ahead of its correlation."""
    row = message.row
    tx.put(
        "UPDATE messages SET status = 'queued', ready = 0, due_at = ?, error = ? WHERE id = ?", due, error, row["id"]
    )
    count(tx, row, waiting=1)
    drop_lease(tx, row["id"])


def bury(
    tx: Tx, head: JournalHead, message: Message, reason: DeadReason, error: str | None, status: MessageStatus = "failed"
) -> JournalHead:
    """Make it a dead letter: settled without success, kept for a person."""
    at = micros(head.now.wall)
    tx.put(
        "INSERT INTO message_dead_letters (message_id, reason, error, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (message_id) DO UPDATE SET reason = excluded.reason, error = excluded.error, at = excluded.at",
        *(message.id, reason, error, at),
    )
    head = settle(tx, head, message, status, error or reason)
    row = message.row
    details = {
        "topic": agent_topic(row["target"] or row["source"], "errors"),
        "message_id": message.id,
        "reason": reason,
    }
    if row["session_id"]:
        details["session_id"] = row["session_id"]
    seq = JOURNAL.append(tx, head, NewEntry("dead", PUBLIC_TOPIC, row["source"], details))
    return advanced(head, seq)


def mark_poison(tx: Tx, row: Row) -> None:
    metadata = {**(orjson.loads(row["metadata"]) if row["metadata"] else {}), "poison": True}
    tx.put("UPDATE messages SET metadata = ? WHERE id = ?", orjson.dumps(metadata).decode(), row["id"])


def hop(tx: Tx, row: Row, what: str, now: Moment, since: int, payload: str | None = None) -> None:
    at = micros(now.wall)
    tx.put(
        "INSERT INTO message_hops (message_id, correlation_id, source, target, what, at, ms, payload)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        *(row["id"], row["correlation_id"], row["source"], row["target"] or row["topic"], what, at),
        *(max(0, at - since) // 1000, payload),
    )
