"""Trusted answers: one question, cited evidence, and checks that any agent can run on itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.cursor import NextPage, offset_of, page_of
from lithos.graph.trust import ConflictShown, ConflictType
from lithos.tools.arguments import MoreCursor
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

Domains = Annotated[list[Literal["code", "history", "academic"]] | None, Rare]
Question = Annotated[str, Field(max_length=2_000)]
ConflictKind = Literal["temporal", "source_mismatch", "semantic"]


class IntentShown(TypedDict):
    domain: str
    intent: str
    subject: str
    direction: NotRequired[str]
    time_scope: NotRequired[dict[str, str]]
    negated: NotRequired[bool]
    confidence: float
    symbols: NotRequired[list[str]]  # that the subject means
    topics: NotRequired[list[str]]  # tags of notes that are called like it


class PieceShown(TypedDict):
    n: int
    id: str
    source: str
    trust: int
    trust_name: str
    freshness: float
    similarity: float
    quality: float
    tokens: int
    warnings: NotRequired[list[str]]


class AskAnswer(TypedDict):
    answer: str
    sources: list[str]
    level: str  # cache, graph, evidence, llm
    intent: IntentShown
    conflicts: NotRequired[list[ConflictShown]]
    conflicts_left_out: NotRequired[int]  # lithos_graph_conflicts lists them
    tokens: int
    tokens_of_files: int
    degraded: bool
    degraded_reason: NotRequired[str]
    check: NotRequired[dict[str, Any]]
    pieces: NotRequired[list[PieceShown]]
    left_out: NotRequired[int]


class ContextAnswer(TypedDict):
    context_id: str
    context: str
    sources: list[str]
    tokens: int
    left_out: int
    degraded: bool
    degraded_reason: NotRequired[str]


class CheckAnswer(TypedDict):
    ok: bool
    cites_nothing: bool
    sources_used: list[str]
    unknown_citations: list[int]
    statements_without_code: list[str]
    contradicted: list[dict[str, Any]]
    inferences: list[str]
    warnings: list[str]
    warnings_not_mentioned: list[str]


class SourceShown(TypedDict):
    source_type: int
    source: str
    node_id: NotRequired[str]
    path: NotRequired[str]
    url: NotRequired[str]
    confidence: float
    verified_at: NotRequired[str]


class Provenance(TypedDict):
    id: str
    sources: list[SourceShown]
    verification: NotRequired[dict[str, Any]]


class ConflictPage(NextPage):
    conflicts: list[ConflictShown]
    count: int


class ConflictResolved(TypedDict):
    success: bool
    conflict_id: str
    winner: str
    loser: str


class GraphStats(TypedDict):
    asked: int
    llm: int
    tokens_given: int
    tokens_of_files: int
    tokens_saved: int
    cache: dict[str, int]


@tool(toolset="graph", reads=True, title="Ask the graph")
def lithos_ask(
    lithos: Lithos,
    call: Call,
    query: Question,
    session_id: Annotated[str | None, Field(max_length=100, description="Count its entries too"), Rare] = None,
    token_budget: Annotated[int, Field(ge=100, le=8_000)] = 1_500,
    domains: Domains = None,
    allow_llm: Annotated[bool, Rare] = False,
    explain: Annotated[bool, Rare] = False,
) -> AskAnswer:
    """Ask this before you search or read files: where is X, what calls X, how does X work, why did we, what changed.
    Gives cited evidence with trust and warnings for few tokens. `level` evidence: read it and judge yourself."""
    return cast(
        AskAnswer,
        lithos.answers.ask(
            call, query, token_budget, domains, allow_llm=allow_llm, explain=explain, session_id=session_id
        ),
    )


@tool(toolset="graph", reads=True, listed=False, notes=True, title="Classify a question")
def lithos_classify_query(lithos: Lithos, call: Call, query: Question) -> IntentShown:
    """Intent, subject, direction and time of a question, by rules: no model. `symbols` and `topics` exist."""
    found = lithos.answers.understood(call, query)
    subject = found["subject"]
    tags = lithos.notes.reader.tags(subject.partition("_")[0])["tags"] if subject else {}
    topics = [tag for tag in tags if _same_topic(tag, subject)]
    return cast(IntentShown, {**found, "topics": topics[:3]} if topics else found)


def _same_topic(tag: str, subject: str) -> bool:
    return tag.casefold().replace("-", "_").replace("/", "_") == subject


@tool(toolset="graph", reads=True, title="Build a context")
def lithos_build_context(
    lithos: Lithos,
    call: Call,
    query: Question,
    token_budget: Annotated[int, Field(ge=200, le=8_000)] = 3_500,
    domains: Domains = None,
) -> ContextAnswer:
    """A prompt for any model: rules, conflicts first, numbered evidence with trust and warnings, the question. Check
    what the model answers with lithos_check_answer."""
    return cast(ContextAnswer, lithos.answers.build_context(call, query, token_budget, domains))


@tool(toolset="graph", reads=True, title="Check an answer")
def lithos_check_answer(
    lithos: Lithos, call: Call, answer: Annotated[str, Field(max_length=50_000)], context_id: str
) -> CheckAnswer:
    """Before you give an answer: citations that do not exist, statements on code without a code source, claims that
    the code contradicts."""
    return cast(CheckAnswer, lithos.answers.check_answer(call, answer, context_id))


@tool(toolset="graph", reads=True, listed=False, title="Where knowledge comes from")
def lithos_get_provenance(lithos: Lithos, call: Call, id: Annotated[str, Field(max_length=1_000)]) -> Provenance:
    """Where a node of the graph comes from: code, history, a source, a person or inference, and how it was verified."""
    return cast(Provenance, lithos.trust.provenance(call, id))


@tool(toolset="graph", reads=True, listed=False, title="Conflicts of the graph")
def lithos_graph_conflicts(
    lithos: Lithos,
    call: Call,
    subject: Annotated[str | None, Field(max_length=200)] = None,
    type: ConflictKind | None = None,
    resolved: bool = False,
    limit: Annotated[int, Field(ge=1, le=200), Rare] = 50,
    cursor: MoreCursor = None,
) -> ConflictPage:
    """Pairs that contradict each other: history and code, old and new, two statements."""
    kind = None if type is None else ConflictType[type.upper()]
    of = ["conflicts", subject, type, resolved]
    rows = lithos.trust.conflicts(call, subject, kind, resolved, offset_of(cursor, of) + limit + 1)
    page = page_of({"conflicts": rows}, "conflicts", limit, cursor, of)
    return cast(ConflictPage, {**page, "count": len(page["conflicts"])})


@tool(toolset="graph", listed=False, title="Resolve a conflict")
def lithos_graph_conflict_resolve(
    lithos: Lithos,
    call: Call,
    conflict_id: Annotated[str, Field(max_length=100)],
    resolution: Annotated[str, Field(max_length=2_000, description="Why this side is right")],
    winner: Annotated[str, Field(max_length=1_000, description="Id of the side that is right")],
    agent: Annotated[str | None, Field(max_length=200), Rare] = None,
) -> ConflictResolved:
    """Say which side of a conflict is right. The other one sinks in every later answer, with this reason."""
    return cast(ConflictResolved, lithos.trust.resolve(call, conflict_id, resolution, winner))


@tool(toolset="graph", reads=True, listed=False, title="Statistics of answers")
def lithos_graph_stats(lithos: Lithos, call: Call) -> GraphStats:
    """Answers since the host started: cache hits, tokens given, tokens that whole files would have cost, and the
    difference."""
    return cast(GraphStats, lithos.answers.status())
