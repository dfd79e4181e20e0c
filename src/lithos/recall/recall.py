"""Recall: asks every kind, joins the hits, and fits them into a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NotRequired, cast

from lithos.core.cursor import NextPage, ShownBefore
from lithos.core.text import cut, estimate_tokens
from lithos.notes import FIRST_PAGE, NoteHit, ScopeRequest, checked_query
from lithos.recall.hops import (
    LINKED_FROM,
    MOST_LINKED,
    Scored,
    asks_for_two,
    further_questions,
    with_further,
    with_linked,
)
from lithos.recall.kind import Kind, KindHits, LinkedKind, Question
from lithos.search import RERANKER_UNUSABLE, Reranker

PASSAGES_OF_ONE = 3  # with a token budget: most passages that one document may fill it with
CANDIDATE_PASSAGES = 60
RERANKED = 30  # of the best hits, where there is a reranker


OTHERS = 0.8  # of its score counts for a hit that is no note: equal evidence, and the note comes first
NOTE = "note"


class RecallHit(NoteHit):
    kind: str
    passage: str
    score: float


class RecallAnswer(NextPage):
    results: list[RecallHit]
    tokens_used: int
    relevant: bool
    degraded: bool
    degraded_reason: NotRequired[str]
    limit: NotRequired[int]
    trace: NotRequired[dict[str, Any]]


class Recall:
    """A `limit` above `most` is clamped, and the answer then says which limit was used."""

    def __init__(self, kinds: Sequence[Kind], *, most: int = 50, reranker: Reranker | None = None) -> None:
        self.kinds = {kind.name: kind for kind in kinds}
        self._most = most
        self._reranker = reranker

    def recall(
        self,
        question: Question,
        token_budget: int | None = None,
        kinds: Sequence[str] | None = None,
        after: ShownBefore = FIRST_PAGE,
        *,
        hops: int = 0,
    ) -> RecallAnswer:
        """Without a budget the best passage of each document; with one the best passages that fit, and no further
        page. `kinds`: only these; without it all, unless a filter or a scope is for notes alone. `hops`: also what
        the best hits lead to, if the question names two things or compares."""
        asked, limit = question.query, min(question.query.limit, self._most)
        query = replace(asked, text=checked_query(asked.text), limit=after.depth(limit))
        if token_budget is not None:
            query = replace(query, limit=CANDIDATE_PASSAGES, per_document=PASSAGES_OF_ONE)
        elif self._reranker is not None or hops:
            query = replace(query, limit=max(query.limit, RERANKED))
        question = replace(question, query=query, kinds=tuple(self._asked_of(question, kinds)))
        answered = self._answered(question, token_budget is None)
        joined, more = _joined(answered), NextPage()
        if hops and asks_for_two(query.text):
            joined = self._hopped(question, joined)
        if self._reranker is not None:
            joined = self._reranked(self._reranker, query.text, joined)
        if token_budget is None:
            joined, more = after.page(joined, limit, lambda each: each.key)
        hits: Iterable[RecallHit] = (_shown(each) for each in joined)
        if token_budget is not None:
            hits = islice(_fitting(hits, token_budget), limit)
        clamped = self._most if asked.limit > self._most else None
        reason = RERANKER_UNUSABLE if self._reranker is not None and self._reranker.failure else ""
        return {**_answer([*answered.values()], [*hits], clamped, reason), **more}

    def _answered(self, question: Question, whole: bool) -> dict[str, KindHits]:
        """Every kind begins before any is finished. Of the others only those hits are fetched that can come before
        the last note, if `whole` documents are asked for and there are notes enough."""
        begun = {name: self.kinds[name].begin(question) for name in question.kinds}
        answered: dict[str, KindHits] = {}
        least = 0.0
        for name, finish in begun.items():
            answered[name] = finish(least)
            hits = answered[name].found.hits
            if name == NOTE and whole and len(hits) >= question.query.limit:
                least = min(hit.score for hit in hits) / OTHERS
        return answered

    def _hopped(self, question: Question, joined: list[Scored]) -> list[Scored]:
        """One step on: a second round with what the best say, then the notes that the best are linked to."""
        asked = [
            replace(question, query=replace(question.query, text=text, explain=False))
            for text in further_questions(question.query.text, joined)
        ]
        joined = with_further(joined, [_joined(self._answered(each, False)) for each in asked])
        notes: object = self.kinds.get(NOTE)
        if not isinstance(notes, LinkedKind):
            return joined
        best = [each for each in joined if each.kind == NOTE][:LINKED_FROM]
        return with_linked(joined, {each.key: notes.linked(question, each.hit, MOST_LINKED) for each in best})

    def _reranked(self, reranker: Reranker, text: str, joined: list[Scored]) -> list[Scored]:
        """The best in the order of the reranker; the rest as it was."""
        best, rest = joined[:RERANKED], joined[RERANKED:]
        scores = reranker.scores(text, [f"{each.hit.title}\n{each.hit.passage}".strip() for each in best])
        if scores is None:
            return joined
        order = sorted(range(len(best)), key=lambda at: -scores[at])  # stable: equal scores keep their order
        return [best[at] for at in order] + rest

    def _asked_of(self, question: Question, kinds: Sequence[str] | None) -> list[str]:
        if kinds:
            return [name for name in self.kinds if name in kinds]
        notes_alone = question.query.where.path_prefix is not None or question.scope != ScopeRequest()
        return [NOTE] if notes_alone else [*self.kinds]


def _shown(scored: Scored) -> RecallHit:
    return cast(RecallHit, {"kind": scored.kind, **scored.render(scored.hit)})


def _joined(answered: Mapping[str, KindHits]) -> list[Scored]:
    """By score, which every collection computes the same way; the hits of one kind keep their own order.

    A kind that has nothing relevant contributes nothing beside one that has: 20,000 unrelated tasks must not push down
    the note that answers. A hit without evidence is no hit.
    """
    relevant = any(each.found.relevant for each in answered.values())
    rows: list[Scored] = []
    for name, each in answered.items():
        if relevant and not each.found.relevant and len(answered) > 1 and name != NOTE:
            continue
        lowest = float("inf")
        for hit in each.found.hits:
            if hit.score <= 0:
                continue
            lowest = min(lowest, hit.score)  # its own order stays
            rows.append(Scored(lowest if name == NOTE else lowest * OTHERS, name, hit, each.render))
    return sorted(rows, key=lambda each: -each.score)


def _answer(answered: Sequence[KindHits], hits: list[RecallHit], clamped: int | None, reason: str = "") -> RecallAnswer:
    reasons = list(dict.fromkeys(filter(None, [*(each.found.degraded for each in answered), reason])))
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
