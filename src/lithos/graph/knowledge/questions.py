"""Questions across domains: the history of code, the code of an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.errors import InvalidInput, NotFound
from lithos.graph.code import find
from lithos.graph.history.values import HistoryRow
from lithos.graph.knowledge.commit_entries import FIX
from lithos.graph.knowledge.commit_entries import as_row as commit_row
from lithos.graph.knowledge.knowledge import Knowledge
from lithos.graph.knowledge.nodes import Node, NodeShown
from lithos.graph.model import Domain, KnowledgeEdge

TOUCHING = (KnowledgeEdge.MODIFIED, KnowledgeEdge.CREATED, KnowledgeEdge.DELETED, KnowledgeEdge.REFERENCED)


class CodeHistoryRow(HistoryRow):
    edge: str
    how: str
    was_bug: bool  # a fix, or a failure


class CodeHistory(TypedDict):
    of: NodeShown
    results: list[CodeHistoryRow]
    total: int
    bugs: int  # how many of all were one
    degraded: bool
    degraded_reason: NotRequired[str]


class LinkedNode(NodeShown):
    edge: str
    how: str
    weight: float


class LinkedNodes(TypedDict):
    of: NodeShown
    results: list[LinkedNode]
    total: int
    degraded: bool
    degraded_reason: NotRequired[str]


def history_for_code(graph: Knowledge, call: Call, symbol_id: str, limit: int) -> CodeHistory:
    """When it was made and changed, why, and which of it was a bug; the newest first."""
    reason = graph.catch_up()
    node = code_node(graph, call, symbol_id)
    root, _, inside = node.id.partition(":")
    rows: dict[str, CodeHistoryRow] = {}
    for commit, kind in graph.commits.commits.into(root, inside):
        rows.setdefault(commit["sha"], _row(commit_row(commit), kind.name.lower(), "commit"))
    for edge in (*graph.asserted.into(node.id, TOUCHING), *graph.store.into(node.id, TOUCHING)):
        row = graph.entry_row(call, edge.source)
        if row is not None:
            rows.setdefault(row["id"], _row(row, edge.type.name.lower(), edge.how))
    ordered = sorted(rows.values(), key=lambda row: row["timestamp"], reverse=True)
    problem = graph.commits.problems().get(root, "")
    reasons = [each for each in (reason, f"commits of {root} are not read: {problem}" if problem else "") if each]
    bugs = sum(row["was_bug"] for row in ordered)
    answer = {"of": node.shown, "results": ordered[:limit], "total": len(ordered), "bugs": bugs}
    return cast(CodeHistory, {**answer, **_degraded(reasons)})


def code_for_history(graph: Knowledge, call: Call, history_id: str) -> LinkedNodes:
    """The code that an entry or commit made, changed, removed or names."""
    reason = graph.catch_up()
    node = graph.nodes.find(call, history_id)
    if node.domain is not Domain.HISTORY:
        raise InvalidInput(f"{history_id[:80]!r} is no entry of history", hint="lithos_search_history shows ids.")
    return linked(graph, call, node, [reason], out=TOUCHING, domain="code", limit=500)


def code_node(graph: Knowledge, call: Call, text: str) -> Node:
    """A file or symbol, also one that is gone."""
    exact = graph.nodes.get(call, text.strip())
    if exact is not None and exact.domain is Domain.CODE:
        return exact
    symbol = find(graph.code.visible(call), text)
    found = graph.nodes.get(call, symbol.id)
    if found is None:
        raise NotFound(f"{text[:80]!r} is gone", hint="lithos_search_code finds code by words.")
    return found


def linked(
    graph: Knowledge,
    call: Call,
    node: Node,
    reasons: Sequence[str],
    *,
    out: Sequence[KnowledgeEdge] = (),
    into: Sequence[KnowledgeEdge] = (),
    domain: str,
    limit: int,
) -> LinkedNodes:
    found = graph.neighbours(call, node.id, out=out, into=into, domain=domain)
    rows = [
        {**each.node.shown, "edge": each.edge.type.name.lower(), "how": each.edge.how, "weight": each.edge.weight}
        for each in found
    ]
    answer = {"of": node.shown, "results": rows[:limit], "total": len(rows)}
    return cast(LinkedNodes, {**answer, **_degraded([each for each in reasons if each])})


def _row(row: HistoryRow, edge: str, how: str) -> CodeHistoryRow:
    was_bug = row.get("summary_type") == FIX or row["category"] == "failure"
    return cast(CodeHistoryRow, {**row, "edge": edge, "how": how, "was_bug": was_bug})


def _degraded(reasons: Sequence[str]) -> dict[str, Any]:
    return {"degraded": True, "degraded_reason": "; ".join(reasons)} if reasons else {"degraded": False}
