"""Lists and single messages, for those who may see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from lithos.core.clock import from_micros, rfc3339
from lithos.core.cursor import next_cursor, place_of
from lithos.messages import store
from lithos.messages.model import (
    FENCE,
    SHOWN_PAYLOAD,
    DeadLetterPage,
    DeadLetterRow,
    Envelope,
    InboxPage,
    InboxRow,
    InboxState,
    Message,
    MessageCounts,
    MessagePage,
    MessageShown,
    MessageStatusAnswer,
    Room,
    ThreadPage,
    ThreadRow,
    TopicEntry,
    TopicPage,
    TraceAnswer,
)
from lithos.messages.rules.breaker import breaker_of
from lithos.messages.rules.health import BEAT_SECONDS, UNHEALTHY_BEATS, UNHEALTHY_LEASES
from lithos.messages.topics import TopicPatterns
from lithos.storage import Deferred, JournalPage, Row, Tx

SCANNED = 1_000  # newest messages of conversations that one page of threads looks at
ASKED_AT_ONCE = 200  # conversations in one statement
MOST_INBOXES = 200
SHOWN_NAMES = 10  # of those who take part in a conversation
SHOWN_ERROR = 300  # characters in the list of dead letters; the message has the whole
PAGE_BYTES = 10_000  # of a long payload in one answer
Sees = Callable[[Message], bool]


@dataclass(frozen=True, slots=True)
class InboxQuery:
    name: str
    unread: bool = False
    limit: int = 50
    cursor: str | None = None
    closed: frozenset[str] = frozenset()  # sessions whose messages the caller may not see


def list_inbox(tx: Tx, query: InboxQuery) -> InboxPage:
    """Newest first; takes nothing."""
    of = ["inbox", query.name, query.unread]
    place = place_of(query.cursor, of, int)
    chosen = " AND status = 'queued'" if query.unread else ""
    open_to, closed = _open_to(query.closed)
    rows = tx.all(
        f"SELECT * FROM messages WHERE target = ? AND seq < ?{chosen}{open_to} ORDER BY seq DESC LIMIT ?",
        *(query.name, place[0] if place else 2**62, *closed, query.limit + 1),
    )
    room, shown = Room(), list[InboxRow]()
    for row in rows[: query.limit]:
        shown.append(_inbox_row(Message(row)))
        if not room.spend(shown[-1]):
            break
    page: InboxPage = {"messages": shown, "waiting": waiting_count(tx, query.name, query.closed)}
    if len(rows) > len(shown):
        page["next_cursor"] = next_cursor(of, [rows[len(shown) - 1]["seq"]])
    return page


def waiting_count(tx: Tx, name: str, closed: frozenset[str]) -> int:
    open_to, values = _open_to(closed)
    sql = f"SELECT coalesce(sum(waiting), 0) AS n FROM message_lanes WHERE target = ?{open_to}"
    return _sum(tx.ask(sql, name, *values))


def _open_to(closed: frozenset[str]) -> tuple[str, list[str]]:
    return (f" AND session_id NOT IN ({', '.join('?' * len(closed))})", sorted(closed)) if closed else ("", [])


def _inbox_row(message: Message) -> InboxRow:
    row = message.row
    shown: InboxRow = {
        "id": row["id"],
        "source": row["source"],
        "bound": bool(row["bound"]),
        "type": row["type"],
        "subject": message.subject(),
        "status": row["status"],
        "priority": row["priority"],
        "timestamp": rfc3339(from_micros(row["sent_at"])),
    }
    if row["session_id"]:
        shown["session_id"] = row["session_id"]
    if row["correlation_id"] != row["id"]:
        shown["correlation_id"] = row["correlation_id"]
    return shown


def waiting_from(tx: Tx, name: str, closed: frozenset[str]) -> dict[str, int]:
    """Senders of what waits in an inbox, and how much of it is theirs."""
    open_to, values = _open_to(closed)
    sql = f"SELECT source, count(*) AS n FROM messages WHERE target = ? AND status = 'queued'{open_to} GROUP BY source"
    return {row["source"]: int(row["n"]) for row in tx.all(f"{sql} ORDER BY n DESC, source", name, *values)}


def show_message(message: Message, offset: int) -> MessageShown:
    """The whole envelope; a payload that is too long for one answer in pages of its JSON text."""
    row = message.row
    shown: MessageShown = {"message": message.envelope(), "fence": FENCE}
    if row["bytes"] > SHOWN_PAYLOAD or offset:
        text = _page(row["payload"][offset : offset + PAGE_BYTES])
        shown["payload_text"] = text
        if offset + len(text) < len(row["payload"]):
            shown["next_offset"] = offset + len(text)
    return shown


def _page(text: str) -> str:
    """The beginning that takes at most PAGE_BYTES as a JSON string: a letter has up to four bytes, or an escape."""
    while (size := len(orjson.dumps(text))) > PAGE_BYTES:
        text = text[: len(text) * PAGE_BYTES // size]
    return text


def list_thread(tx: Tx, correlation_id: str, sees: Sees, *, limit: int, cursor: str | None) -> MessagePage:
    """Messages of one correlation, oldest first; the payloads share the room of one answer."""
    of = ["thread", correlation_id]
    place = place_of(cursor, of, int)
    rows = tx.all(
        "SELECT * FROM messages WHERE correlation_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        *(correlation_id, place[0] if place else 0, limit + 1),
    )
    room, shown, last = Room(), list[Envelope](), 0
    for row in rows[:limit]:
        last = row["seq"]
        if not sees(Message(row)):
            continue
        shown.append(Message(row).envelope(budget=room.payload))
        if not room.spend(shown[-1]):
            break
    page: MessagePage = {"messages": shown, "fence": FENCE}
    if rows and last < rows[-1]["seq"]:
        page["next_cursor"] = next_cursor(of, [last])
    return page


def list_threads(tx: Tx, sees: Sees, *, name: str | None, limit: int, cursor: str | None) -> ThreadPage:
    """Conversations by their newest message; `name` takes part in it. Looks at most at SCANNED rows a page."""
    of = ["threads", name]
    place = place_of(cursor, of, int)
    party, values = (" AND (source = ? OR target = ?)", [name, name]) if name else ("", [])
    rows = tx.all(
        f"SELECT * FROM messages AS m WHERE seq < ?{party} AND NOT EXISTS"
        f" (SELECT 1 FROM messages WHERE correlation_id = m.correlation_id AND seq > m.seq{party})"
        " ORDER BY seq DESC LIMIT ?",
        *(place[0] if place else 2**62, *values, *values, SCANNED + 1),
    )
    readable = _readable(tx, rows[:SCANNED], sees)
    shown, room, last = list[ThreadRow](), Room(), 0
    for row in rows[:SCANNED]:
        if row["correlation_id"] in readable:
            one = _thread_row(tx, row["correlation_id"], sees)
            if len(shown) == limit or not room.takes(one):
                break
            shown.append(one)
        last = row["seq"]
    page: ThreadPage = {"threads": shown}
    return {**page, "next_cursor": next_cursor(of, [last])} if rows and last != rows[-1]["seq"] else page


def _readable(tx: Tx, newest: Sequence[Row], sees: Sees) -> set[str]:
    """Conversations of which the reader may see the newest message, or an earlier one."""
    found = {row["correlation_id"] for row in newest if sees(Message(row))}
    others = [row["correlation_id"] for row in newest if row["correlation_id"] not in found]
    for start in range(0, len(others), ASKED_AT_ONCE):
        some = others[start : start + ASKED_AT_ONCE]
        marks = ", ".join("?" * len(some))
        sql = "SELECT correlation_id, source, target, topic, session_id FROM messages WHERE correlation_id IN"
        found |= {row["correlation_id"] for row in tx.all(f"{sql} ({marks})", *some) if sees(Message(row))}
    return found


def _thread_row(tx: Tx, of: str, sees: Sees) -> ThreadRow:
    """Of a conversation, the messages that the reader may see."""
    sql = "SELECT seq, source, target, topic, status, session_id, sent_at FROM messages WHERE correlation_id = ?"
    rows = [row for row in tx.all(f"{sql} ORDER BY seq", of) if sees(Message(row))]
    newest = rows[-1]
    first = tx.all("SELECT * FROM messages WHERE seq = ?", rows[0]["seq"])[0]
    names = list(dict.fromkeys(name for row in rows for name in (row["source"], row["target"]) if name))
    shown: ThreadRow = {
        "correlation_id": of,
        "subject": Message(first).subject(),
        "type": first["type"],
        "names": names[:SHOWN_NAMES],
        "messages": len(rows),
        "waiting": sum(row["status"] in ("queued", "processing") for row in rows),
        "failed": sum(row["status"] in ("failed", "expired") for row in rows),
        "last_at": rfc3339(from_micros(newest["sent_at"])),
    }
    if len(names) > SHOWN_NAMES:
        shown["more_names"] = len(names) - SHOWN_NAMES
    if first["topic"]:
        shown["topic"] = first["topic"]
    if newest["session_id"]:
        shown["session_id"] = newest["session_id"]
    return shown


def list_inboxes(tx: Tx) -> list[InboxState]:
    """Every name that sent or received, those with the most waiting first."""
    known = "SELECT name, 0 AS waiting FROM message_agents UNION ALL SELECT target, waiting FROM message_lanes"
    sql = f"SELECT name FROM ({known}) AS known GROUP BY name ORDER BY sum(waiting) DESC, name LIMIT ?"
    names = [row["name"] for row in tx.all(sql, MOST_INBOXES)]
    return [cast(InboxState, agent_status(tx, name, frozenset())) for name in names]


# Of its receiver to its sender: others that name the message as their parent only continue it.
REPLY = "SELECT * FROM messages WHERE parent_id = ? AND source = ? AND target = ? ORDER BY seq LIMIT 1"


def status_of(tx: Tx, message: Message) -> MessageStatusAnswer:
    row = message.row
    dead = tx.ask("SELECT reason FROM message_dead_letters WHERE message_id = ?", message.id)
    reply = tx.ask(REPLY, message.id, row["target"], row["source"])
    shown: MessageStatusAnswer = {"message_id": message.id, "status": row["status"], "attempt": row["attempt"]}
    if found := dead.one():
        shown["dead_letter"] = found["reason"]
    if found := reply.one():
        shown["reply_id"] = found["id"]
    return shown


def agent_status(tx: Tx, name: str, closed: frozenset[str]) -> MessageStatusAnswer:
    """An inbox: how much waits, whether its owner works."""
    leased = tx.ask("SELECT count(*) AS n FROM messages WHERE status = 'processing' AND target = ?", name)
    row = store.ask_agent(tx, name).one()
    sick = row is not None and row["ended_leases"] >= UNHEALTHY_LEASES
    now = tx.now()
    silent = tx.one(_SILENT_HOSTS, name, now.era, now.steady - BEAT_SECONDS * UNHEALTHY_BEATS)
    return {
        "agent": name,
        "waiting": waiting_count(tx, name, closed),
        "leased": _sum(leased),
        "breaker": breaker_of(row).at(now).breaker,
        "health": "unhealthy" if sick or silent is not None else "healthy",
    }


# Hosts whose workers hold something for this name and that have missed some heartbeats.
_SILENT_HOSTS = """
SELECT hosts.host FROM messages JOIN message_hosts AS hosts ON hosts.host = messages.host
WHERE messages.status = 'processing' AND messages.target = ? AND (hosts.era <> ? OR hosts.beat < ?) LIMIT 1
"""


def trace(tx: Tx, message: Message, sees: Sees, since: int) -> TraceAnswer:
    """Deliveries of the whole correlation, oldest first: hops, and the newest of each message, which its row holds."""
    row = message.row
    kept = tx.ask("SELECT * FROM message_hops WHERE correlation_id = ? ORDER BY id", row["correlation_id"])
    messages = tx.all("SELECT * FROM messages WHERE correlation_id = ? ORDER BY seq", row["correlation_id"])
    seen = {each["id"]: each for each in messages if sees(Message(each))}
    hops = [each for each in kept.all() if each["message_id"] in seen]
    hops += [_delivery(each) for each in seen.values() if each["taken_at"] is not None and each["taken_at"] >= since]
    room, shown = Room(), list[dict[str, Any]]()
    for each in sorted(hops, key=lambda each: each["at"])[::-1]:
        if not room.takes(_hop(each)):
            break
        shown.append(_hop(each))
    answer: TraceAnswer = {
        "message_id": message.id,
        "correlation_id": row["correlation_id"],
        "status": row["status"],
        "hops": shown[::-1],
    }
    return {**answer, "left_out": len(hops) - len(shown)} if len(hops) > len(shown) else answer


def _delivery(row: Row) -> Row:
    ms = max(0, row["taken_at"] - row["sent_at"]) // 1000
    hop = {"message_id": row["id"], "what": "taken", "at": row["taken_at"], "ms": ms, "payload": None}
    return hop | {name: row[name] for name in ("correlation_id", "source", "target")}


def _hop(row: Row) -> dict[str, Any]:
    shown = {name: row[name] for name in ("message_id", "correlation_id")}
    shown |= {"from": row["source"], "to": row["target"], "what": row["what"], "ms": row["ms"]}
    shown["at"] = rfc3339(from_micros(row["at"]))
    return shown | ({"payload": row["payload"][:1_000]} if row["payload"] else {})


def topic_page(tx: Tx, page: JournalPage, patterns: TopicPatterns, sees: Sees, limit: int) -> TopicPage:
    """Entries of the journal that match, with the payload of what was sent to a topic."""
    shown: list[TopicEntry] = []
    cursor, room, full = page.cursor, Room(), False
    for entry in page.entries:
        topic = str(entry.details.get("topic", ""))
        if not topic or not patterns.matches(topic):
            continue
        if len(shown) == limit or full:
            return {"entries": shown, "cursor": shown[-1]["seq"], "fence": FENCE}
        one: TopicEntry = {
            "seq": entry.seq,
            "topic": topic,
            "what": entry.kind,
            "source": entry.agent,
            "at": rfc3339(entry.at),
        }
        message_id = entry.details.get("message_id")
        row = store.ask(tx, message_id).one() if message_id else None
        if message_id and row is None:
            continue  # forgotten, or too old to be kept: who might see it is not known any more
        if row is not None:
            if not sees(Message(row)):
                continue
            _add_message(one, Message(row), room.payload)
        elif session := entry.details.get("session_id"):
            if not sees(_bare(session, entry.agent)):
                continue
            one["session_id"] = session
            if kind := entry.details.get("type"):
                one["type"] = kind
        shown.append(one)
        full = not room.spend(one)
    answer: TopicPage = {"entries": shown, "cursor": cursor}
    return {**answer, "fence": FENCE} if shown else answer


def _add_message(one: TopicEntry, message: Message, budget: int) -> None:
    envelope = message.envelope(budget=budget)
    one["message_id"], one["type"], one["bound"] = envelope["id"], envelope["type"], envelope["bound"]
    if message.session_id:
        one["session_id"] = message.session_id
    if message.row["topic"]:
        for name in ("payload", "payload_head", "payload_bytes"):
            if name in envelope:
                one[name] = envelope[name]


def _bare(session_id: str, agent: str) -> Message:
    """An entry of a session that is no message, as the rule of who sees what asks for it."""
    return Message({"id": "", "session_id": session_id, "source": agent, "target": "", "topic": "session"})


def list_dead_letters(tx: Tx, sees: Sees, *, limit: int, cursor: str | None) -> DeadLetterPage:
    of = ["dead letters"]
    place = place_of(cursor, of, int, str)
    where, values = ("WHERE (dead.at, dead.message_id) < (?, ?)", [*place]) if place else ("", [])
    rows = tx.all(
        "SELECT dead.reason, dead.error AS why, dead.at AS died_at, messages.* FROM message_dead_letters AS dead"
        f" JOIN messages ON messages.id = dead.message_id {where} ORDER BY dead.at DESC, dead.message_id DESC LIMIT ?",
        *(*values, limit + 1),
    )
    shown, room, last = list[DeadLetterRow](), Room(), None
    for row in rows[:limit]:
        if sees(Message(row)):
            one = _dead_row(row)
            if not room.takes(one):
                break
            shown.append(one)
        last = row
    page: DeadLetterPage = {"dead_letters": shown, "total": sum(sees(Message(row)) for row in tx.all(_ALL_DEAD))}
    if last is not None and last is not rows[-1]:
        page["next_cursor"] = next_cursor(of, [last["died_at"], last["id"]])
    return page


_ALL_DEAD = """
SELECT messages.source, messages.target, messages.topic, messages.session_id
FROM message_dead_letters AS dead JOIN messages ON messages.id = dead.message_id
"""


def _dead_row(row: Row) -> DeadLetterRow:
    envelope = Message(row).envelope(budget=0)
    shown: DeadLetterRow = {
        "message_id": row["id"],
        "reason": row["reason"],
        "error": row["why"][:SHOWN_ERROR] if row["why"] else None,
        "at": rfc3339(from_micros(row["died_at"])),
        "source": row["source"],
        "target": row["target"] or None,
        "type": row["type"],
        "attempt": row["attempt"],
        "session_id": row["session_id"] or None,
    }
    if envelope["metadata"]:
        shown["metadata"] = envelope["metadata"]
    return shown


def counts(tx: Tx) -> MessageCounts:
    """For `lithos stats`; each from an index of few columns."""
    waiting = tx.ask("SELECT coalesce(sum(waiting), 0) AS n FROM message_lanes")
    leased = tx.ask("SELECT count(*) AS n FROM messages WHERE status = 'processing'")
    settled = tx.ask("SELECT count(*) AS n FROM messages WHERE processed_at IS NOT NULL")
    dead = tx.ask("SELECT count(*) AS n FROM message_dead_letters")
    return {"waiting": _sum(waiting), "leased": _sum(leased), "settled": _sum(settled), "dead_letters": _sum(dead)}


def _sum(asked: Deferred) -> int:
    row = asked.one()
    return int(row["n"]) if row else 0
