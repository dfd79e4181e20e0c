"""Stored conflicts: one row per pair, resolved by an agent or a person; the loser sinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.ids import Ids
from lithos.core.validators import text_block
from lithos.errors import InvalidInput, NotFound
from lithos.graph.trust.conflict_detection import CONFLICT_NAMES, Conflict, ConflictType
from lithos.storage import Database, Effects, EventDraft, Outcome, Row, Tx

MOST_SHOWN = 200
KEPT = 50_000


class ConflictShown(TypedDict):
    conflict_id: str
    type: str
    subject: str
    node_a: str
    node_b: str
    description: str
    resolution: str
    resolved: bool
    winner: NotRequired[str]
    reason: NotRequired[str]
    detected_at: str


class ConflictRows:
    def __init__(self, database: Database, effects: Effects, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._effects = effects
        self._clock = clock
        self._ids = ids

    def record(self, conflicts: Sequence[Conflict]) -> None:
        """Add the pairs that have no row. A resolved pair stays resolved."""
        known = self.of_nodes([each.a for each in conflicts])
        pairs = {(row["node_a"], row["node_b"]) for row in known}
        new = [each for each in conflicts if (each.a, each.b) not in pairs]
        now = micros(self._clock.now())
        rows = [
            (self._ids.sortable(), int(each.type), each.subject, each.a, each.b, each.description, each.resolution, now)
            for each in new
        ]
        sql = (
            "INSERT INTO graph_conflicts "
            "(conflict_id, type, subject, node_a, node_b, description, resolution, detected_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (node_a, node_b) DO NOTHING"
        )
        if rows:
            self._database.write(lambda tx: tx.many(sql, rows))

    def of_nodes(self, ids: Sequence[str]) -> list[ConflictShown]:
        """Conflicts that have one of these nodes on either side."""
        part = list(dict.fromkeys(ids))[:400]
        marks = ", ".join("?" * len(part))
        sql = (
            f"SELECT * FROM graph_conflicts WHERE node_a IN ({marks}) OR node_b IN ({marks}) ORDER BY detected_at DESC"
        )
        rows = self._database.read(lambda tx: tx.all(sql, *part, *part)) if part else []
        return [shown(row) for row in rows]

    def find(
        self, subject: str | None, kind: ConflictType | None, resolved: bool, sees: Callable[[str], bool], limit: int
    ) -> list[ConflictShown]:
        """Newest first; only pairs of which the caller sees both sides."""
        conditions, values = ["resolved = ?"], [int(resolved)]
        if subject:
            name = subject.strip().lower()
            conditions.append("subject IN (?, ?)")  # lithos_classify_query writes session_storage
            values += [name, name.replace("_", " ")]  # type: ignore[list-item]
        if kind is not None:
            conditions.append("type = ?")
            values.append(int(kind))
        where = " AND ".join(conditions)
        sql = f"SELECT * FROM graph_conflicts WHERE {where} ORDER BY detected_at DESC, conflict_id LIMIT ?"
        rows = self._database.read(lambda tx: tx.all(sql, *values, MOST_SHOWN))
        seen = (row for row in rows if sees(row["node_a"]) and sees(row["node_b"]))
        return [shown(row) for row in seen][:limit]

    def resolve(
        self, call: Call, conflict_id: str, resolution: str, winner: str, sees: Callable[[str], bool]
    ) -> dict[str, Any]:
        text_block(resolution, "resolution", 2_000)
        now = micros(self._clock.now())

        def work(tx: Tx) -> Outcome:
            tx.lock("graph_conflicts")
            row = tx.one("SELECT * FROM graph_conflicts WHERE conflict_id = ?", conflict_id.strip())
            if row is None or not (sees(row["node_a"]) and sees(row["node_b"])):
                raise NotFound(f"there is no conflict {conflict_id[:60]!r}", hint="lithos_graph_conflicts lists them.")
            if winner not in (row["node_a"], row["node_b"]):
                sides = [row["node_a"], row["node_b"]]
                raise InvalidInput(
                    f"{winner[:120]!r} is no side of it", hint="Send one of `candidates`.", candidates=sides
                )
            loser = row["node_b"] if winner == row["node_a"] else row["node_a"]
            tx.put(
                "UPDATE graph_conflicts SET resolved = 1, winner = ?, reason = ?, resolved_at = ?, resolved_by = ? "
                "WHERE conflict_id = ?",
                *(winner, resolution, now, call.agent or call.user or "operator", row["conflict_id"]),
            )
            event = EventDraft("graph_conflict", "resolve", thing=row["conflict_id"])
            answer = {"success": True, "conflict_id": row["conflict_id"], "winner": winner, "loser": loser}
            return Outcome(answer, (event,))

        return self._effects.commit(call, work)

    def losers(self, ids: Sequence[str]) -> dict[str, str]:
        """Node → why a resolved conflict went against it."""
        wanted = set(ids)
        lost: dict[str, str] = {}
        for row in self.of_nodes(ids):
            if row["resolved"] and "winner" in row:
                loser = row["node_b"] if row["winner"] == row["node_a"] else row["node_a"]
                if loser in wanted:
                    lost[loser] = f"lost a conflict to {row['winner']}: {row.get('reason', '')}"
        return lost

    def prune(self) -> int:
        """Drop the oldest resolved rows above the bound."""
        sql = (
            "DELETE FROM graph_conflicts WHERE conflict_id IN ("
            "SELECT conflict_id FROM graph_conflicts WHERE resolved = 1 ORDER BY detected_at DESC LIMIT 1000 OFFSET ?)"
        )
        return self._database.write(lambda tx: tx.run(sql, KEPT))


def shown(row: Row) -> ConflictShown:
    found: ConflictShown = {
        "conflict_id": row["conflict_id"],
        "type": CONFLICT_NAMES[ConflictType(row["type"])],
        "subject": row["subject"],
        "node_a": row["node_a"],
        "node_b": row["node_b"],
        "description": row["description"],
        "resolution": row["resolution"],
        "resolved": bool(row["resolved"]),
        "detected_at": rfc3339(from_micros(row["detected_at"])),
    }
    if row["winner"]:
        found["winner"] = row["winner"]
        found["reason"] = row["reason"] or ""
    return found
