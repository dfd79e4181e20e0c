"""Asserted edges: rows of the database that agents write, with an event each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.core.validators import text_block
from lithos.errors import InvalidInput, NotFound, TooLarge
from lithos.graph.knowledge.edges import Edge
from lithos.graph.model import KnowledgeEdge
from lithos.storage import Database, Effects, EventDraft, Outcome, Row, Tx

LONGEST_REASON = 2_000
_UPSERT = """
INSERT INTO graph_edges (source_id, target_id, edge_type, weight, reason, agent, at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (source_id, target_id, edge_type)
DO UPDATE SET weight = excluded.weight, reason = excluded.reason, agent = excluded.agent, at = excluded.at
"""


class LinkAnswer(TypedDict):
    source_id: str
    target_id: str
    edge_type: str
    changed: str  # created, updated, removed


class AssertedEdges:
    """Unique by source, target and type: asserting one again replaces its weight and reason."""

    def __init__(self, database: Database, effects: Effects, clock: Clock, *, most: int = 100_000) -> None:
        self._database = database
        self._effects = effects
        self._clock = clock
        self._most = most

    def link(self, call: Call, source: str, target: str, kind: KnowledgeEdge, weight: float, reason: str) -> LinkAnswer:
        why = text_block(reason, "reason", LONGEST_REASON)
        if source == target:
            raise InvalidInput("an edge joins two different nodes", hint="Name another target.")

        def work(tx: Tx) -> Outcome:
            tx.lock("graph_edges")
            known = tx.one(f"SELECT weight FROM graph_edges WHERE {_ONE}", source, target, int(kind))
            if known is None:
                self._need_room(tx)
            by = call.agent or call.user or "operator"
            tx.put(_UPSERT, source, target, int(kind), weight, why, by, micros(self._clock.now()))
            changed = "created" if known is None else "updated"
            return _outcome(source, target, kind, changed, {"weight": weight, "reason": why})

        return cast(LinkAnswer, self._effects.commit(call, work))

    def unlink(self, call: Call, source: str, target: str, kind: KnowledgeEdge) -> LinkAnswer:
        def work(tx: Tx) -> Outcome:
            known = tx.one(f"SELECT weight, reason, agent FROM graph_edges WHERE {_ONE}", source, target, int(kind))
            if known is None:
                raise NotFound(
                    f"there is no asserted {kind.name.lower()} from {source[:80]!r} to {target[:80]!r}",
                    hint="lithos_get_edges shows the edges of a node. Derived ones end when their text does.",
                )
            tx.put(f"DELETE FROM graph_edges WHERE {_ONE}", source, target, int(kind))
            return _outcome(source, target, kind, "removed", dict(known))

        return cast(LinkAnswer, self._effects.commit(call, work))

    def out_of(self, ids: Sequence[str], kinds: Sequence[KnowledgeEdge] = ()) -> list[Edge]:
        """Edges that begin at one of these."""
        return self._edges("source_id", ids, kinds)

    def into(self, ids: Sequence[str], kinds: Sequence[KnowledgeEdge] = ()) -> list[Edge]:
        """Edges that end at one of these."""
        return self._edges("target_id", ids, kinds)

    def count(self) -> int:
        row = self._database.read(lambda tx: tx.one("SELECT count(*) AS n FROM graph_edges"))
        return int(row["n"]) if row else 0

    def _edges(self, column: str, ids: Sequence[str], kinds: Sequence[KnowledgeEdge]) -> list[Edge]:
        asked = f"SELECT * FROM graph_edges WHERE {column} IN ({', '.join('?' * len(ids))}) ORDER BY at"
        rows = self._database.read(lambda tx: tx.all(asked, *ids))
        found = map(_edge, rows)
        return [each for each in found if not kinds or each.type in kinds]

    def _need_room(self, tx: Tx) -> None:
        row = tx.one("SELECT count(*) AS n FROM graph_edges")
        if row is not None and row["n"] >= self._most:
            raise TooLarge(
                f"there are {self._most} asserted edges already", hint="Remove some, or raise graph.most_links."
            )


_ONE = "source_id = ? AND target_id = ? AND edge_type = ?"


def _outcome(source: str, target: str, kind: KnowledgeEdge, changed: str, details: dict[str, object]) -> Outcome:
    answer = {"source_id": source, "target_id": target, "edge_type": kind.name.lower(), "changed": changed}
    op = "unlink" if changed == "removed" else "link"
    return Outcome(answer, (EventDraft("graph", op, thing=source, details={**answer, **details}),))


def _edge(row: Row) -> Edge:
    kind = KnowledgeEdge(row["edge_type"])
    return Edge(row["source_id"], row["target_id"], kind, row["weight"], "asserted", row["agent"], row["reason"])
