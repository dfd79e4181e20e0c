"""A question over history, and the sources that answer it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithos.core.call import Call
from lithos.core.cursor import MOST_RANKED
from lithos.graph.history.values import DONE, THOUGHT_OF_SUMMARY, TOOL_DISCOVERY, HistoryRow, types_of
from lithos.ledger import SessionFilter

THOUGHTS, BOARD, GIT = "thoughts", "board", "git"
MOST_RESULTS = MOST_RANKED + 201  # of one page behind all that a cursor can name


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """All that is given must hold. `sources`: thoughts, board, git, or names of agents."""

    text: str
    limit: int = 10
    summary_type: str | None = None
    categories: frozenset[str] = frozenset()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    sessions: SessionFilter = field(default_factory=SessionFilter)
    session_id: str | None = None  # only this session; for its members

    @property
    def of_sessions_only(self) -> bool:
        """Whether only entries of sessions can answer."""
        wanted = self.sessions
        return bool(self.session_id or wanted.current_only or wanted.session_ids or wanted.promoted_only)

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(each for each in self.sources if each not in (THOUGHTS, BOARD, GIT))

    def asks(self, source: str) -> bool:
        """Whether it is about this source at all."""
        if source != THOUGHTS and self.of_sessions_only:
            return False
        return not self.sources or source in self.sources or bool(self.agents)

    def thought_types(self) -> tuple[str, ...] | None:
        """Empty: any type; None: no thought can match."""
        chosen = set(types_of(self.categories)) if self.categories else None
        if self.summary_type is not None:
            named = {THOUGHT_OF_SUMMARY[self.summary_type]}
            chosen = named if chosen is None else chosen & named
        if chosen is None:
            return ()
        return tuple(sorted(chosen)) or None

    def thought_tags(self) -> tuple[str, ...]:
        if self.categories == {TOOL_DISCOVERY}:
            return (*self.tags, TOOL_DISCOVERY)
        is_done = self.summary_type is not None and THOUGHT_OF_SUMMARY[self.summary_type] == DONE
        return (*self.tags, self.summary_type) if is_done and self.summary_type else self.tags

    def shows(self, category: str) -> bool:
        """Discoveries of tools share a thought type with insights: they are shown only where they are asked for."""
        return not self.categories or category != TOOL_DISCOVERY or TOOL_DISCOVERY in self.categories

    def allows(self, category: str, summary_type: str | None) -> bool:
        """Whether rows of this category and summary type can match."""
        if self.categories and category not in self.categories:
            return False
        return self.summary_type is None or self.summary_type == summary_type

    def bounds(self) -> tuple[float | None, float | None]:
        return (
            None if self.since is None else self.since.timestamp(),
            None if self.until is None else self.until.timestamp(),
        )


@dataclass(frozen=True, slots=True)
class Answered:
    rows: list[HistoryRow]  # best first
    degraded: str = ""


class HistorySource(Protocol):
    def find(self, call: Call, question: HistoryQuestion, least: float = 0.0) -> Answered:
        """Rows that score less than `least` may be left out."""
