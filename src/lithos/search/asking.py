"""Questions about notes as agents ask them: limits, budgets, and answers ready for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NotRequired, Protocol, cast

from typing_extensions import TypedDict

from lithos.core.text import cut, estimate_tokens
from lithos.errors import InvalidInput
from lithos.search.collection.collection import Collection
from lithos.search.values import Found, Hit, Query, Where

LONGEST_QUERY = 200_000
PASSAGES_OF_ONE = 3  # with a token budget: most passages that one note may fill it with
CANDIDATE_PASSAGES = 60


class Cited(TypedDict):
    """What every hit says of its note."""

    id: str
    title: str
    path: str
    heading: str
    author: str
    version: str
    status: NotRequired[str]
    recency_score: NotRequired[float]
    changed_since: NotRequired[bool]


class WordsHit(Cited):
    snippet: str
    score: float


class MeaningHit(Cited):
    snippet: str
    similarity: float


class RecallHit(Cited):
    passage: str
    score: float


class WordsAnswer(TypedDict):
    results: list[WordsHit]
    literal: NotRequired[str]
    limit: NotRequired[int]
    degraded: NotRequired[str]
    trace: NotRequired[dict[str, Any]]


class MeaningAnswer(TypedDict):
    results: list[MeaningHit]
    limit: NotRequired[int]
    degraded: NotRequired[str]
    trace: NotRequired[dict[str, Any]]


class RecallAnswer(TypedDict):
    results: list[RecallHit]
    tokens_used: int
    relevant: bool
    degraded: bool
    degraded_reason: NotRequired[str]
    limit: NotRequired[int]
    trace: NotRequired[dict[str, Any]]


class View(Protocol):
    """Which documents count for a question, and in which order its hits come."""

    def find(self, ask: Callable[[Query], Found], query: Query) -> Found:
        """The hits in this order; `ask` gives them by relevance."""
        ...

    def remarks(self, hit: Hit) -> dict[str, Any]:
        """Fields that an answer adds to the hit's own."""
        ...

    def trace(self) -> dict[str, Any]: ...


class Everything:
    """All documents, by relevance."""

    def find(self, ask: Callable[[Query], Found], query: Query) -> Found:
        return ask(query)

    def remarks(self, hit: Hit) -> dict[str, Any]:
        return {}

    def trace(self) -> dict[str, Any]:
        return {}


EVERYTHING = Everything()


class NoteSearch:
    """`limit` beyond `most` is clamped, and the answer then says which limit it kept."""

    def __init__(self, collection: Collection, *, most: int = 50, threshold: float = 0.3) -> None:
        self.collection = collection
        self._most = most
        self._threshold = threshold
        self.behind: Callable[[], str] = str  # why the collection is not all there is; nothing when it is

    def words(
        self, text: str, limit: int, where: Where, view: View = EVERYTHING, *, explain: bool = False
    ) -> WordsAnswer:
        asked = Query(_asked(text), "words", min(limit, self._most), where, explain=explain)
        found = self._query(asked, view)
        hits = [cast(WordsHit, _cited(hit, view, snippet=hit.snippet, score=hit.score)) for hit in found.hits]
        answer: WordsAnswer = {"results": hits}
        if found.literal:
            answer["literal"] = f"taken as plain words: {found.literal}"
        return cast(WordsAnswer, answer | self._said(found, limit))

    def meaning(
        self,
        text: str,
        limit: int,
        threshold: float | None,
        where: Where,
        view: View = EVERYTHING,
        *,
        explain: bool = False,
    ) -> MeaningAnswer:
        least = self._threshold if threshold is None else threshold
        asked = Query(_asked(text), "meaning", min(limit, self._most), where, least, explain=explain)
        found = self._query(asked, view)
        hits = [cast(MeaningHit, _near(hit, view)) for hit in found.hits]
        return cast(MeaningAnswer, {"results": hits, **self._said(found, limit)})

    def _said(self, found: Found, limit: int) -> dict[str, Any]:
        """What an answer says besides its results, where there is something to say."""
        said: dict[str, Any] = {"limit": self._most} if limit > self._most else {}
        if found.degraded:
            said["degraded"] = found.degraded
        if found.trace is not None:
            said["trace"] = found.trace
        return said

    def recall(
        self,
        text: str,
        limit: int,
        where: Where,
        token_budget: int | None,
        explain: bool,
        view: View = EVERYTHING,
    ) -> RecallAnswer:
        several = token_budget is not None
        asked = Query(
            _asked(text),
            "both",
            CANDIDATE_PASSAGES if several else min(limit, self._most),
            where,
            per_document=PASSAGES_OF_ONE if several else 1,
            explain=explain,
        )
        found = self._query(asked, view)
        hits = [cast(RecallHit, _cited(hit, view, passage=hit.passage, score=hit.score)) for hit in found.hits]
        if token_budget is not None:
            hits = list(_fitting(hits, token_budget))[: min(limit, self._most)]
        return _recalled(found, hits, self._most if limit > self._most else None)

    def _query(self, query: Query, view: View) -> Found:
        behind = self.behind()  # asked first: what is read meanwhile may be in the answer, and may not
        found = view.find(self.collection.query, query)
        found = replace(found, degraded="; ".join(filter(None, [behind, found.degraded])))
        return found if found.trace is None else replace(found, trace={**found.trace, **view.trace()})


def _asked(text: str) -> str:
    if not text.strip():
        raise InvalidInput("the query is empty", hint="Ask in your own words; lithos_list shows what there is.")
    if len(text) > LONGEST_QUERY:
        raise InvalidInput(f"the query has {len(text)} characters; {LONGEST_QUERY} is the most")
    return text


def _recalled(found: Found, hits: Sequence[RecallHit], kept_limit: int | None) -> RecallAnswer:
    answer: RecallAnswer = {
        "results": list(hits),
        "tokens_used": sum(map(_tokens, hits)),
        "relevant": found.relevant,
        "degraded": bool(found.degraded),
    }
    if found.degraded:
        answer["degraded_reason"] = found.degraded
    if kept_limit is not None:
        answer["limit"] = kept_limit
    if found.trace is not None:
        answer["trace"] = found.trace
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
    """What is there to read in a result: title, heading and passage."""
    return estimate_tokens(f"{hit['title']}\n{hit['heading']}\n{hit['passage']}")


def _near(hit: Hit, view: View) -> dict[str, Any]:
    return _cited(hit, view, snippet=hit.passage or hit.title, similarity=round(hit.similarity or 0.0, 4))


def _cited(hit: Hit, view: View, **more: Any) -> dict[str, Any]:
    return {
        "id": hit.id,
        "title": hit.title,
        "path": hit.path,
        "heading": hit.heading,
        "author": hit.author,
        "version": hit.version,
        **more,
        **view.remarks(hit),
    }
