"""Questions across all domains: one call over code, history and sources, each result with what is related to it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.text import cut, estimate_tokens
from lithos.errors import InvalidInput
from lithos.graph.code import Code
from lithos.graph.code import search as search_code
from lithos.graph.history import History, HistoryQuestion
from lithos.graph.knowledge import Edge, Knowledge, Node, NodeDomain, NodeShown
from lithos.graph.model import KnowledgeEdge
from lithos.graph.sources import Sources

DOMAINS: tuple[NodeDomain, ...] = ("code", "history", "academic")
MOST_RELATED = 3
CANDIDATES = 40  # edges of one type that are looked at for the related ones
Thoroughness = Literal["quick", "moderate", "thorough"]
ROUNDS: dict[Thoroughness, tuple[int, ...]] = {"quick": (3,), "moderate": (3, 8), "thorough": (3, 8, 20)}
LONGEST_TEXT = 700  # characters of one result of a smart search
_TO_CODE = (KnowledgeEdge.MODIFIED, KnowledgeEdge.CREATED, KnowledgeEdge.DELETED, KnowledgeEdge.REFERENCED)
_TO_SOURCE = (KnowledgeEdge.BASED_ON, KnowledgeEdge.REFERENCES, KnowledgeEdge.VALIDATED_BY)
_OF_CODE = (KnowledgeEdge.IMPLEMENTS_PATTERN, KnowledgeEdge.USES_LIBRARY)


@dataclass(frozen=True, slots=True)
class _Joining:
    """Types of edges that join a node to another domain: those that begin at it, and those that end there."""

    out: tuple[KnowledgeEdge, ...] = ()
    into: tuple[KnowledgeEdge, ...] = ()


_DOCUMENTS, _INSPIRED_BY = (KnowledgeEdge.DOCUMENTS,), (KnowledgeEdge.INSPIRED_BY,)
_RELATED: dict[str, dict[str, _Joining]] = {
    "code": {"history": _Joining(into=_TO_CODE), "academic": _Joining(_OF_CODE, _DOCUMENTS)},
    "history": {"code": _Joining(_TO_CODE), "academic": _Joining(_TO_SOURCE, _INSPIRED_BY)},
    "academic": {"code": _Joining(_DOCUMENTS, _OF_CODE), "history": _Joining(_INSPIRED_BY, _TO_SOURCE)},
}


class Related(TypedDict):
    code: list[NodeShown]
    history: list[NodeShown]
    academic: list[NodeShown]


class AllRow(TypedDict):
    id: str
    domain: NodeDomain
    type: str
    title: str
    text: str
    score: float
    path: NotRequired[str]
    start_line: NotRequired[int]
    end_line: NotRequired[int]
    timestamp: NotRequired[str]
    heading: NotRequired[str]
    related: NotRequired[Related]


class AllPage(TypedDict):
    code: NotRequired[list[AllRow]]
    history: NotRequired[list[AllRow]]
    academic: NotRequired[list[AllRow]]
    degraded: bool
    degraded_reason: NotRequired[str]


class SmartPage(TypedDict):
    results: list[AllRow]
    tokens_used: int
    rounds: int
    skipped: int  # found, and too long for the rest of the budget
    degraded: bool
    degraded_reason: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Everything:
    code: Code
    history: History
    sources: Sources
    graph: Knowledge

    def search_all(self, call: Call, text: str, domains: Sequence[str], limit: int, path_prefix: str | None) -> AllPage:
        """The best of each domain; a prefix of paths narrows code and sources, and leaves out history."""
        reasons = [self.graph.catch_up()]
        answer: dict[str, Any] = {}
        for domain in _checked(domains):
            rows, reason = self._find(call, domain, text, limit, path_prefix)
            reasons.append(reason)
            answer[domain] = rows
        related = self.related(call, [row for rows in answer.values() for row in rows])
        shown = {name: [{**row, "related": related[row["id"]]} for row in rows] for name, rows in answer.items()}
        return cast(AllPage, {**shown, **_degraded(reasons)})

    def smart_search(self, call: Call, text: str, budget: int, thoroughness: Thoroughness) -> SmartPage:
        """Widen until a round brings nothing new or the budget is full. No node comes twice. The budget counts the
        results as they are sent; what is related to them comes after, as far as there is room."""
        found: dict[str, AllRow] = {}
        reasons = [self.graph.catch_up()]
        rounds = 0
        for limit in ROUNDS[thoroughness]:
            rounds += 1
            before = len(found)
            for domain in DOMAINS:
                rows, reason = self._find(call, domain, text, limit, None)
                reasons.append(reason)
                for row in rows:
                    found.setdefault(row["id"], row)
            full = sum(_tokens(_shortened(row)) for row in found.values()) >= budget
            if len(found) == before or full:
                break
        kept, used, skipped = _fitting(sorted(found.values(), key=lambda row: -row["score"]), budget)
        used += _relate(kept, self.related(call, kept), budget - used)
        answer = {"results": kept, "tokens_used": used, "rounds": rounds, "skipped": skipped}
        return cast(SmartPage, {**answer, **_degraded(reasons)})

    def _find(
        self, call: Call, domain: NodeDomain, text: str, limit: int, prefix: str | None
    ) -> tuple[list[AllRow], str]:
        if domain == "code":
            pattern = f"{prefix.rstrip('/')}/**" if prefix else None
            found = search_code(self.code, call, text, limit, "any", pattern, None)
            return [_of_code(each) for each in found["results"]], found.get("degraded_reason", "")
        if domain == "history":
            if prefix:
                return [], ""
            page = self.history.search(call, HistoryQuestion(text, limit))
            return [_of_history(each) for each in page["results"]], page.get("degraded_reason", "")
        rows, reason = self.sources.find(text, limit if not prefix else 50)
        kept = [row for row in rows if not prefix or row["path"].startswith(prefix)]
        return [_of_source(row) for row in kept[:limit]], reason

    def related(self, call: Call, rows: Sequence[AllRow]) -> dict[str, Related]:
        """Of each row at most three of each other domain, the newest or heaviest, symbols before files. Edges and nodes
        of all are read together."""
        ends: dict[str, dict[str, list[str]]] = {}
        for domain, kinds in _RELATED.items():
            ids = [row["id"] for row in rows if row["domain"] == domain]
            out = self.graph.out_of_each(ids, [kind for each in kinds.values() for kind in each.out])
            into = self.graph.into_each(ids, [kind for each in kinds.values() for kind in each.into])
            for id in ids:
                ends[id] = {
                    name: [
                        *(edge.target for edge in sorted(out[id], key=_last) if edge.type in wanted.out),
                        *(edge.source for edge in into[id] if edge.type in wanted.into),
                    ]
                    for name, wanted in kinds.items()
                }
        first = [other for each in ends.values() for some in each.values() for other in some[: 2 * MOST_RELATED]]
        known = self.graph.nodes.many(call, [*dict.fromkeys(first)])
        return {
            id: cast(Related, {"code": [], "history": [], "academic": [], **self._three(call, each, known)})
            for id, each in ends.items()
        }

    def _three(self, call: Call, ends: dict[str, list[str]], known: dict[str, Node]) -> dict[str, list[NodeShown]]:
        shown = {}
        for name, others in ends.items():
            several = [*dict.fromkeys(others[:CANDIDATES])]
            near = [known[other] for other in several[: 2 * MOST_RELATED] if other in known]
            rest = several[2 * MOST_RELATED :] if len(near) < MOST_RELATED else ()
            far = (node for _, node in self.graph.nodes.walk(call, rest, 2 * MOST_RELATED) if node is not None)
            shown[name] = [node.shown for node in itertools.islice(itertools.chain(near, far), MOST_RELATED)]
        return shown


def _last(edge: Edge) -> tuple[bool, bool]:
    """Of what a commit touched: code that is gone comes last, and files after their symbols."""
    return edge.type is KnowledgeEdge.DELETED, "#" not in edge.target


def _checked(domains: Sequence[str]) -> list[NodeDomain]:
    wrong = [each for each in domains if each not in DOMAINS]
    if wrong:
        raise InvalidInput(f"{wrong[0][:40]!r} is no domain", hint=f"Use some of: {', '.join(DOMAINS)}.")
    return [each for each in DOMAINS if not domains or each in domains]


def _of_code(each: dict[str, Any]) -> AllRow:
    return {
        "id": each["id"],
        "domain": "code",
        "type": each["type"],
        "title": each["name"],
        "text": each.get("signature", ""),
        "score": each["score"],
        "path": each["path"],
        "start_line": each["start_line"],
        "end_line": each["end_line"],
    }


def _of_history(each: Any) -> AllRow:
    content = each["content"].strip()
    title = each.get("title") or (content.splitlines()[0][:160] if content else "")
    return {
        "id": each["id"],
        "domain": "history",
        "type": each["type"],
        "title": title,
        "text": content,
        "score": each.get("score", 0.0),
        "timestamp": each["timestamp"],
    }


def _of_source(each: Any) -> AllRow:
    return {
        "id": each["id"],
        "domain": "academic",
        "type": each["kind"],
        "title": each["title"],
        "text": each["passage"],
        "score": each["score"],
        "path": each["path"],
        "heading": each["heading"],
    }


def _tokens(row: AllRow | NodeShown) -> int:
    """As it is sent: ids and places cost too."""
    return estimate_tokens(orjson.dumps(row).decode())


def _shortened(row: AllRow) -> AllRow:
    return {**row, "text": cut(row["text"], LONGEST_TEXT)}


def _fitting(rows: Sequence[AllRow], budget: int) -> tuple[list[AllRow], int, int]:
    """Those that fit, best first; one that does not is skipped, and the next one tried."""
    kept: list[AllRow] = []
    used = skipped = 0
    for row in map(_shortened, rows):
        cost = _tokens(row)
        if used + cost > budget:
            skipped += 1
            continue
        used += cost
        kept.append(row)
    return kept, used, skipped


def _relate(rows: Sequence[AllRow], related: dict[str, Related], room: int) -> int:
    """Give each row what is related to it, the best rows first, while there is room; what that costs."""
    used = 0
    for row in rows:
        near = related[row["id"]]
        shown: Related = {"code": [], "history": [], "academic": []}
        for domain in DOMAINS:
            for node in near[domain]:
                cost = _tokens(node)
                if used + cost <= room:
                    shown[domain].append(node)
                    used += cost
        row["related"] = shown
    return used


def _degraded(reasons: Sequence[str]) -> dict[str, Any]:
    said = [*dict.fromkeys(each for each in reasons if each)]
    return {"degraded": True, "degraded_reason": "; ".join(said)} if said else {"degraded": False}
