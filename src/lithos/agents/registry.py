"""Agents: known from their first call; `register` adds name, type and metadata."""

from __future__ import annotations

import difflib
import threading
from contextlib import suppress
from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, parse_time, rfc3339
from lithos.core.cursor import next_page, offset_of
from lithos.core.names import agent_name, looks_like
from lithos.core.part import Part
from lithos.core.secrets import find as find_secrets
from lithos.errors import LithosError, NotFound
from lithos.storage import Database, Effects, EventDraft, Outcome, Row, Tx

CHANNEL = "agents"
MOST_PENDING = 10_000  # on a full disk nothing can be written; new agents beyond this are dropped
MOST_LISTED = 1000  # agents in one answer

AWAY = 30 * 60 * 1_000_000  # microseconds without a call that end a visit
_NOTE = f"""
INSERT INTO agents (id, metadata, first_seen_at, last_seen_at) VALUES (?, '{{}}', ?, ?)
ON CONFLICT (id) DO UPDATE SET
    last_seen_at = excluded.last_seen_at,
    visit_ended_at = CASE WHEN excluded.first_seen_at - agents.last_seen_at > {AWAY}
        THEN agents.last_seen_at ELSE agents.visit_ended_at END
WHERE agents.last_seen_at < excluded.last_seen_at
"""
_REGISTER = """
INSERT INTO agents (id, name, type, metadata, first_seen_at, last_seen_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, type = excluded.type, metadata = excluded.metadata, last_seen_at = excluded.last_seen_at
"""


class Registered(TypedDict):
    success: bool
    created: bool


class AgentInfo(TypedDict):
    id: str
    name: str | None
    type: str | None
    first_seen_at: str
    last_seen_at: str
    metadata: dict[str, Any]


class ListedAgent(TypedDict):
    id: str
    name: str | None
    type: str | None
    last_seen_at: str


class AgentList(TypedDict):
    agents: list[ListedAgent]
    total: int
    next_cursor: NotRequired[str]


class Agents(Part):
    def __init__(self, database: Database, effects: Effects, clock: Clock) -> None:
        self._database = database
        self._effects = effects
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[str, tuple[int, int]] = {}  # id → first and last time seen, not yet in the table
        self._once_known: set[str] = set()
        self._names: dict[str, str] | None = None  # of those that registered one; None: to be read
        self._stop_listening = database.listen(CHANNEL, self._drop_names)

    def seen(self, agent: str) -> None:
        """Record that this agent called. The first call ever is written at once, so that a killed host does not make
        it unknown to those who write to it; `flush` writes the later ones, behind the answers.

        A credential in place of a name is not recorded: a read says nothing of what it stores.
        """
        now = micros(self._clock.now())
        with self._lock:
            held = self._pending.get(agent)
            if held is None and (len(self._pending) >= MOST_PENDING or find_secrets(agent)):
                return
            self._pending[agent] = (held[0] if held else now), now
            if held is not None or agent in self._once_known:
                return
        with suppress(LithosError):  # a full or read-only disk: `flush` tries again
            if not self._is_written(agent):
                self.flush()
                self._once_known.add(agent)

    def flush(self) -> None:
        with self._lock:
            pending = dict(self._pending)
        if not pending:
            return
        # Sorted: two hosts that write the same agents at once cannot deadlock.
        self._database.write(lambda tx: tx.many(_NOTE, [(name, *pending[name]) for name in sorted(pending)]))
        with self._lock:
            for name, times in pending.items():
                if self._pending.get(name) == times:
                    del self._pending[name]

    def close(self) -> None:
        self._stop_listening()
        self.flush()

    def name_of(self, agent: str) -> str | None:
        """The name that the agent registered. From memory: lists of thoughts ask for each of theirs."""
        names = self._names
        if names is None:
            sql = "SELECT id, name FROM agents WHERE name IS NOT NULL"
            names = {row["id"]: row["name"] for row in self._database.read(lambda tx: tx.all(sql))}
            self._names = names
        return names.get(agent)

    def _drop_names(self) -> None:
        self._names = None

    def forget(self, id: str) -> None:
        """Remove an agent that is known only because it called; one that registered stays."""
        self.flush()
        self._once_known.discard(id)
        sql = "DELETE FROM agents WHERE id = ? AND name IS NULL AND type IS NULL AND metadata = '{}'"
        self._database.write(lambda tx: tx.run(sql, id))

    def register(
        self, call: Call, id: str, name: str | None, type: str | None, metadata: dict[str, Any] | None
    ) -> Registered:
        agent = agent_name(id, "id")
        now = micros(self._clock.now())
        first = self._first_seen(agent)

        given = {"name": name, "type": type, "metadata": None if metadata is None else orjson.dumps(metadata).decode()}

        def work(tx: Tx) -> Outcome:
            tx.lock(f"agent {agent}")  # keeps what another host registers at the same moment
            known = tx.one("SELECT * FROM agents WHERE id = ?", agent)
            kept = _merged(known, given)
            tx.put(_REGISTER, agent, kept["name"], kept["type"], kept["metadata"], first or now, now)
            tx.notify(CHANNEL)
            created = known is None and first is None
            event = EventDraft(type="agent", op="create" if created else "update", thing=agent)
            return Outcome({"success": True, "created": created}, (event,))

        answer = self._effects.commit(call, work)
        return {"success": answer["success"], "created": answer["created"]}

    def info(self, id: str) -> AgentInfo:
        row = self._database.read(lambda tx: tx.one("SELECT * FROM agents WHERE id = ?", id))
        row = self._with_pending(id, row)
        if row is None:
            raise NotFound(f"no agent is called {id[:80]!r}", hint="lithos_agent_list names those that are known.")
        return {
            "id": row["id"],
            "name": row["name"],
            "type": row["type"],
            "first_seen_at": rfc3339(from_micros(row["first_seen_at"])),
            "last_seen_at": rfc3339(from_micros(row["last_seen_at"])),
            "metadata": orjson.loads(row["metadata"]),
        }

    def last_visit(self, agent: str) -> str | None:
        """Until when the agent has followed what others do: the cursor that it confirmed, or the time at which its
        visit before this one ended, if that is later. None: it was never here before."""
        row = self._database.read(lambda tx: tx.one("SELECT * FROM agents WHERE id = ?", agent))
        if row is None:
            return None
        came = self._first_seen(agent) or micros(self._clock.now())
        ended = row["last_seen_at"] if came - row["last_seen_at"] > AWAY else row["visit_ended_at"]
        if row["confirmed"] is not None and row["confirmed_at"] >= (ended or 0):
            return str(row["confirmed"])
        return rfc3339(from_micros(ended)) if ended is not None else None

    def confirm(self, agent: str, cursor: str) -> None:
        """The agent has read everything up to this cursor."""
        now = micros(self._clock.now())
        self.seen(agent)
        self.flush()
        self._database.write(
            lambda tx: tx.run("UPDATE agents SET confirmed = ?, confirmed_at = ? WHERE id = ?", cursor, now, agent)
        )

    def knows(self, agent: str) -> bool:
        """Whether it ever called."""
        with self._lock:
            if agent in self._pending or agent in self._once_known:
                return True
        return self._is_written(agent)

    def _is_written(self, agent: str) -> bool:
        if self._database.read(lambda tx: tx.one("SELECT 1 AS yes FROM agents WHERE id = ?", agent)) is None:
            return False
        self._once_known.add(agent)
        return True

    def names(self) -> list[str]:
        return [row["id"] for row in self._all()]

    def others_named(self, name: str, agent: str) -> list[str]:
        """Agents but this one whose id or registered name a reader takes for this name."""
        wanted = looks_like(name)
        others = (row for row in self._all() if row["id"] != agent)
        return [row["id"] for row in others if wanted in (looks_like(row["id"]), looks_like(row["name"] or ""))]

    def near(self, agent: str, most: int = 3) -> list[str]:
        """Known names that a typo may have meant."""
        return difflib.get_close_matches(agent, self.names(), n=most, cutoff=0.5)

    def count(self) -> int:
        return len(self._all())

    def _all(self) -> list[Row]:
        rows = self._database.read(lambda tx: tx.all("SELECT id, name, type, last_seen_at FROM agents"))
        known = {row["id"]: row for row in rows}
        with self._lock:
            pending = list(self._pending)
        for agent in pending:
            merged = self._with_pending(agent, known.get(agent))
            if merged is not None:
                known[agent] = merged
        return list(known.values())

    def _first_seen(self, agent: str) -> int | None:
        with self._lock:
            held = self._pending.get(agent)
        return held[0] if held else None

    def _with_pending(self, agent: str, row: Row | None) -> Row | None:
        """The row as it will be after the next flush."""
        with self._lock:
            held = self._pending.get(agent)
        if held is None:
            return row
        if row is None:
            first, last = held
            return {
                "id": agent,
                "name": None,
                "type": None,
                "metadata": "{}",
                "first_seen_at": first,
                "last_seen_at": last,
            }
        return {**row, "last_seen_at": max(row["last_seen_at"], held[1])}

    def list(
        self, type: str | None, active_since: str | None, limit: int, offset: int, cursor: str | None = None
    ) -> AgentList:
        """The last seen first."""
        filters = ["lithos_agent_list", type, active_since]
        offset = offset_of(cursor, filters) if cursor else offset
        since = None if active_since is None else micros(parse_time(active_since, "active_since"))
        rows = [row for row in self._all() if _matches(row, type, since)]
        rows.sort(key=lambda row: (-row["last_seen_at"], row["id"]))
        more = next_page(filters, offset, limit, len(rows))
        return {"agents": [_listed(row) for row in rows[offset : offset + limit]], "total": len(rows), **more}


def _merged(known: Row | None, given: dict[str, str | None]) -> Row:
    """The record with the given fields replaced."""
    before = known or {"name": None, "type": None, "metadata": "{}"}
    return {field: before[field] if value is None else value for field, value in given.items()}


def _matches(row: Row, type: str | None, since: int | None) -> bool:
    return (type is None or row["type"] == type) and (since is None or row["last_seen_at"] >= since)


def _listed(row: Row) -> ListedAgent:
    return {
        "id": row["id"],
        "name": row["name"],
        "type": row["type"],
        "last_seen_at": rfc3339(from_micros(row["last_seen_at"])),
    }
