"""Upkeep: delays that end, leases and deadlines that run out, sessions that pause, old rows."""

from __future__ import annotations

from collections.abc import Iterable

from lithos.core.clock import micros
from lithos.errors import CursorExpired
from lithos.messages import store
from lithos.messages.model import Message
from lithos.messages.rules import BEAT_SECONDS, DEAD_BEATS, HALF_OPEN_SECONDS, MessageLimits
from lithos.messages.taking import lease_ended
from lithos.sessions import SESSIONS_JOURNAL
from lithos.storage import ALIVE_SQL, JournalEntry, JournalHead, NewEntry, Row, Tx

AT_ONCE = 500  # rows of one kind in one transaction
PRUNED_AT_ONCE = 5_000
DAY = 86_400 * 1_000_000
NEVER = 60.0  # seconds until the next look when nothing is due
_PAUSES = frozenset({"suspended"})
_GOES_ON = frozenset({"resumed", "activated"})
_ENDS = frozenset({"completed", "failed", "closed"})


def tick(tx: Tx, limits: MessageLimits, host: str | None) -> float:
    """Do what is due; the seconds until something is due next."""
    head = store.JOURNAL.lock(tx)()
    head = follow_sessions(tx, head)
    now = micros(head.now.wall)
    due = tx.all("SELECT * FROM messages WHERE due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?", now, AT_ONCE)
    for row in due:
        if store.is_blocked(tx, row):
            tx.put("UPDATE messages SET due_at = 0 WHERE id = ?", row["id"])
        else:
            head = store.make_ready(tx, head, row)
    ended = tx.all(
        "SELECT * FROM messages WHERE status = 'queued' AND ends_at IS NOT NULL AND ends_at <= ?"
        " ORDER BY ends_at LIMIT ?",
        *(now, AT_ONCE),
    )
    for row in ended:
        current = store.ask(tx, row["id"]).one() or row  # an earlier end may have made it ready
        head = store.bury(tx, head, Message(current), "timeout", None, "expired")
    lost = tx.all(
        f"SELECT * FROM message_leases WHERE NOT ({ALIVE_SQL}) ORDER BY id LIMIT ?",
        *(head.now.era, head.now.steady, AT_ONCE),
    )
    for lease in lost:
        head = lease_ended(tx, head, lease, limits)
    head = bury_hosts(tx, head, limits, host)
    store.JOURNAL.record_clock(tx, head)
    if max(len(due), len(ended), len(lost)) == AT_ONCE:
        return 0.0
    return _next_due(tx, head)


def _next_due(tx: Tx, head: JournalHead) -> float:
    first_due = tx.ask("SELECT min(due_at) AS at FROM messages WHERE due_at > 0")
    first_end = tx.ask("SELECT min(ends_at) AS at FROM messages WHERE status = 'queued' AND ends_at IS NOT NULL")
    lease = tx.ask("SELECT min(until) AS at FROM message_leases WHERE era = ?", head.now.era)
    opened = tx.ask(
        "SELECT min(opened_steady) AS at FROM message_agents WHERE breaker = 'open' AND opened_era = ?", head.now.era
    )
    now = micros(head.now.wall)
    waits = [(row["at"] - now) / 1_000_000 for asked in (first_due, first_end) if (row := asked.one()) and row["at"]]
    if (row := lease.one()) and row["at"] is not None:
        waits.append(row["at"] - head.now.steady)
    if (row := opened.one()) and row["at"] is not None:
        waits.append(row["at"] + HALF_OPEN_SECONDS - head.now.steady)
    return min([NEVER, *(each for each in waits if each > 0)], default=NEVER) if waits else NEVER


# -- sessions


def follow_sessions(tx: Tx, head: JournalHead) -> JournalHead:
    """A suspended session's messages wait without growing older; an ended one's become dead letters."""
    row = tx.one("SELECT seq FROM message_cursors WHERE name = ?", store.SESSIONS_CURSOR)
    cursor = int(row["seq"]) if row else 0
    more = True
    while more:
        try:
            page = SESSIONS_JOURNAL.since(tx, cursor)
        except CursorExpired as expired:
            head, cursor = _resync(tx, head), int(expired.details["cursor"])
            break
        head, cursor, more = _followed(tx, head, page.entries), page.cursor, page.more
    if row is None or cursor != row["seq"]:
        tx.put("UPDATE message_cursors SET seq = ? WHERE name = ?", cursor, store.SESSIONS_CURSOR)
    return head


def _followed(tx: Tx, head: JournalHead, entries: Iterable[JournalEntry]) -> JournalHead:
    for entry in entries:
        details = {"topic": f"session.{entry.subject}.state", "session_id": entry.subject}
        new = NewEntry(entry.kind, store.PUBLIC_TOPIC, entry.agent, details)
        head = store.advanced(head, store.JOURNAL.append(tx, head, new))
        if entry.kind in _PAUSES:
            _pause(tx, entry.subject, micros(entry.at))
        elif entry.kind in _GOES_ON:
            head = _go_on(tx, head, entry.subject, micros(entry.at))
        elif entry.kind in _ENDS:
            head = _end(tx, head, entry.subject, entry.kind)
    return head


def _pause(tx: Tx, session_id: str, at: int) -> None:
    sql = "UPDATE messages SET paused_at = ?, ends_at = deadline WHERE session_id = ? AND status = 'queued'"
    tx.put(f"{sql} AND paused_at IS NULL", at, session_id)


def _go_on(tx: Tx, head: JournalHead, session_id: str, at: int) -> JournalHead:
    """The time of the pause does not count. `ttl` grows by it, so that `sent_at + ttl` stays the end."""
    rows = tx.all("SELECT * FROM messages WHERE session_id = ? AND paused_at IS NOT NULL", session_id)
    for row in rows:
        ttl = row["ttl"] + max(0, at - row["paused_at"])
        end = row["sent_at"] + ttl
        ends_at = end if row["deadline"] is None else min(end, row["deadline"])
        tx.put("UPDATE messages SET paused_at = NULL, ttl = ?, ends_at = ? WHERE id = ?", ttl, ends_at, row["id"])
    ready = tx.all("SELECT DISTINCT target FROM message_lanes WHERE session_id = ? AND ready > 0", session_id)
    for row in ready:  # takers that wait look again
        new = NewEntry("ready", store.inbox(row["target"]), "lithos", {"session_id": session_id})
        head = store.advanced(head, store.JOURNAL.append(tx, head, new))
    return head


def _end(tx: Tx, head: JournalHead, session_id: str, how: str) -> JournalHead:
    for row in tx.all("SELECT id FROM messages WHERE session_id = ? AND status = 'queued' ORDER BY seq", session_id):
        current = store.ask(tx, row["id"]).one()
        if current is not None and current["status"] == "queued":
            head = store.bury(tx, head, Message(current), "unroutable", f"its session is {how}")
    return head


def _resync(tx: Tx, head: JournalHead) -> JournalHead:
    """Too many changes were missed to follow: look at the sessions that have something waiting."""
    sql = (
        "SELECT DISTINCT sessions.* FROM message_lanes JOIN sessions ON sessions.id = message_lanes.session_id"
        " WHERE message_lanes.waiting > 0"
    )
    for session in tx.all(sql):
        if session["closed_at"] is not None or session["state"] in _ENDS:
            head = _end(tx, head, session["id"], session["state"])
        elif session["state"] == "suspended":
            _pause(tx, session["id"], session["suspended_at"])
        else:
            head = _go_on(tx, head, session["id"], session["activated_at"] or micros(head.now.wall))
    return head


# -- hosts


def beat(tx: Tx, host: str) -> None:
    now = tx.now()
    tx.put(
        "INSERT INTO message_hosts (host, era, beat) VALUES (?, ?, ?)"
        " ON CONFLICT (host) DO UPDATE SET era = excluded.era, beat = excluded.beat",
        *(host, now.era, now.steady),
    )


def bury_hosts(tx: Tx, head: JournalHead, limits: MessageLimits, own: str | None) -> JournalHead:
    """A host that sent no heartbeat for a minute is dead: what its workers held comes back at once."""
    last = head.now.steady - BEAT_SECONDS * DEAD_BEATS
    for row in tx.all("SELECT host FROM message_hosts WHERE era <> ? OR beat < ?", head.now.era, last):
        if row["host"] != own:
            head = return_leases(tx, head, limits, row["host"])
            tx.put("DELETE FROM message_hosts WHERE host = ?", row["host"])
    return head


def return_leases(tx: Tx, head: JournalHead, limits: MessageLimits, host: str) -> JournalHead:
    for lease in tx.all("SELECT * FROM message_leases WHERE host = ? ORDER BY id", host):
        head = lease_ended(tx, head, lease, limits, died=True)
    return head


# -- old rows


def prune(tx: Tx, limits: MessageLimits) -> int:
    """Settled messages, dead letters and hops beyond their age or number; how many rows went."""
    now = micros(tx.now().wall)
    gone = _prune_oldest(tx, "message_dead_letters", "at", now - int(limits.dead_days * DAY), limits.dead_rows)
    gone += tx.run("DELETE FROM message_hops WHERE at < ?", now - int(limits.hop_days * DAY))
    gone += tx.run(
        "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE processed_at IS NOT NULL AND processed_at < ?"
        " AND id NOT IN (SELECT message_id FROM message_dead_letters) ORDER BY processed_at LIMIT ?)",
        *(_settled_before(tx, now, limits), PRUNED_AT_ONCE),
    )
    gone += tx.run("DELETE FROM message_lanes WHERE waiting = 0 AND ready = 0")
    gone += tx.run("DELETE FROM message_pipelines WHERE closed_at < ?", now - int(limits.settled_days * DAY))
    return gone


def _settled_before(tx: Tx, now: int, limits: MessageLimits) -> int:
    """The age limit, or the time of the newest row beyond the number that is kept."""
    row = tx.one(
        "SELECT processed_at AS at FROM messages WHERE processed_at IS NOT NULL ORDER BY processed_at DESC"
        " LIMIT 1 OFFSET ?",
        limits.settled_rows,
    )
    oldest = now - int(limits.settled_days * DAY)
    return max(oldest, int(row["at"]) + 1) if row else oldest


def _prune_oldest(tx: Tx, table: str, column: str, before: int, most: int) -> int:
    row: Row | None = tx.one(f"SELECT {column} AS at FROM {table} ORDER BY {column} DESC LIMIT 1 OFFSET ?", most)
    limit = max(before, int(row["at"]) + 1) if row else before
    return tx.run(f"DELETE FROM {table} WHERE {column} < ?", limit)
