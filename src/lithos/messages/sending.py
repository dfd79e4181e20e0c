"""Sending: a draft becomes rows in the caller's transaction. Asks everything first, then decides, then writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from lithos.core.clock import micros
from lithos.core.ids import Ids
from lithos.errors import Busy, InvalidInput
from lithos.messages import store
from lithos.messages.model import CRITICAL, HIGH, Message, MessageDraft, Sender, lane_of, stored_payload
from lithos.messages.rules import MessageLimits, refusal
from lithos.messages.topics import free_topic, topic_name
from lithos.messages.types import check_payload, may_send, reserved_hint
from lithos.storage import Answer, Deferred, Moment, NewEntry, Row, Tx

MICROS = 1_000_000
RETRY_MS = 1_000
NO_SESSION = ""


class Refused(Exception):
    """The send is refused; `answer` says why."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.answer = refusal(reason, hint)


@dataclass(frozen=True, slots=True)
class Thread:
    """The conversation that a message continues: its correlation, its parent, how deep the chain of parents is."""

    correlation_id: str | None = None
    parent_id: str | None = None
    depth: int = 0
    size: int = 0
    replies: bool = False  # it answers its parent


@dataclass(frozen=True, slots=True)
class _Questions:
    """Asked before anything is decided: on PostgreSQL all of them travel together."""

    session: Deferred | None
    sender: Deferred  # and how much waits for the first receiver
    others: Sequence[Deferred]  # how much waits for the other receivers
    in_session: Deferred | None
    pipeline: Deferred | None


def checked_draft(draft: MessageDraft, sender: Sender, limits: MessageLimits) -> MessageDraft:
    """All that needs no I/O. Raises `Refused` where the type is not the sender's to send."""
    if not sender.part and not may_send(draft.type, person=sender.person):
        raise Refused("type_reserved", reserved_hint(draft.type))
    if bool(draft.targets) == (draft.topic is not None):
        raise InvalidInput("a message goes to target, targets or a topic", hint="Give one of the three.")
    if len(draft.targets) > limits.receivers:
        raise InvalidInput(
            f"{len(draft.targets)} receivers; {limits.receivers} is the most", hint="Send to a topic, or in parts."
        )
    if draft.ttl_seconds is not None and not draft.ttl_seconds > 0:
        raise InvalidInput(f"ttl_seconds is {draft.ttl_seconds}", hint="Give seconds above 0.")
    if draft.delay_seconds < 0:
        raise InvalidInput(f"delay_seconds is {draft.delay_seconds}", hint="Give 0 or more seconds.")
    check_payload(draft.type, draft.payload)
    if draft.topic is None:
        return draft
    return replace(draft, topic=topic_name(draft.topic) if sender.part else free_topic(draft.topic))


def send(tx: Tx, draft: MessageDraft, sender: Sender, ids: Ids, limits: MessageLimits, thread: Thread) -> Answer:
    """Write one message per receiver, or one for the topic. `draft` has passed `checked_draft`."""
    payload = stored_payload(draft.payload)
    change = store.Change(tx, announces=True)
    asked = _ask(tx, draft, sender)
    suspended = _need_active(asked, sender)
    _need_thread(thread, limits)
    _need_time(draft, change.now)
    notes = []
    if draft.priority >= CRITICAL and not sender.trusted:
        draft = replace(draft, priority=HIGH)
        notes.append("critical is for persons; sent as high")
    _need_room(asked, draft, limits)
    _count_send(change, asked.sender.one() or {}, sender, limits)
    made = []
    for target in draft.targets or ("",):
        row = _row(draft, sender, ids.sortable(), target, payload, change.wall, thread, limits)
        if suspended:
            row |= {"paused_at": row["sent_at"], "ends_at": row["deadline"]}
        if target and row["correlation_id"] != row["id"] and store.is_blocked(tx, {**row, "seq": change.head.seq + 1}):
            row["ready"] = 0
        what = "sent" if row["ready"] or not target else "queued"
        row["seq"] = change.announce(what, row, replies=thread.replies)
        store.insert(tx, row)
        made.append(row)
    for due in (made[0]["due_at"], made[0]["ends_at"]):
        if due:
            change.due_in((due - change.wall) / MICROS)
    return _answer(made, sender, draft, notes)


_SENDER = """
SELECT agents.name, agents.minute, agents.sent,
    (SELECT sum(waiting) FROM message_lanes WHERE target = wanted.target) AS n
FROM (SELECT ? AS name, ? AS target) AS wanted LEFT JOIN message_agents AS agents ON agents.name = wanted.name
"""


def _ask(tx: Tx, draft: MessageDraft, sender: Sender) -> _Questions:
    session, pipeline = draft.session_id, draft.pipeline_id
    return _Questions(
        tx.ask("SELECT state, closed_at FROM sessions WHERE id = ?", session) if session else None,
        tx.ask(_SENDER, sender.name, draft.targets[0] if draft.targets else ""),
        [tx.ask("SELECT sum(waiting) AS n FROM message_lanes WHERE target = ?", each) for each in draft.targets[1:]],
        tx.ask("SELECT sum(waiting) AS n FROM message_lanes WHERE session_id = ? AND waiting > 0", session)
        if session
        else None,
        tx.ask("SELECT closed_at FROM message_pipelines WHERE id = ?", pipeline) if pipeline else None,
    )


def _need_active(asked: _Questions, sender: Sender) -> bool:
    """Whether the session is suspended; only Lithos itself puts something into one that is not active."""
    if asked.pipeline and asked.pipeline.one() is not None:
        raise Refused("settled", "The pipeline is closed; it takes no more messages.")
    if asked.session is None:
        return False
    row = asked.session.one()
    state = "unknown" if row is None else "closed" if row["closed_at"] is not None else row["state"]
    if state != "active" and not sender.part:
        raise Refused("session_not_active", f"The session is {state}; lithos_session_resume takes a suspended one up.")
    return bool(state == "suspended")


def _need_thread(thread: Thread, limits: MessageLimits) -> None:
    if thread.depth > limits.parent_chain:
        raise Refused("loop_limit", f"{limits.parent_chain} messages answer each other already; ask a person.")
    if thread.size >= limits.correlation:
        raise Refused("loop_limit", f"{limits.correlation} messages share this correlation; begin a new one.")


def _need_time(draft: MessageDraft, now: Moment) -> None:
    if draft.deadline is not None and draft.deadline <= now.wall:
        raise InvalidInput("deadline has passed", hint="Give a time to come.")


def _need_room(asked: _Questions, draft: MessageDraft, limits: MessageLimits) -> None:
    lane = lane_of(draft.priority)
    waiting = max(map(_number, (asked.sender, *asked.others)))
    if limits.full(waiting, limits.per_target, lane):
        raise _busy(f"{waiting} messages wait for this receiver")
    in_session = _number(asked.in_session) if asked.in_session else 0
    if limits.full(in_session, limits.per_session, lane):
        raise _busy(f"{in_session} messages wait in this session")


def _number(asked: Deferred) -> int:
    row = asked.one()
    return int(row["n"] or 0) if row else 0


def _busy(message: str) -> Busy:
    return Busy(message, hint=f"Send again in {RETRY_MS} ms.", retry_after_ms=RETRY_MS)


def _count_send(change: store.Change, known: Row, sender: Sender, limits: MessageLimits) -> None:
    """Sends of this minute."""
    minute = change.wall // (60 * MICROS)
    sent = known["sent"] if known.get("minute") == minute else 0
    if sent >= limits.per_minute and not sender.part:
        raise Busy(
            f"{sender.name} has sent {sent} messages in this minute; {limits.per_minute} is the most",
            hint="Send again in a minute.",
            retry_after_ms=60_000 - (change.wall // 1000) % 60_000,
        )
    store.count_send(change.tx, sender.name, minute, sent + 1, known=known.get("name") is not None)


def _row(
    draft: MessageDraft,
    sender: Sender,
    message_id: str,
    target: str,
    payload: tuple[str, int],
    now: int,
    thread: Thread,
    limits: MessageLimits,
) -> Row:
    ttl = int((draft.ttl_seconds if draft.ttl_seconds is not None else limits.ttl_seconds) * MICROS)
    deadline = micros(draft.deadline) if draft.deadline is not None else None
    due = now + int(draft.delay_seconds * MICROS) if draft.delay_seconds > 0 else 0
    return {
        "id": message_id,
        "seq": 0,
        "correlation_id": thread.correlation_id or message_id,
        "parent_id": thread.parent_id,
        "session_id": draft.session_id or NO_SESSION,
        "source": sender.name,
        "bound": int(sender.bound),
        "person": int(sender.person),
        "target": target,
        "topic": draft.topic or "",
        "type": draft.type,
        "payload": payload[0],
        "bytes": payload[1],
        "sent_at": now,
        "deadline": deadline,
        "ttl": ttl,
        "ends_at": min(now + ttl, deadline) if deadline is not None else now + ttl,
        # A topic has readers, not a taker: nothing is left to be done for it.
        "status": "queued" if target else "completed",
        "attempt": 0,
        "max_attempts": draft.max_attempts or limits.retry(target).attempts,
        "priority": draft.priority,
        "lane": lane_of(draft.priority),
        "metadata": orjson.dumps(dict(draft.metadata)).decode() if draft.metadata else None,
        "error": None,
        "processed_at": None if target else now,
        "ready": int(bool(target) and not due),
        "due_at": due if target else 0,
        "depth": thread.depth,
        "pipeline_id": draft.pipeline_id,
    }


def _answer(made: Sequence[Row], sender: Sender, draft: MessageDraft, notes: Sequence[str]) -> Answer:
    first = made[0]
    answer: Answer = {"success": True, "message_id": first["id"], "correlation_id": first["correlation_id"]}
    if len(made) > 1:
        answer["message_ids"] = [each["id"] for each in made]
    answer |= {"source": sender.name, "priority": draft.priority}
    return answer | ({"notes": [*notes]} if notes else {})


def thread_of(tx: Tx, parent: Message | None, correlation_id: str | None) -> Thread:
    """The conversation that a reply, or a send that names a message, inherits."""
    correlation = parent.row["correlation_id"] if parent else correlation_id
    if correlation is None:
        return Thread()
    size = tx.one("SELECT count(*) AS n FROM messages WHERE correlation_id = ?", correlation)
    depth = parent.row["depth"] + 1 if parent else 0
    return Thread(correlation, parent.id if parent else None, depth, int(size["n"]) if size else 0)


def register(change: store.Change, name: str) -> None:
    """Announce a name that takes for the first time."""
    change.append(NewEntry("registered", store.PUBLIC_TOPIC, name, {"topic": "agents.registry"}))
