"""History: what the team wrote, what the board recorded and what git remembers, as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.cursor import NextPage
from lithos.graph.history.grouping import NEAR, grouped, name_of
from lithos.graph.history.question import MOST_RESULTS, Answered, HistoryQuestion, HistorySource
from lithos.graph.history.thoughts import ThoughtEntries
from lithos.graph.history.values import RESOLVED, RESOLVING, HistoryPage, HistoryRow, types_of
from lithos.graph.history.writing import HistoryWriter
from lithos.ledger import Filter, Ledger
from lithos.sessions import HISTORY, Sessions

CANDIDATES = 50  # entries that are grouped at once
Marks = Callable[[Sequence[str]], Mapping[str, str]]
Include = Literal["all", "decisions", "tasks", "failures"]
_INCLUDED: dict[Include, frozenset[str]] = {
    "all": frozenset(),
    "decisions": frozenset({"decision"}),
    "tasks": frozenset({"timeline", "task_state"}),
    "failures": frozenset({"failure"}),
}
_REASON = re.compile(
    r"(?:^|[.!?,;\s])(?P<why>(?:because|since|so that|in order to|due to|as it|reason:|rationale:|why:)[^.\n]*)",
    re.IGNORECASE,
)


class PatternGroup(TypedDict):
    name: str
    pattern: str
    category: NotRequired[str]
    occurrences: int
    entries: list[HistoryRow]


class PatternPage(TypedDict):
    patterns: list[PatternGroup]
    degraded: bool
    degraded_reason: NotRequired[str]


class FailureRow(HistoryRow):
    resolved: bool
    resolution: NotRequired[str]
    resolved_by: NotRequired[list[str]]  # ids of later entries


class FailurePage(NextPage):
    results: list[FailureRow]
    degraded: bool
    degraded_reason: NotRequired[str]


class DecisionRow(HistoryRow):
    rationale: NotRequired[str]
    sources: NotRequired[list[dict[str, str]]]  # id, title and edge of the sources that it rests on


class DecisionPage(NextPage):
    results: list[DecisionRow]
    degraded: bool
    degraded_reason: NotRequired[str]


class SessionHistory(NextPage):
    session_id: str
    complete: bool  # False: only what is promoted, for the caller is not in the session
    results: list[HistoryRow]


class History:
    """`writer` appends entries; the rest asks all sources and joins their rows by score."""

    def __init__(
        self,
        writer: HistoryWriter,
        thoughts: ThoughtEntries,
        others: Sequence[HistorySource],
        ledger: Ledger,
        sessions: Sessions,
        marks: Marks = lambda ids: {},
    ) -> None:
        """`marks`: what a reader must know of entries before believing them."""
        self._marks = marks
        self.writer = writer
        self.thoughts = thoughts
        self._others = tuple(others)
        self._ledger = ledger
        self._sessions = sessions

    def search(self, call: Call, question: HistoryQuestion) -> HistoryPage:
        limit = min(question.limit, MOST_RESULTS)
        asked = replace(question, limit=limit)
        thoughts = self.thoughts.find(call, asked)
        scores = [row.get("score", 0.0) for row in thoughts.rows if question.shows(row["category"])]
        least = min(scores) if len(scores) >= limit else 0.0  # of the others only what comes before the last of these
        answers = [thoughts, *(source.find(call, asked, least) for source in self._others)]
        rows = sorted(
            (row for each in answers for row in each.rows if question.shows(row["category"])),
            key=lambda row: -row.get("score", 0.0),
        )
        return cast(HistoryPage, {"results": self._marked(rows[:limit]), **_degraded(answers)})

    def _marked(self, rows: list[HistoryRow]) -> list[HistoryRow]:
        found = self._marks([row["id"] for row in rows])
        for row in rows:
            if row["id"] in found:
                row["warning"] = found[row["id"]]
        return rows

    def patterns(self, call: Call, text: str, least: int, category: str | None) -> PatternPage:
        """Patterns that were seen at least so often, the best match first."""
        tags = (f"category:{category.strip().casefold()}",) if category else ()
        asked = HistoryQuestion(text, CANDIDATES, categories=frozenset({"pattern"}), tags=tags)
        found = self.thoughts.find(call, asked)
        groups = grouped(self._marked(found.rows), lambda row: self.thoughts.neighbours(row, NEAR))
        shown: list[PatternGroup] = [_pattern(group) for group in groups if len(group) >= least]
        return {"patterns": shown, **_degraded([found])}

    def failures(self, call: Call, text: str, limit: int, *, resolved_only: bool) -> FailurePage:
        """Failures and commits that fixed one; each with its resolution, where one is known."""
        answers: list[Answered] = []
        rows: list[FailureRow] = []
        wider = min(limit, MOST_RESULTS)
        while True:
            asked = HistoryQuestion(text, wider, categories=frozenset({"failure"}))
            answers = [self.thoughts.find(call, asked), *(source.find(call, asked) for source in self._others)]
            merged = sorted((row for each in answers for row in each.rows), key=lambda row: -row.get("score", 0.0))
            rows = [self._failure(call, row) for row in self._marked(merged)]
            rows = [row for row in rows if row["resolved"]] if resolved_only else rows
            if len(rows) >= limit or len(merged) < wider or wider == MOST_RESULTS or not resolved_only:
                return cast(FailurePage, {"results": rows[:limit], **_degraded(answers)})
            wider = min(wider * 4, MOST_RESULTS)

    def _failure(self, call: Call, row: HistoryRow) -> FailureRow:
        resolution = _labelled_line(row["content"], "Resolution")
        later = self._resolved_by(call, row)
        is_resolved = bool(resolution or later or RESOLVED in row.get("tags", []) or row["source"] == "git")
        shown = cast(FailureRow, {**row, "resolved": is_resolved})
        if resolution:
            shown["resolution"] = resolution
        if later:
            shown["resolved_by"] = [each["id"] for each in later]
            shown.setdefault("resolution", later[-1]["content"])
        return shown

    def _resolved_by(self, call: Call, row: HistoryRow) -> list[HistoryRow]:
        """Later entries that refer to this one and say how it ended."""
        if row["source"] != "thoughts":
            return []
        viewer = self._sessions.viewer(call)
        later = self._ledger.referring(HISTORY, row["id"], viewer)
        return self.thoughts.rows(each for each in later if each["thought_type"] in RESOLVING)

    def decisions(self, call: Call, text: str, limit: int) -> DecisionPage:
        found = self.search(call, HistoryQuestion(text, limit, categories=frozenset({"decision"})))
        rows: list[DecisionRow] = [_decision(row) for row in found["results"]]
        page: DecisionPage = {"results": rows, "degraded": found["degraded"]}
        if found["degraded"]:
            page["degraded_reason"] = found["degraded_reason"]
        return page

    def session(
        self, call: Call, session_id: str | None, include: Include, *, chronological: bool, limit: int
    ) -> SessionHistory:
        chosen = self._sessions.chosen(call, session_id)
        types = types_of(_INCLUDED[include]) if _INCLUDED[include] else ()
        found, is_member = self.thoughts.of_session(call, chosen, types, limit)
        rows = self._marked(found.rows if chronological else found.rows[::-1])
        return {"session_id": chosen, "complete": is_member, "results": rows}

    def recent(self, call: Call, categories: frozenset[str], limit: int) -> list[HistoryRow]:
        """The newest entries that the caller may see, newest first."""
        chosen = Filter(thought_types=types_of(categories) if categories else ())
        return self._marked(self.thoughts.read(chosen, self._sessions.viewer(call), limit).rows[::-1])


class Degraded(TypedDict):
    degraded: bool
    degraded_reason: NotRequired[str]


def _degraded(answers: Sequence[Answered]) -> Degraded:
    reasons = [*dict.fromkeys(each.degraded for each in answers if each.degraded)]
    return {"degraded": True, "degraded_reason": "; ".join(reasons)} if reasons else {"degraded": False}


def _pattern(group: list[HistoryRow]) -> PatternGroup:
    best = group[0]
    tags = [tag for row in group for tag in row.get("tags", [])]
    shown: PatternGroup = {
        "name": name_of(tags) or best["content"].splitlines()[0][:80],
        "pattern": best["content"],
        "occurrences": len(group),
        "entries": group,
    }
    category = next((tag.partition(":")[2] for tag in tags if tag.startswith("category:")), "")
    if category:
        shown["category"] = category
    return shown


def _decision(row: HistoryRow) -> DecisionRow:
    why = [found["why"].strip() for found in _REASON.finditer(row["content"])]
    return cast(DecisionRow, {**row, "rationale": "; ".join(why)} if why else row)


def _labelled_line(text: str, label: str) -> str:
    found = re.search(rf"^{label}: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""
