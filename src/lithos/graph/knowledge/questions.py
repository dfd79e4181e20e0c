"""Questions across domains: the history of code, the code of an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, cast

from lithos.core.call import Call
from lithos.core.cursor import NextPage
from lithos.errors import InvalidInput, NotFound
from lithos.graph.code import find
from lithos.graph.history.facts import Fact, facts_in
from lithos.graph.history.history import History
from lithos.graph.history.question import HistoryQuestion
from lithos.graph.history.values import HistoryRow
from lithos.graph.knowledge.commit_entries import FIX
from lithos.graph.knowledge.commit_entries import as_row as commit_row
from lithos.graph.knowledge.knowledge import Knowledge, Neighbour
from lithos.graph.knowledge.nodes import Node, NodeShown
from lithos.graph.model import Domain, KnowledgeEdge

RESTING = (KnowledgeEdge.BASED_ON, KnowledgeEdge.REFERENCES, KnowledgeEdge.VALIDATED_BY)
ALL_ROWS = 100_000
MOST_CANDIDATES = 10
TOUCHING = (KnowledgeEdge.MODIFIED, KnowledgeEdge.CREATED, KnowledgeEdge.DELETED, KnowledgeEdge.REFERENCED)


class CodeHistoryRow(HistoryRow):
    edge: str
    how: str
    was_bug: bool  # a fix, or a failure


class CodeHistory(NextPage):
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


class LinkedNodes(NextPage):
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
    edges = [*graph.asserted.into([node.id], TOUCHING), *graph.store.into([node.id], TOUCHING)]
    written = graph.nodes.entries(call, [edge.source for edge in edges])
    for edge in edges:
        row = written.get(edge.source) or graph.entry_row(call, edge.source)
        if row is not None:
            rows.setdefault(row["id"], _row(row, edge.type.name.lower(), edge.how))
    ordered = sorted(rows.values(), key=lambda row: row["timestamp"], reverse=True)
    problem = graph.commits.problems().get(root, "")
    reasons = [each for each in (reason, f"commits of {root} are not read: {problem}" if problem else "") if each]
    bugs = sum(row["was_bug"] for row in ordered)
    answer = {"of": node.shown, "results": ordered[:limit], "total": len(ordered), "bugs": bugs}
    return cast(CodeHistory, {**answer, **_degraded(reasons)})


def code_for_history(graph: Knowledge, call: Call, history_id: str, limit: int = ALL_ROWS) -> LinkedNodes:
    """The code that an entry or commit made, changed, removed or names."""
    reason, node = graph.catch_up(), graph.nodes.find(call, history_id, Domain.HISTORY)
    return linked(graph, call, node, [reason], out=TOUCHING, domain="code", limit=limit)


def code_node(graph: Knowledge, call: Call, text: str) -> Node:
    """A file or symbol, also one that is gone."""
    exact = graph.nodes.get(call, text.strip())
    if exact is not None and exact.domain is Domain.CODE:
        return exact
    roots = graph.code.visible(call)
    try:
        id = find(roots, text).id
    except NotFound:
        removed = graph.commits.commits.removed([root.spec.name for root in roots], text.strip().removesuffix("()"))
        if not removed:
            raise
        if len(removed) > 1:
            raise InvalidInput(
                f"{text[:80]!r} names {len(removed)} pieces of removed code",
                hint="Send one of `candidates` as symbol_id.",
                candidates=removed[:MOST_CANDIDATES],
            ) from None
        id = removed[0]
    found = graph.nodes.get(call, id)
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
    rows = [_linked_row(each) for each in found]
    answer = {"of": node.shown, "results": rows[:limit], "total": len(rows)}
    return cast(LinkedNodes, {**answer, **_degraded([each for each in reasons if each])})


def _linked_row(each: Neighbour) -> LinkedNode:
    edge = {"edge": each.edge.type.name.lower(), "how": each.edge.how, "weight": each.edge.weight}
    return cast(LinkedNode, {**each.node.shown, **edge})


def _row(row: HistoryRow, edge: str, how: str) -> CodeHistoryRow:
    was_bug = row.get("summary_type") == FIX or row["category"] == "failure"
    return cast(CodeHistoryRow, {**row, "edge": edge, "how": how, "was_bug": was_bug})


def _degraded(reasons: Sequence[str]) -> dict[str, Any]:
    return {"degraded": True, "degraded_reason": "; ".join(reasons)} if reasons else {"degraded": False}


def code_for_academic(graph: Knowledge, call: Call, academic_id: str, limit: int) -> LinkedNodes:
    """Code that implements or uses a source, or that the source documents."""
    reason, node = graph.catch_up(), graph.nodes.find(call, academic_id, Domain.ACADEMIC)
    into = (KnowledgeEdge.IMPLEMENTS_PATTERN, KnowledgeEdge.USES_LIBRARY)
    out = (KnowledgeEdge.DOCUMENTS,)
    return linked(graph, call, node, [reason], out=out, into=into, domain="code", limit=limit)


def history_for_academic(graph: Knowledge, call: Call, academic_id: str, limit: int = ALL_ROWS) -> LinkedNodes:
    """Decisions and entries that rest on a source, name it, or inspired it."""
    reason, node = graph.catch_up(), graph.nodes.find(call, academic_id, Domain.ACADEMIC)
    out = (KnowledgeEdge.INSPIRED_BY,)
    return linked(graph, call, node, [reason], out=out, into=RESTING, domain="history", limit=limit)


def academic_for(graph: Knowledge, call: Call, id: str, limit: int) -> LinkedNodes:
    """Sources of a symbol, file, decision or entry; of a symbol also those of the libraries that its file imports."""
    reason, node = graph.catch_up(), graph.nodes.find(call, id)
    if node.domain is Domain.ACADEMIC:
        out = (KnowledgeEdge.CITES, KnowledgeEdge.RELATED_TO)
        return linked(graph, call, node, [reason], out=out, into=out, domain="academic", limit=limit)
    if node.domain is Domain.HISTORY:
        into = (KnowledgeEdge.INSPIRED_BY,)
        return linked(graph, call, node, [reason], out=RESTING, into=into, domain="academic", limit=limit)
    out = (KnowledgeEdge.IMPLEMENTS_PATTERN, KnowledgeEdge.USES_LIBRARY)
    into = (KnowledgeEdge.DOCUMENTS,)
    found = linked(graph, call, node, [reason], out=out, into=into, domain="academic", limit=limit)
    file = node.id.partition("#")[0]
    if file != node.id and len(found["results"]) < limit:
        above = graph.neighbours(call, file, out=(KnowledgeEdge.USES_LIBRARY,), domain="academic")
        known = {each["id"] for each in found["results"]}
        more = [_linked_row(each) for each in above if each.node.id not in known]
        found["results"] = [*found["results"], *more][:limit]
        found["total"] += len(more)
    return found


class FactPage(NextPage):
    facts: list[Fact]
    entries: int  # that were read
    unknown: NotRequired[list[str]]  # ids that name no entry


def extracted_facts(graph: Knowledge, history: History, call: Call, ids: Sequence[str], text: str | None) -> FactPage:
    """Facts of these entries, or of those that a question finds."""
    if bool(ids) == bool(text):
        raise InvalidInput("give either ids or query", hint="ids are those of lithos_search_history.")
    if text:
        rows = history.search(call, HistoryQuestion(text, 20))["results"]
        known = {row["id"]: row for row in rows}
    else:
        known = {id: row for id in ids if (row := graph.entry_row(call, id)) is not None}
    facts = [fact for id, row in known.items() for fact in facts_in(f"{row.get('title', '')}\n{row['content']}", id)]
    page: FactPage = {"facts": facts, "entries": len(known)}
    unknown = [each for each in ids if each not in known]
    return {**page, "unknown": unknown} if unknown else page
