"""The rows of sessions and of the agents in them; none of these functions commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson

from lithos.core.clock import micros, rfc3339
from lithos.errors import InvalidInput, NotFound
from lithos.sessions.answers import SessionShown, SessionStats
from lithos.sessions.context import collected
from lithos.sessions.model import OF_THE_SESSION, SCALARS, Session, SessionState, session_of
from lithos.storage import Deferred, Journal, Moment, Row, Tx

JOURNAL = Journal("sessions")
Role = Literal["owner", "member", "invited"]
UNKNOWN = "lithos_session_list shows the sessions and their ids."
CURRENT_SESSION = """
SELECT sessions.*, session_agents.bound AS member_bound FROM session_agents
JOIN sessions ON sessions.id = session_agents.session_id WHERE session_agents.agent = ? AND session_agents.here = 1
"""


@dataclass(frozen=True, slots=True)
class Membership:
    session_id: str
    agent: str
    role: Role
    bound: bool
    here: bool

    @property
    def joined(self) -> bool:
        return self.role != "invited"


def lock(tx: Tx, session_id: str) -> None:
    """One change of a session at a time: a suspend waits for a running write, and the other way round."""
    tx.lock(f"session {session_id}")


def ask(tx: Tx, session_id: str) -> Deferred:
    return tx.ask("SELECT * FROM sessions WHERE id = ?", session_id)


def found(asked: Deferred, session_id: str) -> Row:
    row = asked.one()
    if row is None:
        raise unknown(session_id)
    return row


def unknown(session_id: str) -> NotFound:
    return NotFound(f"there is no session {session_id[:80]!r} in this store", hint=UNKNOWN)


def insert(tx: Tx, session: Session) -> None:
    values: dict[str, Any] = {
        "id": session.id,
        "seq": session.seq,
        "name": session.name,
        "state": session.state,
        "owner": session.owner,
        "owner_bound": int(session.owner_bound),
        **{name: time(getattr(session, name)) for name in TIMES},
        "summary": session.summary,
        "reason": session.reason,
        **session.scalars,
        "config": orjson.dumps(session.config.as_dict()).decode(),
        "version": session.version,
        "bytes": session.bytes,
        "era": session.era,
        "steady": session.steady,
    }
    names = ", ".join(values)
    tx.put(f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(values))})", *values.values())


TIMES = ("created_at", "activated_at", "suspended_at", "completed_at", "closed_at", "last_active_at")


def time(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def touch(tx: Tx, session_id: str, now: Moment, **changed: Any) -> None:
    """Record activity, and these columns."""
    values = {**changed, "last_active_at": micros(now.wall), "era": now.era, "steady": now.steady}
    names = ", ".join(f"{name} = ?" for name in values)
    tx.put(f"UPDATE sessions SET {names} WHERE id = ?", *values.values(), session_id)


def touch_all(tx: Tx, session_ids: Sequence[str]) -> None:
    now = tx.now()
    for each in session_ids:
        touch(tx, each, now)


def set_state(tx: Tx, session_id: str, state: SessionState, now: Moment, **more: Any) -> None:
    column = {"active": "activated_at", "suspended": "suspended_at"}.get(state, "completed_at")
    touch(tx, session_id, now, state=state, **{column: micros(now.wall)}, **more)


# -- agents


def ask_member(tx: Tx, session_id: str, agent: str) -> Deferred:
    return tx.ask("SELECT * FROM session_agents WHERE session_id = ? AND agent = ?", session_id, agent)


def ask_current(tx: Tx, agent: str) -> Deferred:
    return tx.ask("SELECT * FROM session_agents WHERE agent = ? AND here = 1", agent)


def membership(asked: Deferred) -> Membership | None:
    row = asked.one()
    return None if row is None else member_of(row)


def member_of(row: Row) -> Membership:
    return Membership(row["session_id"], row["agent"], row["role"], bool(row["bound"]), bool(row["here"]))


def members(tx: Tx, session_id: str) -> list[Membership]:
    rows = tx.all("SELECT * FROM session_agents WHERE session_id = ? ORDER BY at, agent", session_id)
    return [member_of(row) for row in rows]


def put_agent(tx: Tx, session_id: str, agent: str, role: Role, now: Moment, *, bound: bool, here: bool) -> None:
    if here:
        tx.put("UPDATE session_agents SET here = 0 WHERE agent = ? AND here = 1", agent)
    tx.put(_PUT_AGENT, session_id, agent, role, int(bound), int(here), micros(now.wall))


def send_away(tx: Tx, session_id: str, agent: str | None = None) -> None:
    """No longer here; None: every agent. They stay members."""
    chosen = "" if agent is None else " AND agent = ?"
    tx.put(
        f"UPDATE session_agents SET here = 0 WHERE session_id = ? AND here = 1{chosen}",
        *(session_id, *(() if agent is None else (agent,))),
    )


def drop_locks(tx: Tx, session_id: str) -> None:
    """The session has ended: its files are free."""
    tx.put("DELETE FROM file_locks WHERE session_id = ?", session_id)


def others_here(tx: Tx, session_id: str, agent: str) -> bool:
    sql = "SELECT 1 AS yes FROM session_agents WHERE session_id = ? AND here = 1 AND agent <> ? LIMIT 1"
    return tx.one(sql, session_id, agent) is not None


_PUT_AGENT = """
INSERT INTO session_agents (session_id, agent, role, bound, here, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, agent) DO UPDATE SET role = excluded.role, bound = excluded.bound, here = excluded.here
"""


# -- showing


def show(session: Session, *, member: bool) -> SessionShown:
    shown: SessionShown = {
        "id": session.id,
        "name": session.name,
        "state": session.state,
        "owner": session.owner,
        "member": member,
        "created_at": rfc3339(session.created_at),
        "activated_at": _shown(session.activated_at),
        "suspended_at": _shown(session.suspended_at),
        "completed_at": _shown(session.completed_at),
        "last_active_at": rfc3339(session.last_active_at),
    }
    if session.closed_at is not None:
        shown["closed_at"] = rfc3339(session.closed_at)
    if session.summary and session.state == "completed":
        shown["summary"] = session.summary
    if session.reason and member:
        shown["reason"] = session.reason
    return shown


def show_whole(tx: Tx, session: Session) -> SessionShown:
    """With all that is private."""
    items = context_items(tx, session.id)
    agents = members(tx, session.id)
    shown = show(session, member=True)
    shown["agents"] = [each.agent for each in agents if each.joined]
    shown["here"] = [each.agent for each in agents if each.here]
    shown["active_dag_id"] = session.scalars["active_dag_id"]
    shown["dag_history"] = items["dag_history"]
    shown["branch_name"] = session.scalars["branch_name"]
    shown["base_branch"] = session.scalars["base_branch"]
    shown["worktree"] = session.scalars["worktree"]
    shown["config"] = session.config.as_dict()
    shown["metadata"] = items["metadata"]
    shown["context"] = context_of(session, items)
    shown["version"] = session.version
    return shown


def context_items(tx: Tx, session_id: str) -> dict[str, Any]:
    """Lists and maps of a context, each in the order in which its items were added; empty ones too."""
    return collected(
        tx.all(
            "SELECT field, item, value FROM session_items WHERE session_id = ? ORDER BY field, position, item",
            session_id,
        )
    )


def context_of(session: Session, items: dict[str, Any]) -> dict[str, Any]:
    one = {name: session.scalars[name] for name in SCALARS if name not in OF_THE_SESSION}
    return one | {name: value for name, value in items.items() if name not in OF_THE_SESSION}


def _shown(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)


def page(
    tx: Tx, *, state: str | None, closed: bool, limit: int, cursor: str | None
) -> tuple[list[Session], int, str | None]:
    """Newest first; the total, and where to go on."""
    parts = [] if closed else ["closed_at IS NULL"]
    values: list[Any] = []
    if state is not None:
        parts, values = [*parts, "state = ?"], [state]
    where = " AND ".join(parts) or "1 = 1"
    total = tx.ask(f"SELECT count(*) AS n FROM sessions WHERE {where}", *values)
    if cursor:
        where, values = f"{where} AND seq < ?", [*values, _after(cursor)]
    rows = tx.all(f"SELECT * FROM sessions WHERE {where} ORDER BY seq DESC LIMIT ?", *values, limit + 1)
    more = str(rows[limit - 1]["seq"]) if len(rows) > limit else None
    counted = total.one()
    return [session_of(row) for row in rows[:limit]], counted["n"] if counted else 0, more


def stats(tx: Tx) -> SessionStats:
    rows = tx.all("SELECT state, count(*) AS n, sum(bytes) AS bytes FROM sessions GROUP BY state")

    def count(what: str) -> int:
        row = tx.one(f"SELECT count(*) AS n FROM {what}")
        return int(row["n"]) if row else 0

    return {
        "by_state": {row["state"]: int(row["n"]) for row in rows},
        "closed": count("sessions WHERE closed_at IS NOT NULL"),
        "agents_here": count("session_agents WHERE here = 1"),
        "promoted": count("session_promotions"),
        "context_bytes": sum(int(row["bytes"] or 0) for row in rows),
    }


def member_ids(tx: Tx, agent: str | None, bound: bool, session_ids: Sequence[str]) -> set[str]:
    """Which of these sessions the agent belongs to."""
    if agent is None or not session_ids:
        return set()
    marks = ", ".join("?" * len(session_ids))
    rows = tx.all(
        f"SELECT * FROM session_agents WHERE agent = ? AND role <> 'invited' AND session_id IN ({marks})",
        *(agent, *session_ids),
    )
    return {row["session_id"] for row in rows if bound or not row["bound"]}


def _after(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise InvalidInput(f"cursor {cursor[:40]!r} is not one of ours", hint="Pass next_cursor of the page before.")
    return int(cursor)
