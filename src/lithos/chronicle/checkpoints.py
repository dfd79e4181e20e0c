"""Checkpoints: what an agent leaves for its successor, validated by the structure of its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, rfc3339
from lithos.errors import InvalidInput, NotFound, TooLarge
from lithos.ledger import Draft, EntryScope, Filter, Ledger
from lithos.sessions import ALL, HISTORY, Sessions

AgentRole = Literal["librarian", "guide", "academic", "architect", "inspector", "tester", "engineer"]
LARGEST_PART = 64 * 1024  # bytes of an object that the specification leaves open


def _open_object(value: Any) -> Any:
    if isinstance(value, Mapping) and len(orjson.dumps(dict(value))) > LARGEST_PART:
        raise ValueError(f"an open object has at most {LARGEST_PART} bytes")
    return value


Open = Annotated[dict[str, Any], BeforeValidator(_open_object)]
Texts = list[str]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class Summary(Part):
    """Fields that every summary has; the server fills in those that it knows."""

    timestamp: str = ""
    session_id: str = ""
    context_usage: float = 0.0


class CodebaseSummary(Summary):
    checkpoint_index: int = 0
    directory_structure: str
    key_paths: Texts = []
    code_style: str = ""
    architecture: str = ""
    testing_strategy: str = ""
    tooling: Open = {}
    package_managers: Texts = []
    patterns: Texts = []
    conventions: Texts = []
    new_discoveries: Texts = []


class RoutingMatch(Part):
    pattern: str
    agent: str
    confidence: float
    usage_count: int


class GuideSummary(Summary):
    checkpoint_index: int = 0
    known_routings: dict[str, str]
    frequent_matches: list[RoutingMatch] = []
    failed_routings: list[Open] = []
    agent_capabilities: dict[str, Texts] = {}
    request_patterns: list[Open] = []
    session_routing_stats: Open = {}


class ResearchFinding(Part):
    topic: str
    summary: str
    confidence: Literal["high", "medium", "low"]
    sources: Texts = []


class AcademicResearchPaper(Summary):
    title: str
    abstract: str
    topics_researched: Texts = []
    key_findings: list[ResearchFinding] = []
    sources_cited: list[Open] = []
    recommendations: Texts = []
    open_questions: Texts = []
    related_topics: Texts = []


class DagSummary(Part):
    id: str
    total_nodes: int
    completed_nodes: int
    current_layer: int
    execution_order: list[Texts] = []


class TaskSummary(Part):
    id: str
    description: str
    status: str
    assigned_to: str = ""
    result: str = ""


class ArchitectWorkflowSummary(Summary):
    original_request: str
    implementation_plan: str
    current_dag: DagSummary | None = None
    completed_tasks: list[TaskSummary] = []
    pending_tasks: list[TaskSummary] = []
    blocked_tasks: list[TaskSummary] = []
    architectural_decisions: list[Open] = []
    risks: list[Open] = []
    assumptions: Texts = []


class CompletedFix(Part):
    issue_id: str
    file: str
    line: int
    description: str
    fix_applied: str


class PendingFix(Part):
    issue_id: str
    file: str
    line: int
    category: str
    severity: Literal["critical", "high", "medium", "low"]
    priority: int = Field(ge=1)
    description: str
    suggested_fix: str = ""


class InspectorFindingsSummary(Summary):
    pipeline_id: str = ""
    checks_performed: Texts
    issues_found: int = Field(ge=0)
    issues_resolved: int = Field(ge=0)
    issues_remaining: list[Open] = []
    fixes_completed: list[CompletedFix] = []
    fixes_pending: list[PendingFix] = []
    validation_state: dict[str, bool] = {}


class TestInfo(Part):
    file: str
    test_name: str
    type: str
    for_task: str = ""


class TestResult(Part):
    test_name: str
    status: Literal["pass", "fail", "skip"]
    duration: str = ""


class FailureDesc(Part):
    test_name: str
    error: str
    expected: str = ""
    actual: str = ""
    suggestion: str = ""


class TesterSummary(Summary):
    pipeline_id: str = ""
    tests_created: list[TestInfo] = []
    tests_run: list[TestResult] = []
    pass_count: int = Field(ge=0)
    fail_count: int = Field(ge=0)
    skip_count: int = Field(0, ge=0)
    coverage_needed: Texts = []
    failure_descriptions: list[FailureDesc] = []


class EngineerHandoffState(Part):
    original_prompt: str
    accomplished: Texts
    files_changed: list[Open] = []
    remaining: Texts
    context_notes: str = ""


class InspectorHandoffState(Part):
    checks_performed: Texts = []
    fixes_completed: list[CompletedFix] = []
    fixes_remaining: list[PendingFix] = []
    validation_state: dict[str, bool] = {}


class TesterHandoffState(Part):
    tests_created: list[TestInfo] = []
    test_results: list[TestResult] = []
    failure_descs: list[FailureDesc] = []
    coverage_needed: Texts = []


class PipelineHandoff(Summary):
    old_pipeline_id: str
    dag_id: str = ""
    task_id: str = ""
    handoff_reason: str
    handoff_index: int = Field(1, ge=1)
    engineer_state: EngineerHandoffState
    inspector_state: InspectorHandoffState | None = None
    tester_state: TesterHandoffState | None = None


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """At which share of its context window an agent checkpoints, and at which it compacts. Data, not code."""

    category: str
    structure: type[Summary]
    checkpoints: tuple[int, ...]  # percent
    compact: int
    action: str = "checkpoint"
    end: Literal["compact", "handoff"] = "compact"


POLICIES: Mapping[AgentRole, MemoryPolicy] = {
    "librarian": MemoryPolicy("librarian_checkpoint", CodebaseSummary, (25, 50, 75), 75),
    "guide": MemoryPolicy("guide_checkpoint", GuideSummary, (50, 75, 90), 95),
    "academic": MemoryPolicy("academic_research_paper", AcademicResearchPaper, (85,), 95, "research paper"),
    "architect": MemoryPolicy("architect_workflow", ArchitectWorkflowSummary, (85,), 95, "workflow and plan"),
    "inspector": MemoryPolicy("inspector_findings", InspectorFindingsSummary, (85,), 95, "findings summary"),
    "tester": MemoryPolicy("tester_summary", TesterSummary, (85,), 95, "test summary"),
    "engineer": MemoryPolicy("pipeline_handoff", PipelineHandoff, (), 95, "handoff", "handoff"),
}


class PolicyAnswer(TypedDict):
    role: str
    category: str
    context_usage: float
    due: list[str]  # "checkpoint", "compact", "handoff"; empty: nothing yet
    thresholds: list[int]
    compact_at: int
    next_at: int | None
    leave: str  # what to store


class StoredCheckpoint(TypedDict):
    id: str
    index: int
    role: str
    category: str
    session_id: NotRequired[str]
    due: list[str]


class LatestCheckpoint(TypedDict):
    role: str
    found: bool
    id: NotRequired[str]
    agent: NotRequired[str]
    timestamp: NotRequired[str]
    session_id: NotRequired[str]
    summary: NotRequired[dict[str, Any]]


def percent(usage: float) -> float:
    """0.85 and 85 mean the same."""
    if not 0 <= usage <= 100:
        raise InvalidInput(f"context_usage is {usage}", hint="A share from 0 to 1, or percent up to 100.")
    return usage * 100 if usage <= 1 else usage


def memory_policy(role: AgentRole, usage: float) -> PolicyAnswer:
    """The advice that is due at this share of the context window; only the client knows its window."""
    policy, share = POLICIES[role], percent(usage)
    passed = [each for each in policy.checkpoints if share >= each]
    due = (["checkpoint"] if passed else []) + ([policy.end] if share >= policy.compact else [])
    later = [each for each in sorted({*policy.checkpoints, policy.compact}) if each > share]
    return {
        "role": role,
        "category": policy.category,
        "context_usage": round(share, 2),
        "due": due,
        "thresholds": [*policy.checkpoints],
        "compact_at": policy.compact,
        "next_at": later[0] if later else None,
        "leave": policy.action,
    }


class Checkpoints:
    def __init__(self, sessions: Sessions, ledger: Ledger, clock: Clock) -> None:
        self._sessions = sessions
        self._ledger = ledger
        self._clock = clock

    def store(
        self,
        call: Call,
        role: AgentRole,
        summary: Mapping[str, Any],
        usage: float,
        session_id: str | None = None,
        pipeline_id: str | None = None,
    ) -> StoredCheckpoint:
        """Append the summary as a thought; durable when this returns."""
        policy = POLICIES[role]
        session = self._sessions.scope_of_entry(call, session_id)
        known = {"timestamp": rfc3339(self._clock.now()), "context_usage": round(percent(usage) / 100, 4)}
        known["session_id"] = session or ""
        if pipeline_id is not None:
            known["old_pipeline_id" if role == "engineer" else "pipeline_id"] = pipeline_id
        whole = validated(policy, {**summary, **_fitting(policy, known)})
        handoff = policy.end == "handoff"
        draft = Draft(
            thought_type="Handoff" if handoff else "Checkpoint",
            role="Handoff" if handoff else "Checkpoint",
            content=orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode(),
            agent_id=call.agent,
            importance=0.8,
            tags=[policy.category, *([f"pipeline:{pipeline_id}"] if pipeline_id else [])],
            session_id=session,
        )
        thought = self._ledger.append(call, draft, chain_key=HISTORY)["thought"]
        answer: StoredCheckpoint = {
            "id": thought["id"],
            "index": thought["index"],
            "role": role,
            "category": policy.category,
            "due": memory_policy(role, usage)["due"],
        }
        return {**answer, "session_id": session} if session else answer

    def latest(self, call: Call, role: AgentRole, session_id: str | None = None) -> LatestCheckpoint:
        """The newest that the caller may see: of its session, or outside any."""
        chosen = session_id or self._sessions.current(call)
        tags = (POLICIES[role].category,)
        if chosen is None:
            wanted, viewer = Filter(tags_any=tags), self._sessions.viewer(call)
        else:
            self._sessions.members_only(call, chosen)
            wanted, viewer = Filter(tags_any=tags, entries=EntryScope(sessions=(chosen,))), ALL
        try:
            found = self._ledger.search(HISTORY, wanted, 1, viewer)["thoughts"]
        except NotFound:
            found = []
        if not found:
            return {"role": role, "found": False}
        thought = found[0]
        answer: LatestCheckpoint = {
            "role": role,
            "found": True,
            "id": thought["id"],
            "agent": thought["agent_id"],
            "timestamp": thought["timestamp"],
            "summary": orjson.loads(thought["content"]),
        }
        return {**answer, "session_id": thought["session_id"]} if thought["session_id"] else answer


def validated(policy: MemoryPolicy, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary with the defaults of its structure; InvalidInput names the first field that is wrong."""
    try:
        whole = policy.structure.model_validate(dict(summary))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(each) for each in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        kind = TooLarge if "at most" in message and "bytes" in message else InvalidInput
        fields = ", ".join(policy.structure.model_fields)
        raise kind(f"summary.{where[:120]}: {message}", hint=f"{policy.category} has: {fields}.") from None
    return whole.model_dump(exclude_none=True)


def _fitting(policy: MemoryPolicy, known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name in policy.structure.model_fields}
