"""Rows of messages, and the steps of their transactions; none of them commits.

Every change runs under the lock of the journal, so that counts and turns are never changed by two at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson

from lithos.core.clock import micros
from lithos.core.fair_turns import Contender
from lithos.errors import NotFound
from lithos.messages.model import OPEN, DeadReason, Message, MessageStatus
from lithos.messages.rules.breaker import BreakerState, breaker_of
from lithos.messages.rules.health import BEAT_SECONDS
from lithos.messages.rules.lanes import LaneRow
from lithos.messages.topics import agent_topic
from lithos.storage import Deferred, EventDraft, Journal, JournalHead, Lease, Moment, NewEntry, Row, Tx

JOURNAL = Journal("messages")
DUE_CHANNEL = "messages due"  # wakes the timers
HANDLED_CHANNEL = "messages handled"  # wakes open pages: something was taken, settled or given back
SESSIONS_CURSOR = "sessions"
INBOX = "inbox "  # before the name of its owner: the subject under which takers wait
PUBLIC_TOPIC = "topic"  # subject of journal entries that no inbox waits for
UNKNOWN = "lithos_inbox_list shows your messages."
MOST_ATTEMPTS = 1_000  # of one message, so that number and attempt together are its token
_INSERTED = (
    *("seq", "id", "correlation_id", "parent_id", "session_id", "source", "bound", "person", "target", "topic"),
    *("type", "bytes", "sent_at", "deadline", "ttl", "ends_at", "paused_at", "status", "max_attempts", "priority"),
    *("lane", "metadata", "processed_at", "ready", "due_at", "depth", "pipeline_id", "payload"),
)
_INSERT = f"INSERT INTO messages ({', '.join(_INSERTED)}) VALUES ({', '.join('?' * len(_INSERTED))})"
_COUNT = """
INSERT INTO message_lanes (target, lane, session_id, waiting, ready) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (target, lane, session_id) DO UPDATE SET
    waiting = message_lanes.waiting + excluded.waiting, ready = message_lanes.ready + excluded.ready
"""
# The receiver's breaker and its lanes in one question: a row without a lane when nothing waits.
_LANES = """
SELECT agents.name, agents.breaker, agents.failures, agents.opened_era, agents.opened_steady, agents.probes,
    agents.successes, agents.ended_leases, lanes.lane, lanes.session_id, lanes.waiting, lanes.ready, lanes.served,
    lanes.credit, sessions.state, sessions.closed_at, sessions.config,
    (SELECT max(picked) FROM message_lanes WHERE target = wanted.target) AS picks
FROM (SELECT ? AS target) AS wanted
LEFT JOIN message_agents AS agents ON agents.name = wanted.target
LEFT JOIN message_lanes AS lanes ON lanes.target = wanted.target AND lanes.waiting > 0
LEFT JOIN sessions ON sessions.id = lanes.session_id
"""
_HAND_OUT = """
UPDATE messages SET status = 'processing', ready = 0, attempt = attempt + 1, taken_at = ?, host = ?, expires_at = ?,
    era = ?, until = ?, grace = 0
WHERE seq = (
    SELECT seq FROM messages WHERE target = ? AND lane = ? AND session_id = ? AND ready = 1 ORDER BY seq LIMIT 1
) AND (ends_at IS NULL OR ends_at > ?) RETURNING *
"""
_HAND_OUT_OF = _HAND_OUT.replace("ready = 1 ORDER", "ready = 1 AND type IN ({}) ORDER")
# All that a settlement needs but the payload; `follower` is the next of its correlation.
_HELD = """
SELECT m.seq, m.id, m.correlation_id, m.session_id, m.source, m.target, m.topic, m.type, m.sent_at, m.ends_at,
    m.status, m.attempt, m.max_attempts, m.priority, m.lane, m.metadata, m.ready, m.depth, m.deaths, m.pipeline_id,
    m.taken_at, m.host, m.expires_at, m.era, m.until, m.grace, agents.breaker, agents.failures, agents.opened_era,
    agents.opened_steady, agents.probes, agents.successes, agents.ended_leases,
    (SELECT min(seq) FROM messages AS other WHERE other.correlation_id = m.correlation_id AND other.target = m.target
        AND other.seq > m.seq AND other.status IN ('queued', 'processing')) AS follower
FROM messages AS m LEFT JOIN message_agents AS agents ON agents.name = m.target WHERE m.id = ?
"""
_SETTLE = """
UPDATE messages SET status = ?, error = ?, processed_at = ?, ready = 0, due_at = 0, ends_at = NULL, host = NULL,
    expires_at = NULL, era = NULL, until = NULL WHERE seq = ?
"""


class Change:
    """One transaction under the journal's lock: its time, and the entries that it appends."""

    __slots__ = ("_head", "_locked", "_moment", "_now", "_wall", "events", "tx")

    def __init__(self, tx: Tx, *, announces: bool = False) -> None:
        """`announces`: it is going to append, so the journal's end is read with the other questions."""
        self.tx = tx
        self._head: JournalHead | None = None
        self._moment: Moment | None = None
        self._wall = 0
        self.events: list[EventDraft] = []  # of dead letters, for the outcome of the transaction
        self._locked = JOURNAL.lock(tx) if announces else None
        if self._locked is None:
            self._now = tx.lock_now(JOURNAL.channel)

    @property
    def head(self) -> JournalHead:
        if self._head is None:
            self._head = (self._locked or JOURNAL.lock(self.tx))()
        return self._head

    @property
    def now(self) -> Moment:
        if self._moment is None:
            self._moment = self._now() if self._locked is None else self.head.now
            self._wall = micros(self._moment.wall)
        return self._moment

    @property
    def wall(self) -> int:
        if self._moment is None:
            return micros(self.now.wall)
        return self._wall

    def due_in(self, seconds: float) -> None:
        """Wake the timers after the commit, where this is before their next regular look."""
        if seconds < BEAT_SECONDS:
            self.tx.notify(DUE_CHANNEL)

    def append(self, *entries: NewEntry) -> int:
        """The number of the last entry."""
        head = self.head
        seq = JOURNAL.append(self.tx, head, *entries)
        self._head = JournalHead(seq, head.now, head.last_era, head.last_steady)
        return seq


def entry_of(what: str, row: Row, replies: bool = False) -> NewEntry:
    """For takers of the inbox, and for followers of the topic: requests to an agent, responses of one."""
    own = agent_topic(row["source"], "responses") if replies else agent_topic(row["target"], "requests")
    details: dict[str, Any] = {"topic": row["topic"] or own, "message_id": row["id"]}
    if row["session_id"]:
        details["session_id"] = row["session_id"]
    if what == "ready":
        details["number"] = row["seq"]
    return NewEntry(what, inbox(row["target"]) if row["target"] else PUBLIC_TOPIC, row["source"], details)


def inbox(name: str) -> str:
    return INBOX + name


def insert(change: Change, rows: Sequence[Row], *, replies: bool = False) -> None:
    """Announce and queue new messages."""
    entries = [entry_of("sent" if row["ready"] or not row["target"] else "queued", row, replies) for row in rows]
    last = change.append(*entries)
    for seq, row in enumerate(rows, last - len(rows) + 1):
        row["seq"] = seq
    change.tx.many(_INSERT, [[*map(row.get, _INSERTED)] for row in rows])
    lanes: Counter[tuple[str, int, str, int]] = Counter(
        (row["target"], row["lane"], row["session_id"], row["ready"]) for row in rows if row["status"] == "queued"
    )
    if lanes:
        change.tx.many(_COUNT, [(*lane[:3], number, number * lane[3]) for lane, number in lanes.items()])


def count(tx: Tx, row: Row, *, waiting: int = 0, ready: int = 0) -> None:
    tx.put(_COUNT, row["target"], row["lane"], row["session_id"], waiting, ready)


def ask(tx: Tx, message_id: str) -> Deferred:
    return tx.ask("SELECT * FROM messages WHERE id = ?", message_id)


def ask_held(tx: Tx, message_id: str) -> Deferred:
    """Without its payload, and with the breaker of its receiver."""
    return tx.ask(_HELD, message_id)


def found(asked: Deferred, message_id: str) -> Message:
    row = asked.one()
    if row is None:
        raise unknown(message_id)
    return Message(row)


def unknown(message_id: str) -> NotFound:
    """Also for what the caller may not see: that a message exists is part of what is private."""
    return NotFound(f"there is no message {message_id[:80]!r}", hint=UNKNOWN)


def token_of(row: Row) -> int:
    """Rises with each attempt: the fencing token of the newest lease."""
    return int(row["seq"] * MOST_ATTEMPTS + row["attempt"])


# -- turns


def ask_lanes(tx: Tx, target: str) -> Deferred:
    return tx.ask(_LANES, target)


def lanes_of(rows: Sequence[Row]) -> list[LaneRow]:
    """Of sessions that are active; one that is suspended hands out nothing."""
    return [
        LaneRow(row["lane"], row["session_id"], row["ready"], _contender(row))
        for row in rows
        if row["ready"] and (not row["session_id"] or (row["state"] == "active" and row["closed_at"] is None))
    ]


def _contender(row: Row) -> Contender[tuple[int, str]]:
    weight = orjson.loads(row["config"]).get("message_weight", 1) if row["config"] else 1
    return Contender((row["lane"], row["session_id"]), row["served"], row["credit"], weight)


def hand_out(
    change: Change, inbox: str, lane: LaneRow, types: Sequence[str], host: str | None, lease: Lease
) -> Row | None:
    """The first of a lane, now leased. None: none has these types, or it has ended and the timer has to see it."""
    sql = _HAND_OUT_OF.format(", ".join("?" * len(types))) if types else _HAND_OUT
    at = change.wall
    return change.tx.one(
        sql,
        *(at, host, micros(lease.expires_at), lease.era, lease.until, inbox, lane.lane, lane.session_id, *types, at),
    )


def save_turn(tx: Tx, target: str, turn: Contender[tuple[int, str]], picked: int) -> None:
    """One message of the lane was handed out."""
    tx.put(
        "UPDATE message_lanes SET waiting = waiting - 1, ready = ready - 1, served = ?, credit = ?, picked = ?"
        " WHERE target = ? AND lane = ? AND session_id = ?",
        *(turn.served, turn.credit, picked, target, *turn.key),
    )


# -- receivers


def ask_agent(tx: Tx, name: str) -> Deferred:
    return tx.ask("SELECT * FROM message_agents WHERE name = ?", name)


def save_agent(tx: Tx, name: str, known: Row | None, state: BreakerState, *, ended_leases: int) -> None:
    """Only what changed: nearly always nothing has."""
    if known and known["ended_leases"] == ended_leases:
        before = breaker_of(known)
        if before is state or before == state:
            return
    values = (state.breaker, state.failures, state.era, state.steady, state.probes, state.successes, ended_leases)
    tx.put(_SAVE_AGENT, name, *values)


_AGENT = ("breaker", "failures", "opened_era", "opened_steady", "probes", "successes", "ended_leases")
_SAVE_AGENT = (
    f"INSERT INTO message_agents (name, {', '.join(_AGENT)}) VALUES (?, {', '.join('?' * len(_AGENT))})"
    f" ON CONFLICT (name) DO UPDATE SET {', '.join(f'{each} = excluded.{each}' for each in _AGENT)}"
)


# -- ends


def settle(change: Change, message: Message, status: MessageStatus, error: str | None = None) -> None:
    """The message is done with: its lease ends, and the next of its correlation may be handed out."""
    row, tx = message.row, change.tx
    tx.put(_SETTLE, status, error, change.wall, row["seq"])
    tx.notify(HANDLED_CHANNEL)
    if row["status"] == "queued":
        count(tx, row, waiting=-1, ready=-row["ready"])
    if row["target"]:
        _release_next(change, row)


def _release_next(change: Change, row: Row) -> None:
    """One that is worked on has only settled ones before it; one that waited may have an open one."""
    held = row["status"] == "processing"
    if held and "follower" in row and row["follower"] is None:
        return
    after = " AND seq > ?" if held else ""
    follower = change.tx.one(
        "SELECT * FROM messages WHERE correlation_id = ? AND target = ? AND status IN ('queued', 'processing')"
        f" AND seq <> ?{after} ORDER BY seq LIMIT 1",
        *(row["correlation_id"], row["target"], row["seq"], *([row["seq"]] if held else [])),
    )
    if follower and follower["status"] == "queued" and not follower["ready"] and not follower["due_at"]:
        make_ready(change, follower)


def make_ready(change: Change, row: Row) -> None:
    change.tx.put("UPDATE messages SET ready = 1, due_at = 0 WHERE seq = ?", row["seq"])
    count(change.tx, row, ready=1)
    change.append(entry_of("ready", row))


def is_blocked(tx: Tx, row: Row) -> bool:
    """Whether an earlier message of its correlation to the same receiver is not settled yet."""
    sql = (
        "SELECT 1 AS yes FROM messages WHERE correlation_id = ? AND target = ? AND seq < ? AND status IN (?, ?) LIMIT 1"
    )
    before = row["seq"] or 2**62  # one that is not inserted yet comes after all others
    return tx.one(sql, row["correlation_id"], row["target"], before, *OPEN) is not None


def requeue(change: Change, message: Message, seconds: float, error: str | None) -> int:
    """Back into its queue, to be handed out again after so long; when. It stays ahead of its correlation."""
    row, tx, due = message.row, change.tx, change.wall + int(seconds * 1_000_000)
    keep_delivery(tx, row)
    tx.put(
        "UPDATE messages SET status = 'queued', ready = 0, due_at = ?, error = ?, taken_at = NULL, host = NULL,"
        " expires_at = NULL, era = NULL, until = NULL WHERE seq = ?",
        *(due, error, row["seq"]),
    )
    count(tx, row, waiting=1)
    tx.notify(HANDLED_CHANNEL)
    change.due_in(seconds)
    return due


def bury(
    change: Change, message: Message, reason: DeadReason, error: str | None, status: MessageStatus = "failed"
) -> None:
    """Make it a dead letter: settled without success, kept for a person."""
    row = message.row
    change.tx.put(
        "INSERT INTO message_dead_letters (message_id, reason, error, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (message_id) DO UPDATE SET reason = excluded.reason, error = excluded.error, at = excluded.at",
        *(message.id, reason, error, change.wall),
    )
    settle(change, message, status, error or reason)
    facts = {"reason": reason, "source": row["source"], "target": row["target"]}
    change.events.append(EventDraft("message", "dead_letter", thing=message.id, details=facts))
    details = {
        "topic": agent_topic(row["target"] or row["source"], "errors"),
        "message_id": message.id,
        "reason": reason,
    }
    if row["session_id"]:
        details["session_id"] = row["session_id"]
    change.append(NewEntry("dead", PUBLIC_TOPIC, row["source"], details))


def mark_poison(tx: Tx, row: Row) -> None:
    metadata = {**(orjson.loads(row["metadata"]) if row["metadata"] else {}), "poison": True}
    tx.put("UPDATE messages SET metadata = ? WHERE seq = ?", orjson.dumps(metadata).decode(), row["seq"])


# -- hops


def keep_delivery(tx: Tx, row: Row) -> None:
    """The message comes back: the delivery that its row held becomes a hop."""
    if row["taken_at"] is not None:
        hop(tx, row, "taken", row["taken_at"])


def hop(tx: Tx, row: Row, what: str, at: int, payload: str | None = None) -> None:
    tx.put(
        "INSERT INTO message_hops (message_id, correlation_id, source, target, what, at, ms, payload)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        *(row["id"], row["correlation_id"], row["source"], row["target"] or row["topic"], what, at),
        *(max(0, at - row["sent_at"]) // 1000, payload),
    )
