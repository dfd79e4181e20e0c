"""Sending: a draft becomes rows in the caller's transaction. Asks everything first, then decides, then writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson

from lithos.core.clock import micros
from lithos.core.ids import Ids
from lithos.core.validators import label
from lithos.errors import Busy, InvalidInput, LithosError
from lithos.messages import store
from lithos.messages.model import CRITICAL, HIGH, Message, MessageDraft, Sender, lane_of, stored_payload
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.rules.rate import SendRate
from lithos.messages.rules.refusals import refusal
from lithos.messages.topics import free_topic, topic_name
from lithos.messages.types import check_payload, may_send, reserved_hint
from lithos.storage import Answer, Deferred, Moment, Row, Tx

MICROS = 1_000_000
RETRY_MS = 1_000
MOST_TRIES = 100  # that a sender may ask for
_ENDED = frozenset({"completed", "failed", "closed", "unknown"})  # states of a session
NO_SESSION = ""
LONGEST_SECONDS = 10 * 365 * 86_400.0
_AT_MOST = f"at most {LONGEST_SECONDS:.0f} (ten years)"


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
class Posting:
    """One call's message, checked, with its payload as it is stored."""

    draft: MessageDraft
    sender: Sender
    payload: tuple[str, int]
    thread: Thread = Thread()


def posting(draft: MessageDraft, sender: Sender, thread: Thread | None = None) -> Posting:
    return Posting(draft, sender, stored_payload(draft.payload), thread or Thread())


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
    if draft.ttl_seconds is not None and not 0 < draft.ttl_seconds <= LONGEST_SECONDS:
        raise InvalidInput(f"ttl_seconds is {draft.ttl_seconds}", hint=f"Give seconds above 0, {_AT_MOST}.")
    if not 0 <= draft.delay_seconds <= LONGEST_SECONDS:
        raise InvalidInput(f"delay_seconds is {draft.delay_seconds}", hint=f"Give 0 or more seconds, {_AT_MOST}.")
    if draft.max_attempts is not None and not 1 <= draft.max_attempts <= MOST_TRIES:
        raise InvalidInput(f"max_attempts is {draft.max_attempts}", hint=f"Give 1 to {MOST_TRIES}.")
    check_payload(draft.type, draft.payload)
    for name, given in (("correlation_id", draft.correlation_id), ("parent_id", draft.parent_id)):
        if given is not None:
            label(given, name)
    if draft.topic is None:
        return draft
    return replace(draft, topic=topic_name(draft.topic) if sender.part else free_topic(draft.topic))


@dataclass(frozen=True, slots=True)
class PostRules:
    """Ids, limits and rate of the host that sends."""

    ids: Ids
    limits: MessageLimits
    rate: SendRate = field(default_factory=SendRate)


def send(tx: Tx, post: Posting, rules: PostRules) -> Answer:
    """Write one message per receiver, or one for the topic. Raises `Refused`."""
    [result] = send_all(tx, [post], rules)
    if isinstance(result, Exception):
        raise result
    return result


def send_all(tx: Tx, posts: Sequence[Posting], rules: PostRules) -> list[Answer | Refused | LithosError]:
    """Write the messages of several calls with the same few statements. Nothing is written for one that is refused.

    Of several, none continues a conversation: whether one waits for another of its correlation is read, not counted.
    """
    change = store.Change(tx, announces=True)
    facts = _Facts(tx, posts)
    results: list[Answer | Refused | LithosError] = []
    rows: list[Row] = []
    for each in posts:
        try:
            made, notes = _made(change, facts, each, rules)
        except (Refused, LithosError) as error:
            results.append(error)
            continue
        facts.add(made)
        rows += made
        results.append(_answer(made, each, notes))
    if rows:
        store.insert(change, rows, replies=posts[0].thread.replies)
    return results


def _made(change: store.Change, facts: _Facts, post: Posting, rules: PostRules) -> tuple[list[Row], list[str]]:
    """The rows of one call, and what its sender should know."""
    draft, sender, limits = post.draft, post.sender, rules.limits
    suspended = _need_active(facts, draft, sender)
    _need_thread(post.thread, len(draft.targets) or 1, limits)
    if draft.deadline is not None:
        _need_time(draft.deadline, change.now)
    notes = []
    if draft.priority >= CRITICAL and not sender.trusted:
        draft = replace(draft, priority=HIGH)
        post = replace(post, draft=draft)
        notes.append("critical is for persons; sent as high")
    _need_room(facts, draft, limits)
    now = change.wall
    _need_rate(rules, sender, now)
    rows: list[Row] = []
    for target in draft.targets or ("",):
        row = _row(post, rules, target, now)
        if rows:  # to several receivers it is one conversation
            row["correlation_id"] = rows[0]["correlation_id"]
        if suspended:
            row |= {"paused_at": row["sent_at"], "ends_at": row["deadline"]}
        if target and post.thread.correlation_id is not None and store.is_blocked(change.tx, row):
            row["ready"] = 0
        rows.append(row)
    if draft.delay_seconds or draft.ttl_seconds is not None or draft.deadline is not None:
        for due in (rows[0]["due_at"], rows[0]["ends_at"]):
            if due:
                change.due_in((due - now) / MICROS)
    return rows, notes


class _Facts:
    """Asked once for all posts, before anything is decided: on PostgreSQL all of it travels together."""

    def __init__(self, tx: Tx, posts: Sequence[Posting]) -> None:
        waiting: dict[str, Deferred] = {}
        sessions: dict[str, tuple[Deferred, Deferred]] = {}
        closed: dict[str, Deferred] = {}
        for post in posts:
            draft = post.draft
            for target in draft.targets:
                if target not in waiting:
                    waiting[target] = tx.ask(_WAITING, target)
            if draft.session_id and draft.session_id not in sessions:
                sessions[draft.session_id] = tx.ask(_SESSION, draft.session_id), tx.ask(_IN_SESSION, draft.session_id)
            if draft.pipeline_id:
                closed[draft.pipeline_id] = tx.ask(_PIPELINE, draft.pipeline_id)
        self.waiting = {each: _number(asked) for each, asked in waiting.items()}
        self.in_session = {each: _number(asked[1]) for each, asked in sessions.items()} if sessions else {}
        self.sessions = {each: _state(asked[0].one()) for each, asked in sessions.items()} if sessions else {}
        self.closed_pipelines = {each for each, asked in closed.items() if asked.one() is not None} if closed else set()

    def add(self, rows: Sequence[Row]) -> None:
        """These are going to wait too."""
        for row in rows:
            if row["target"]:
                self.waiting[row["target"]] += 1
            if row["target"] and row["session_id"]:
                self.in_session[row["session_id"]] += 1


_WAITING = "SELECT sum(waiting) AS n FROM message_lanes WHERE target = ?"
_SESSION = "SELECT state, closed_at FROM sessions WHERE id = ?"
_PIPELINE = "SELECT 1 AS yes FROM message_pipelines WHERE id = ?"
_IN_SESSION = "SELECT sum(waiting) AS n FROM message_lanes WHERE session_id = ? AND waiting > 0"


def _number(asked: Deferred) -> int:
    row = asked.one()
    return int(row["n"] or 0) if row else 0


def _state(row: Row | None) -> str:
    return "unknown" if row is None else "closed" if row["closed_at"] is not None else str(row["state"])


def _need_active(facts: _Facts, draft: MessageDraft, sender: Sender) -> bool:
    """Whether the session is suspended; only Lithos itself puts something into one that is not active yet, or again."""
    if draft.pipeline_id in facts.closed_pipelines:
        raise Refused("settled", "The pipeline is closed; it takes no more messages.")
    state = facts.sessions[draft.session_id] if draft.session_id else "active"
    if state in _ENDED or (state != "active" and not sender.part):
        raise Refused("session_not_active", f"The session is {state}; lithos_session_resume takes a suspended one up.")
    return state == "suspended"


def _need_thread(thread: Thread, new: int, limits: MessageLimits) -> None:
    if thread.depth > limits.parent_chain:
        raise Refused("loop_limit", f"{limits.parent_chain} messages answer each other already; ask a person.")
    if thread.size + new > limits.correlation:
        raise Refused("loop_limit", f"{limits.correlation} messages share this correlation; begin a new one.")


def _need_time(deadline: datetime, now: Moment) -> None:
    if deadline <= now.wall:
        raise InvalidInput("deadline has passed", hint="Give a time to come.")


def _need_room(facts: _Facts, draft: MessageDraft, limits: MessageLimits) -> None:
    lane = lane_of(draft.priority)
    waiting = max([facts.waiting[each] for each in draft.targets]) if draft.targets else 0
    if limits.full(waiting, limits.per_target, lane):
        raise _busy(f"{waiting} messages wait for this receiver")
    if not draft.session_id:
        return
    in_session = facts.in_session[draft.session_id]
    if limits.full(in_session + max(0, len(draft.targets) - 1), limits.per_session, lane):
        raise _busy(f"{in_session} messages wait in this session")


def _busy(message: str) -> Busy:
    return Busy(message, hint=f"Send again in {RETRY_MS} ms.", retry_after_ms=RETRY_MS)


def _need_rate(rules: PostRules, sender: Sender, now: int) -> None:
    if sender.part:
        return
    most = rules.limits.per_minute
    if wait := rules.rate.wait(sender.name, now, most):
        retry_ms = wait // 1000 + 1
        raise Busy(
            f"{sender.name} has sent {most} messages in the last minute, which is the most",
            hint=f"Send again in {retry_ms // 1000 + 1} s.",
            retry_after_ms=retry_ms,
        )


def _row(post: Posting, rules: PostRules, target: str, now: int) -> Row:
    draft, sender, thread, limits = post.draft, post.sender, post.thread, rules.limits
    message_id = rules.ids.sortable()
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
        "payload": post.payload[0],
        "bytes": post.payload[1],
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


def _answer(made: Sequence[Row], post: Posting, notes: Sequence[str]) -> Answer:
    first = made[0]
    answer: Answer = {"success": True, "message_id": first["id"], "correlation_id": first["correlation_id"]}
    if len(made) > 1:
        answer["message_ids"] = [each["id"] for each in made]
    answer |= {"source": post.sender.name, "priority": first["priority"]}
    return answer | ({"notes": [*notes]} if notes else {})


def thread_of(tx: Tx, parent: Message | None, correlation_id: str | None) -> Thread:
    """The conversation that a reply, or a send that names a message, inherits."""
    correlation = parent.row["correlation_id"] if parent else correlation_id
    if correlation is None:
        return Thread()
    size = tx.one("SELECT count(*) AS n FROM messages WHERE correlation_id = ?", correlation)
    depth = parent.row["depth"] + 1 if parent else 0
    return Thread(correlation, parent.id if parent else None, depth, int(size["n"]) if size else 0)
