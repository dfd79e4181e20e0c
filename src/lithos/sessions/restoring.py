"""A session's rows from a snapshot: in this store, under its id or a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from lithos.core.clock import parse_time
from lithos.core.names import agent_name
from lithos.errors import InvalidInput, TooLarge
from lithos.sessions import store
from lithos.sessions.context import MOST_BYTES, parse_changes, write_context
from lithos.sessions.model import MAPS, SCALARS, STATES, Session, SessionConfig, session_name
from lithos.sessions.rules import new_session
from lithos.storage import JournalHead, Tx

PARTS = "snapshot_parts"  # sections of a snapshot that no part of this version knows


@dataclass(frozen=True, slots=True)
class RestoredSession:
    """A snapshot's session, checked before anything is written."""

    session: Session
    context: Mapping[str, Any]
    agents: tuple[str, ...]
    here: frozenset[str]
    parts: Mapping[str, str]  # section → JSON


def read_session(
    shown: Mapping[str, Any],
    parts: Mapping[str, Any],
    head: JournalHead,
    *,
    new_id: str | None,
    owner: str,
    bound: bool,
) -> RestoredSession:
    """From `SessionShown` as a snapshot holds it. An active session comes back suspended: no agent is in it here."""
    try:
        config = SessionConfig().with_changes(shown["config"])
        session = new_session(
            new_id or shown["id"], 0, session_name(shown["name"]), owner, config, head.now, bound=bound
        )
        state = shown["state"]
        if state not in STATES:
            raise InvalidInput(f"the snapshot's state {str(state)[:40]!r} is unknown")
        context = {**shown["context"], "metadata": shown["metadata"], "dag_history": shown["dag_history"]}
        scalars = {name: context.pop(name, None) if name in context else shown.get(name) for name in SCALARS}
        session = replace(
            session,
            state="suspended" if state == "active" else state,
            created_at=parse_time(shown["created_at"]),
            activated_at=_time(shown["activated_at"]),
            suspended_at=_time(shown["suspended_at"]),
            completed_at=_time(shown["completed_at"]),
            last_active_at=parse_time(shown["last_active_at"]),
            summary=shown.get("summary"),
            reason=shown.get("reason"),
            scalars=scalars,
        )
        agents = tuple(agent_name(each) for each in shown["agents"])
        here = frozenset(shown["here"])
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the snapshot's session is not whole: {error}", hint="Make the snapshot again.") from None
    return RestoredSession(
        session, context, agents, here, {name: orjson.dumps(each).decode() for name, each in parts.items()}
    )


def write_session(tx: Tx, restored: RestoredSession, head: JournalHead, seq: int, version: int) -> None:
    session = replace(restored.session, seq=seq)
    changes = {name: {"add": value} if name in MAPS else value for name, value in restored.context.items() if value}
    scalars = {name: value for name, value in session.scalars.items() if value is not None}
    store.insert(tx, replace(session, scalars=dict.fromkeys(SCALARS)))
    before = {"version": 0, "bytes": 0, **dict.fromkeys(SCALARS)}
    size = write_context(tx, session.id, before, parse_changes({**changes, **scalars}))
    for number, (name, text) in enumerate(restored.parts.items()):
        size += len(name) + len(text.encode())
        tx.put(_PUT_PART, session.id, PARTS, name, number, text)
    if size > MOST_BYTES:
        raise TooLarge(f"the session has {size:,} bytes; {MOST_BYTES:,} is the most")
    tx.put("UPDATE sessions SET version = ?, bytes = ? WHERE id = ?", max(version, 1), size, session.id)
    role: store.Role = "invited" if session.owner_bound else "member"
    for agent in dict.fromkeys((session.owner, *restored.agents)):
        mine = agent == session.owner
        # It becomes the current session of those who were in it, unless they are in another one here.
        free = store.ask_current(tx, agent).one() is None
        here = agent in restored.here and free and (mine or role == "member") and session.completed_at is None
        bound = mine and session.owner_bound
        store.put_agent(tx, session.id, agent, "owner" if mine else role, head.now, bound=bound, here=here)


def kept_parts(tx: Tx, session_id: str) -> dict[str, Any]:
    rows: Sequence[Any] = tx.all(
        "SELECT item, value FROM session_items WHERE session_id = ? AND field = ? ORDER BY position", session_id, PARTS
    )
    return {row["item"]: orjson.loads(row["value"]) for row in rows}


def _time(text: str | None) -> datetime | None:
    return None if text is None else parse_time(text)


_PUT_PART = "INSERT INTO session_items (session_id, field, item, position, value) VALUES (?, ?, ?, ?, ?)"
