"""Upkeep: delays that end, leases and deadlines that run out, sessions that pause, old rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lithos.core.clock import micros
from lithos.errors import CursorExpired
from lithos.messages import store
from lithos.messages.model import OPEN, Message
from lithos.messages.rules.breaker import HALF_OPEN_SECONDS
from lithos.messages.rules.health import BEAT_SECONDS, DEAD_BEATS
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.taking import lease_ended
from lithos.sessions import SESSIONS_JOURNAL
from lithos.storage import JournalEntry, Moment, NewEntry, Outcome, Row, Tx

AT_ONCE = 500  # rows of one kind in one transaction
PRUNED_AT_ONCE = 5_000
MOST_NAMES = 10_000
DAY = 86_400 * 1_000_000
JUST_AFTER = 0.01  # seconds: at the very end of its last heartbeat a host is not dead yet
NEVER = 60.0  # seconds until the next look when nothing is due
SESSION_TYPES = {  # of messages, by what happened to a session
    "created": "session_create",
    "activated": "session_switch",
    "joined": "session_switch",
    "suspended": "session_suspend",
    "resumed": "session_resume",
    "completed": "session_complete",
}
_PAUSES = frozenset({"suspended"})
_GOES_ON = frozenset({"resumed", "activated"})
_ENDS = frozenset({"completed", "failed", "closed"})


def tick(tx: Tx, limits: MessageLimits, host: str | None) -> Outcome:
    """Do what is due; `wait`: the seconds until something is due next."""
    change = store.Change(tx, announces=True)
    follow_sessions(change)
    head, now = change.head, change.wall
    due = tx.all("SELECT * FROM messages WHERE due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?", now, AT_ONCE)
    for row in due:
        if store.is_blocked(tx, row):
            tx.put("UPDATE messages SET due_at = 0 WHERE seq = ?", row["seq"])
        else:
            store.make_ready(change, row)
    ended = tx.all(
        "SELECT * FROM messages WHERE status = 'queued' AND ends_at IS NOT NULL AND ends_at <= ?"
        " ORDER BY ends_at LIMIT ?",
        *(now, AT_ONCE),
    )
    for row in ended:
        current = store.ask(tx, row["id"]).one() or row  # an earlier end may have made it ready
        store.bury(change, Message(current), "timeout", None, "expired")
    lost = tx.all(_LOST, head.now.era, head.now.steady, head.now.era, AT_ONCE)
    for row in lost:
        lease_ended(change, row["id"], limits)
    bury_hosts(change, limits, host)
    store.JOURNAL.record_clock(tx, change.head)
    more = max(len(due), len(ended), len(lost)) == AT_ONCE
    return Outcome({"wait": 0.0 if more else _next_due(tx, head.now, host)}, tuple(change.events))


_LOST = """
SELECT id FROM messages WHERE status = 'processing' AND ((era = ? AND until < ?) OR era <> ?) ORDER BY seq LIMIT ?
"""


def _next_due(tx: Tx, moment: Moment, own: str | None) -> float:
    first_due = tx.ask("SELECT min(due_at) AS at FROM messages WHERE due_at > 0")
    first_end = tx.ask("SELECT min(ends_at) AS at FROM messages WHERE status = 'queued' AND ends_at IS NOT NULL")
    lease = tx.ask("SELECT min(until) AS at FROM messages WHERE status = 'processing' AND era = ?", moment.era)
    opened = tx.ask(
        "SELECT min(opened_steady) AS at FROM message_agents WHERE breaker = 'open' AND opened_era = ?", moment.era
    )
    beat = tx.ask("SELECT min(beat) AS at FROM message_hosts WHERE era = ? AND host <> ?", moment.era, own or "")
    now = micros(moment.wall)
    waits = [(row["at"] - now) / 1_000_000 for asked in (first_due, first_end) if (row := asked.one()) and row["at"]]
    if (row := lease.one()) and row["at"] is not None:
        waits.append(row["at"] - moment.steady)
    if (row := opened.one()) and row["at"] is not None:
        waits.append(row["at"] + HALF_OPEN_SECONDS - moment.steady)
    if (row := beat.one()) and row["at"] is not None:
        waits.append(row["at"] + BEAT_SECONDS * DEAD_BEATS - moment.steady + JUST_AFTER)
    return min([NEVER, *(each for each in waits if each > 0)], default=NEVER) if waits else NEVER


# -- sessions


def announce_sessions(tx: Tx, entries: Sequence[NewEntry]) -> None:
    """Write changes of sessions to their topics, in the transaction of the change."""
    store.Change(tx, announces=True).append(*map(_session_entry, entries))


def _session_entry(entry: NewEntry) -> NewEntry:
    details = {"topic": f"session.{entry.subject}.state", "session_id": entry.subject}
    if kind := SESSION_TYPES.get(entry.kind):
        details["type"] = kind
    return NewEntry(entry.kind, store.PUBLIC_TOPIC, entry.agent, details)


def follow_sessions(change: store.Change) -> None:
    """A suspended session's messages wait without growing older; an ended one's become dead letters."""
    tx = change.tx
    row = tx.one("SELECT seq FROM message_cursors WHERE name = ?", store.SESSIONS_CURSOR)
    cursor = int(row["seq"]) if row else 0
    more = True
    while more:
        try:
            page = SESSIONS_JOURNAL.since(tx, cursor)
        except CursorExpired as expired:
            _resync(change)
            cursor = int(expired.details["cursor"])
            break
        _followed(change, page.entries)
        cursor, more = page.cursor, page.more
    if row is None or cursor != row["seq"]:
        tx.put("UPDATE message_cursors SET seq = ? WHERE name = ?", cursor, store.SESSIONS_CURSOR)


def _followed(change: store.Change, entries: Iterable[JournalEntry]) -> None:
    for entry in entries:
        if entry.kind in _PAUSES:
            _pause(change.tx, entry.subject, micros(entry.at))
        elif entry.kind in _GOES_ON:
            _go_on(change, entry.subject, micros(entry.at))
        elif entry.kind in _ENDS:
            _end(change, entry.subject, entry.kind)


def _pause(tx: Tx, session_id: str, at: int) -> None:
    """Also of what is worked on: it may come back during the pause."""
    sql = "UPDATE messages SET paused_at = ?, ends_at = deadline WHERE session_id = ? AND status IN (?, ?)"
    tx.put(f"{sql} AND paused_at IS NULL", at, session_id, *OPEN)


def _go_on(change: store.Change, session_id: str, at: int) -> None:
    """The time of the pause does not count. `ttl` grows by it, so that `sent_at + ttl` stays the end."""
    tx = change.tx
    sql = "SELECT * FROM messages WHERE session_id = ? AND paused_at IS NOT NULL AND status IN (?, ?)"
    rows = tx.all(sql, session_id, *OPEN)
    for row in rows:
        ttl = row["ttl"] + max(0, at - row["paused_at"])
        end = row["sent_at"] + ttl
        ends_at = end if row["deadline"] is None else min(end, row["deadline"])
        tx.put("UPDATE messages SET paused_at = NULL, ttl = ?, ends_at = ? WHERE seq = ?", ttl, ends_at, row["seq"])
    ready = tx.all("SELECT DISTINCT target FROM message_lanes WHERE session_id = ? AND ready > 0", session_id)
    for row in ready:  # takers that wait look again
        change.append(NewEntry("ready", store.inbox(row["target"]), "lithos", {"session_id": session_id}))


def _end(change: store.Change, session_id: str, how: str) -> None:
    tx = change.tx
    for row in tx.all("SELECT id FROM messages WHERE session_id = ? AND status = 'queued' ORDER BY seq", session_id):
        current = store.ask(tx, row["id"]).one()
        if current is not None and current["status"] == "queued":
            store.bury(change, Message(current), "unroutable", f"its session is {how}")


def _resync(change: store.Change) -> None:
    """Too many changes were missed to follow: look at the sessions that have something waiting."""
    sql = (
        "SELECT DISTINCT sessions.* FROM message_lanes JOIN sessions ON sessions.id = message_lanes.session_id"
        " WHERE message_lanes.waiting > 0"
    )
    for session in change.tx.all(sql):
        if session["closed_at"] is not None or session["state"] in _ENDS:
            _end(change, session["id"], session["state"])
        elif session["state"] == "suspended":
            _pause(change.tx, session["id"], session["suspended_at"])
        else:
            _go_on(change, session["id"], session["activated_at"] or change.wall)


# -- hosts


def beat(tx: Tx, host: str) -> None:
    now = tx.now()
    tx.put(
        "INSERT INTO message_hosts (host, era, beat) VALUES (?, ?, ?)"
        " ON CONFLICT (host) DO UPDATE SET era = excluded.era, beat = excluded.beat",
        *(host, now.era, now.steady),
    )


def bury_hosts(change: store.Change, limits: MessageLimits, own: str | None, *, alone: bool = False) -> None:
    """A host that sent no heartbeat for a minute is dead: what its workers held comes back at once.

    `alone`: one host owns the database, and this one has just started, so every other is dead.
    """
    tx, now = change.tx, change.now
    last = now.steady - BEAT_SECONDS * DEAD_BEATS
    dead = "1 = 1" if alone else "era <> ? OR beat < ?"
    for row in tx.all(f"SELECT host FROM message_hosts WHERE {dead}", *([] if alone else [now.era, last])):
        if row["host"] != own:
            return_leases(change, limits, row["host"])
            tx.put("DELETE FROM message_hosts WHERE host = ?", row["host"])


def leave(tx: Tx, host: str) -> None:
    """This host stops: what its workers hold goes back into the queue, and no death is counted."""
    change = store.Change(tx)
    held = tx.all("SELECT id FROM messages WHERE status = 'processing' AND host = ? ORDER BY seq", host)
    for row in held:
        message = store.found(store.ask_held(tx, row["id"]), row["id"])
        store.hop(tx, message.row, "host_stopped", change.wall)
        store.requeue(change, message, 0, "its taker's host stopped")
    tx.put("DELETE FROM message_hosts WHERE host = ?", host)


def return_leases(change: store.Change, limits: MessageLimits, host: str) -> None:
    held = change.tx.all("SELECT id FROM messages WHERE status = 'processing' AND host = ? ORDER BY seq", host)
    for row in held:
        lease_ended(change, row["id"], limits, died=True)


# -- counters


def miscounted(tx: Tx) -> list[Row]:
    """Lanes whose counters are not those of their messages, with the right numbers."""
    return tx.all(_MISCOUNTED)


def recount(tx: Tx) -> int:
    """Set the counters of lanes from their messages; how many were wrong. Takers that wait look again."""
    change = store.Change(tx, announces=True)
    wrong = miscounted(tx)
    for row in wrong:
        store.count(tx, row, waiting=row["right_waiting"] - row["waiting"], ready=row["right_ready"] - row["ready"])
        change.append(NewEntry("ready", store.inbox(row["target"]), "lithos", {}))
    return len(wrong)


_MISCOUNTED = """
SELECT target, lane, session_id, sum(waiting) AS waiting, sum(ready) AS ready, sum(right_waiting) AS right_waiting,
    sum(right_ready) AS right_ready
FROM (
    SELECT target, lane, session_id, waiting, ready, 0 AS right_waiting, 0 AS right_ready FROM message_lanes
    UNION ALL
    SELECT target, lane, session_id, 0, 0, 1, ready FROM messages WHERE status = 'queued'
) AS both_counts
GROUP BY target, lane, session_id
HAVING sum(waiting) <> sum(right_waiting) OR sum(ready) <> sum(right_ready)
"""


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
    gone += tx.run(_OLD_NAMES, MOST_NAMES)
    gone += tx.run("DELETE FROM message_pipelines WHERE closed_at < ?", now - int(limits.settled_days * DAY))
    return gone


# Names beyond the number, first those of which only that they called is known: the registry of agents has them too.
_OLD_NAMES = """
DELETE FROM message_agents WHERE name NOT IN (
    SELECT name FROM message_agents ORDER BY
        CASE WHEN breaker <> 'closed' THEN 0 WHEN failures + ended_leases > 0 THEN 1 ELSE 2 END, name LIMIT ?
)
"""


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
