"""Kinds of history entries, and how each is kept as a thought."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NotRequired, Protocol

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.cursor import NextPage
from lithos.graph.model import HistoryType, KnowledgeEdge

SummaryType = Literal["task_completion", "decision", "failure", "pattern", "refactoring", "bug_fix", "feature"]
Category = Literal[
    "decision",
    "insight",
    "pattern",
    "failure",
    "task_state",
    "timeline",
    "user_voice",
    "hypothesis",
    "open_thread",
    "general",
]
TOOL_DISCOVERY: Final = "tool_discovery"  # category of what the workshop found; a tag of its thoughts
AskedCategory = Category | Literal["tool_discovery"]
FileOperation = Literal["read", "modified", "created"]

THOUGHT_OF_CATEGORY: Final[Mapping[str, str]] = {
    "decision": "Decision",
    "insight": "Insight",
    "pattern": "PatternDetected",
    "failure": "Mistake",
    "task_state": "StateSnapshot",
    "timeline": "ActionTaken",
    "user_voice": "PreferenceUpdate",
    "hypothesis": "Hypothesis",
    "open_thread": "Question",
    "general": "Summary",
}
# Four summary types share this one; a tag distinguishes them.
DONE: Final = "TaskComplete"
THOUGHT_OF_SUMMARY: Final[Mapping[str, str]] = {
    "decision": "Decision",
    "failure": "Mistake",
    "pattern": "PatternDetected",
    **dict.fromkeys(("task_completion", "refactoring", "bug_fix", "feature"), DONE),
}
# Every thought of the chain is an entry, also those that other tools wrote.
CATEGORY_OF_THOUGHT: Final[Mapping[str, Category]] = {
    "Decision": "decision",
    "StrategyShift": "decision",
    "Constraint": "decision",
    "Insight": "insight",
    "Finding": "insight",
    "FactLearned": "insight",
    "LessonLearned": "insight",
    "Correction": "insight",
    "Surprise": "insight",
    "PatternDetected": "pattern",
    "Mistake": "failure",
    "AssumptionInvalidated": "failure",
    "StateSnapshot": "task_state",
    "Checkpoint": "task_state",
    "Handoff": "task_state",
    "Plan": "task_state",
    "Subgoal": "task_state",
    "ActionTaken": "timeline",
    "Experiment": "timeline",
    DONE: "timeline",
    "PreferenceUpdate": "user_voice",
    "UserTrait": "user_voice",
    "RelationshipUpdate": "user_voice",
    "Hypothesis": "hypothesis",
    "Idea": "hypothesis",
    "Question": "open_thread",
    "Wonder": "open_thread",
    "Summary": "general",
}
NODE_OF_CATEGORY: Final[Mapping[str, HistoryType]] = {
    "decision": HistoryType.DECISION,
    "pattern": HistoryType.PATTERN,
    "failure": HistoryType.FAILURE,
}
RESOLVED: Final = "resolved"  # tag of a failure that came with its resolution
RESOLVING: Final = frozenset({"Correction", "LessonLearned", "StrategyShift", "TaskComplete"})

# How a thought's concepts name code: the edge, a colon, the id.
EDGE_OF_MARK: Final[Mapping[str, KnowledgeEdge]] = {
    "modified": KnowledgeEdge.MODIFIED,
    "created": KnowledgeEdge.CREATED,
    "code": KnowledgeEdge.REFERENCED,
}
MARK_OF_EDGE: Final = {edge: mark for mark, edge in EDGE_OF_MARK.items()}


def types_of(categories: frozenset[str]) -> tuple[str, ...]:
    """The thought types that these categories hold."""
    found = tuple(name for name, category in CATEGORY_OF_THOUGHT.items() if category in categories)
    return (*found, "FactLearned") if TOOL_DISCOVERY in categories and "FactLearned" not in found else found


def category_of(thought_type: str, tags: Collection[str]) -> str:
    is_discovery = thought_type == "FactLearned" and TOOL_DISCOVERY in tags
    return TOOL_DISCOVERY if is_discovery else CATEGORY_OF_THOUGHT[thought_type]


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry before it is a thought: references as the caller wrote them."""

    content: str
    thought_type: str
    title: str | None = None
    session_id: str | None = None
    references: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()  # files
    created: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    summary_type: str | None = None

    @property
    def category(self) -> str:
        return category_of(self.thought_type, self.tags)

    @property
    def text(self) -> str:
        return f"{self.title}\n\n{self.content}" if self.title else self.content


@dataclass(frozen=True, slots=True)
class CodeLink:
    """A reference that was resolved."""

    given: str
    id: str
    edge: KnowledgeEdge


@dataclass(frozen=True, slots=True)
class Admission:
    """The verdict of a gate on an entry: tags and a confidence to keep with the thought, fields for the answer."""

    tags: tuple[str, ...] = ()
    confidence: float | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)


class EntryGate(Protocol):
    """Judges every entry before it is appended. It refuses by raising a LithosError."""

    def admit(self, call: Call, entry: NewEntry, links: tuple[CodeLink, ...]) -> Admission: ...


class Unresolved(TypedDict):
    reference: str
    reason: str


class LinkShown(TypedDict):
    id: str
    edge: str


class StoredEntry(TypedDict):
    stored: bool
    id: str
    index: int
    category: str
    thought_type: str
    session_id: NotRequired[str]
    links: list[LinkShown]
    unresolved: list[Unresolved]
    verification: NotRequired[dict[str, Any]]


class HistoryRow(TypedDict):
    id: str
    source: str  # thoughts, board, git
    type: str  # entry, decision, pattern, failure, outcome, finding, commit
    category: str
    content: str
    agent: str
    timestamp: str
    title: NotRequired[str]
    summary_type: NotRequired[str]
    session_id: NotRequired[str]
    promoted: NotRequired[bool]
    tags: NotRequired[list[str]]
    task_id: NotRequired[str]
    issues: NotRequired[list[str]]  # that a commit names
    confidence: NotRequired[float]  # as its writer or the firewall stated it
    score: NotRequired[float]
    warning: NotRequired[str]  # the code contradicts it, or no longer agrees


def whole_text(row: HistoryRow) -> str:
    """All that an entry says: the message of a commit has its subject apart."""
    content = row["content"].strip()
    return f"{row.get('title', '')}\n{content}".strip() if row["type"] == "commit" else content


class HistoryPage(NextPage):
    results: list[HistoryRow]
    degraded: bool
    degraded_reason: NotRequired[str]
