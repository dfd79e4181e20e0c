"""Event queries: who did what to which path, when, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import orjson
from typing_extensions import TypedDict

from lithos.core.clock import from_micros, micros, rfc3339
from lithos.core.since import check_bounds
from lithos.errors import InvalidInput
from lithos.storage.values import Row, Tx

STATUSES = ("pending", "written", "committed", "failed", "conflict")
MOST = 500


class Event(TypedDict):
    sequence: int
    id: str
    at: str
    updated_at: str
    tool: str
    type: str
    op: str
    agent: str | None
    user: str | None
    thing: str
    path: str | None
    section_anchor: str | None
    before_hash: str | None
    after_hash: str | None
    status: str
    rationale: str | None
    lint: dict[str, Any] | None
    details: dict[str, Any]
    error: dict[str, Any] | None
    tool_call_id: str | None
    transaction_id: str | None
    agent_action_id: str | None
    store: str


class EventPage(TypedDict):
    events: list[Event]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Everything given must hold; newest first."""

    id: str | None = None
    agent: str | None = None
    user_id: str | None = None
    path: str | None = None
    thing: str | None = None
    type: str | None = None
    op: str | None = None
    status: str | None = None
    tool_call_id: str | None = None
    transaction_id: str | None = None
    agent_action_id: str | None = None
    store: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        check_bounds(self.since, self.until)


_BOUNDS = ("since", "until")


def find(tx: Tx, wanted: EventFilter, limit: int = 50, cursor: str | None = None) -> EventPage:
    where, values = _where(wanted, cursor)
    limit = max(1, min(limit, MOST))
    rows = tx.all(f"SELECT * FROM events{where} ORDER BY at DESC, sequence DESC LIMIT ?", *values, limit + 1)
    shown = rows[:limit]
    last = shown[-1] if len(rows) > limit else None
    return {"events": list(map(_event, shown)), "next_cursor": f"{last['at']}-{last['sequence']}" if last else None}


def committed(
    tx: Tx, store: str, *, after: Mapping[str, int] | None, since: int, most: int
) -> tuple[list[Event], dict[str, int]]:
    """Committed events, newest first: after a position of each chain, which is the order of its commits, or since a
    time (microseconds). And where the chains end now, to go on from. The board and the skills are every store's, notes
    are files of one."""
    heads = {row["store"]: int(row["length"]) for row in tx.all("SELECT store, length FROM event_heads")}
    if after is None:
        rows = tx.all(
            f"SELECT e.* FROM events e WHERE e.at >= ? AND e.status = 'committed' AND {_SEEN}"
            " ORDER BY e.at DESC, e.sequence DESC LIMIT ?",
            *(since, store, most),
        )
        return list(map(_event, rows)), heads
    rows = []
    for each, length in heads.items():
        if after.get(each, 0) < length:
            rows += tx.all(
                "SELECT e.* FROM event_chain c JOIN events e ON e.id = c.event_id AND e.position = c.position"
                f" WHERE c.store = ? AND c.position > ? AND e.status = 'committed' AND {_SEEN}"
                " ORDER BY c.position DESC LIMIT ?",
                *(each, after.get(each, 0), store, most),
            )
    if len(heads) > 1:
        rows.sort(key=lambda row: (row["at"], row["sequence"]), reverse=True)
    return list(map(_event, rows[:most])), heads


_SEEN = "(e.store = ? OR e.type IN ('task', 'skill'))"


def _where(wanted: EventFilter, cursor: str | None) -> tuple[str, list[Any]]:
    if wanted.status is not None and wanted.status not in STATUSES:
        raise InvalidInput(f"status: {wanted.status!r} is none", hint=f"One of {', '.join(STATUSES)}.")
    terms: list[str] = []
    values: list[Any] = []
    for name in (field.name for field in fields(EventFilter) if field.name not in _BOUNDS):
        if getattr(wanted, name) is not None:
            terms.append(f"{name} = ?")
            values.append(getattr(wanted, name))
    if wanted.status not in (None, "committed"):
        terms.append("status <> 'committed'")  # in the words of the partial index, which is not used otherwise
    for name, compare in (("since", ">="), ("until", "<")):
        if getattr(wanted, name) is not None:
            terms.append(f"at {compare} ?")
            values.append(micros(getattr(wanted, name)))
    if cursor is not None:
        terms.append("(at, sequence) < (?, ?)")
        values += _parsed(cursor)
    return (" WHERE " + " AND ".join(terms) if terms else ""), values


def _parsed(cursor: str) -> list[int]:
    at, _, sequence = cursor.rpartition("-")
    if not (at.isdigit() and sequence.isdigit() and len(cursor) < 40):
        raise InvalidInput(
            "cursor is not one that this server returned", hint="Pass next_cursor of the page before, unchanged."
        )
    return [int(at), int(sequence)]


def _event(row: Row) -> Event:
    shown = {name: row[name] for name in Event.__annotations__ if name != "user"}
    times = {name: rfc3339(from_micros(row[name])) for name in ("at", "updated_at")}
    parsed = {name: orjson.loads(row[name]) if row[name] is not None else None for name in ("lint", "details", "error")}
    return {**shown, **times, **parsed, "user": row["user_id"]}  # type: ignore[typeddict-item]
