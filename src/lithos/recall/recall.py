"""Recall: asks every kind, joins the hits, and fits them into a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.text import cut, estimate_tokens
from lithos.notes import NoteHit, checked_query
from lithos.recall.kind import Kind, KindHits, Question

PASSAGES_OF_ONE = 3  # with a token budget: most passages that one document may fill it with
CANDIDATE_PASSAGES = 60


class RecallHit(NoteHit):
    passage: str
    score: float


class RecallAnswer(TypedDict):
    results: list[RecallHit]
    tokens_used: int
    relevant: bool
    degraded: bool
    degraded_reason: NotRequired[str]
    limit: NotRequired[int]
    trace: NotRequired[dict[str, Any]]


class Recall:
    """A `limit` above `most` is clamped, and the answer then says which limit was used."""

    def __init__(self, kinds: Sequence[Kind], *, most: int = 50) -> None:
        self.kinds = {kind.name: kind for kind in kinds}
        self._most = most

    def recall(self, question: Question, token_budget: int | None = None) -> RecallAnswer:
        """Without a budget the best passage of each document; with one the best passages that fit."""
        asked, limit = question.query, min(question.query.limit, self._most)
        query = replace(asked, text=checked_query(asked.text), limit=limit)
        if token_budget is not None:
            query = replace(query, limit=CANDIDATE_PASSAGES, per_document=PASSAGES_OF_ONE)
        answered = [kind.find(replace(question, query=query)) for kind in self.kinds.values()]
        hits = _joined(answered)
        if token_budget is not None:
            hits = list(_fitting(hits, token_budget))
        return _answer(answered, hits[:limit], self._most if asked.limit > self._most else None)


def _joined(answered: Sequence[KindHits]) -> list[RecallHit]:
    """By score, which every collection computes the same way; the hits of one kind keep their own order."""
    rows = [cast(RecallHit, each.render(hit)) for each in answered for hit in each.found.hits]
    return rows if len(answered) == 1 else sorted(rows, key=lambda row: -row["score"])


def _answer(answered: Sequence[KindHits], hits: list[RecallHit], clamped: int | None) -> RecallAnswer:
    reasons = list(dict.fromkeys(each.found.degraded for each in answered if each.found.degraded))
    answer: RecallAnswer = {
        "results": hits,
        "tokens_used": sum(map(_tokens, hits)),
        "relevant": any(each.found.relevant for each in answered),
        "degraded": bool(reasons),
    }
    if reasons:
        answer["degraded_reason"] = "; ".join(reasons)
    if clamped is not None:
        answer["limit"] = clamped
    traces = [each.found.trace for each in answered if each.found.trace is not None]
    if traces:
        answer["trace"] = {name: value for trace in reversed(traces) for name, value in trace.items()}
    return answer


def _fitting(hits: Iterable[RecallHit], budget: int) -> Iterator[RecallHit]:
    """The best that fit; the very first is cut rather than left out."""
    left, first = budget, True
    for hit in hits:
        if _tokens(hit) > left and first:
            hit = _cut_to(hit, left)
        if _tokens(hit) <= left and (hit["passage"] or first):
            left -= _tokens(hit)
            yield hit
        first = False


def _cut_to(hit: RecallHit, budget: int) -> RecallHit:
    passage = hit["passage"]
    while len(passage) > 1 and _tokens({**hit, "passage": passage}) > budget:
        passage = cut(passage, len(passage) * 3 // 4)
    return {**hit, "passage": passage}


def _tokens(hit: RecallHit) -> int:
    """Of what a model reads in a result: title, heading and passage."""
    return estimate_tokens(f"{hit['title']}\n{hit['heading']}\n{hit['passage']}")
