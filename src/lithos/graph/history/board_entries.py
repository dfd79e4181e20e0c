"""Outcomes and findings of the board as entries; the index of the board's texts is asked, not copied."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from lithos.core.call import Call
from lithos.core.clock import rfc3339
from lithos.graph.history.question import BOARD, Answered, HistoryQuestion
from lithos.graph.history.values import HistoryRow
from lithos.search import Finish, Hit, Query, Where

OUTCOME, FINDING = ("timeline", "task_completion"), ("insight", None)


class BoardSearch(Protocol):
    """The index of tasks and findings: keywords `kind` and `status`, number `time`."""

    def begin(self, query: Query) -> Finish: ...


class BoardEntries:
    def __init__(self, index: BoardSearch) -> None:
        self._index = index

    def find(self, call: Call, question: HistoryQuestion, least: float = 0.0) -> Answered:
        kinds = [
            status
            for status, (category, summary) in (("completed", OUTCOME), ("-", FINDING))
            if question.allows(category, summary)
        ]
        if not kinds or not question.asks(BOARD) or not question.text:
            return Answered([])
        where = Where(
            tags=question.tags,
            any_of={"kind": ("task", "finding"), "status": tuple(kinds)},
            between={"time": question.bounds()} if question.since or question.until else {},
        )
        found = self._index.begin(Query(question.text, limit=question.limit, where=where))(least)
        hits = [hit for hit in found.hits if not question.agents or hit.author in question.agents]
        return Answered([_row(hit) for hit in hits] if found.relevant else [], found.degraded)


def _row(hit: Hit) -> HistoryRow:
    kind, _, id = hit.id.partition(":")
    is_task = kind == "task"
    row: HistoryRow = {
        "id": f"outcome:{id}" if is_task else f"finding:{id}",
        "source": BOARD,
        "type": "outcome" if is_task else "finding",
        "category": OUTCOME[0] if is_task else FINDING[0],
        "title": hit.title,
        "content": hit.passage,
        "agent": hit.author,
        "timestamp": rfc3339(datetime.fromtimestamp(hit.numbers["time"], UTC)),
        "task_id": hit.keywords["task"][0],
        "score": round(hit.score, 6),
    }
    if is_task:
        row["summary_type"] = "task_completion"
    return row
