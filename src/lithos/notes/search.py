"""NoteSearch: full-text and semantic search over notes, with the lifecycle filters and the answers of its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.clock import Clock, micros, parse_time
from lithos.core.cursor import NextPage, ShownBefore
from lithos.core.names import is_blank
from lithos.errors import InvalidInput
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue
from lithos.notes.lifecycle.search_scope import Rank, SearchScope, StatusFilter
from lithos.search import Collection, Finish, Hit, Query, SearchResult, Where

LONGEST_QUERY = 200_000
LONGEST_WINDOW = 100_000  # days; a longer window filters nothing


class NoteHit(TypedDict):
    """The fields by which an answer cites a note."""

    id: str
    title: str
    path: str
    heading: str
    author: str
    version: str
    status: NotRequired[str]
    recency_score: NotRequired[float]
    changed_since: NotRequired[bool]


class WordsHit(NoteHit):
    snippet: str
    score: float


class MeaningHit(NoteHit):
    snippet: str
    similarity: float


class WordsAnswer(NextPage):
    results: list[WordsHit]
    literal: NotRequired[str]
    limit: NotRequired[int]
    degraded: bool
    degraded_reason: NotRequired[str]
    trace: NotRequired[dict[str, Any]]


class MeaningAnswer(NextPage):
    results: list[MeaningHit]
    limit: NotRequired[int]
    degraded: bool
    degraded_reason: NotRequired[str]
    trace: NotRequired[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """The arguments of a search that say which notes count and in which order they come."""

    status: StatusFilter | None = None
    as_of: str | None = None
    window_days: int | None = None
    rank: Rank = "relevance"


CURRENT_NOTES = ScopeRequest()
FIRST_PAGE = ShownBefore()


class NoteSearch:
    """A `limit` above `most` is clamped, and the answer then says which limit was used."""

    def __init__(
        self,
        collection: Collection,
        catalogue: Catalogue,
        clock: Clock,
        *,
        begin: Callable[[Query], Finish],
        boosts: Callable[[str], Mapping[str, float]],
        behind: Callable[[], str],
        most: int = 50,
        threshold: float = 0.3,
    ) -> None:
        """`begin`: puts a question to the collection.
        `boosts`: what feedback adds for a query. `behind`: which files the index has not read yet, or nothing."""
        self.collection = collection
        self.most = most
        self._catalogue = catalogue
        self._clock = clock
        self._begin = begin
        self._boosts = boosts
        self._behind = behind
        self._threshold = threshold

    def words(
        self,
        text: str,
        limit: int,
        where: Where,
        request: ScopeRequest = CURRENT_NOTES,
        *,
        explain: bool = False,
        after: ShownBefore = FIRST_PAGE,
    ) -> WordsAnswer:
        most = min(limit, self.most)
        query = Query(checked_query(text), "words", after.depth(most), where, explain=explain)
        found, scope = self.find(query, request)
        rows, more = after.page(found.hits, most, lambda hit: hit.id)
        hits = [{**cited(hit), "snippet": hit.snippet, "score": hit.score, **scope.remarks(hit)} for hit in rows]
        answer: dict[str, Any] = {"results": hits, **more}
        if found.literal:
            answer["literal"] = f"taken as plain words: {found.literal}"
        return cast(WordsAnswer, answer | self._notices(found, limit))

    def meaning(
        self,
        text: str,
        limit: int,
        threshold: float | None,
        where: Where,
        request: ScopeRequest = CURRENT_NOTES,
        *,
        explain: bool = False,
        after: ShownBefore = FIRST_PAGE,
    ) -> MeaningAnswer:
        least, most = self._threshold if threshold is None else threshold, min(limit, self.most)
        query = Query(checked_query(text), "meaning", after.depth(most), where, least, explain=explain)
        found, scope = self.find(query, request)
        rows, more = after.page(found.hits, most, lambda hit: hit.id)
        hits = [{**cited(hit), **_similar(hit), **scope.remarks(hit)} for hit in rows]
        return cast(MeaningAnswer, {"results": hits, **more, **self._notices(found, limit)})

    def find(self, query: Query, request: ScopeRequest = CURRENT_NOTES) -> tuple[SearchResult, SearchScope]:
        """The hits in the order of the request, and the scope that renders what it adds to each."""
        return self.begin(query, request)()

    def begin(
        self, query: Query, request: ScopeRequest = CURRENT_NOTES
    ) -> Callable[[], tuple[SearchResult, SearchScope]]:
        scope = self._scope(query.text, request)
        behind = self._behind()  # asked first: a file that is read meanwhile may or may not be in the answer
        begun = self._begin(replace(query, where=scope.where(query.where))) if scope.plain else None

        def finish() -> tuple[SearchResult, SearchScope]:
            found = begun() if begun is not None else scope.find(lambda asked: self._begin(asked)(), query)
            if behind:
                found = replace(found, degraded="; ".join(filter(None, [behind, found.degraded])))
            return (found if found.trace is None else replace(found, trace={**found.trace, **scope.trace()})), scope

        return finish

    def _scope(self, text: str, request: ScopeRequest) -> SearchScope:
        if request.as_of is not None and request.status is not None:
            raise InvalidInput("as_of and status exclude each other", hint="as_of shows what was current then.")
        as_of = None if request.as_of is None else parse_time(request.as_of, "as_of")
        now = self._clock.now()
        unfiltered = request == ScopeRequest(rank=request.rank) and self._catalogue.read(queries.all_count)
        return SearchScope(
            now,
            "all" if unfiltered else request.status,
            as_of,
            None if request.window_days is None else min(request.window_days, LONGEST_WINDOW),
            request.rank,
            self._boosts(text),
            quiet=unfiltered,
            some_ended=not unfiltered and self._catalogue.read(lambda tx: queries.some_have_ended(tx, micros(now))),
        )

    def _notices(self, found: SearchResult, limit: int) -> dict[str, Any]:
        """Whether all was searched, and the fields of an answer that appear only when they say something."""
        notices: dict[str, Any] = {"degraded": bool(found.degraded)}
        if found.degraded:
            notices["degraded_reason"] = found.degraded
        if limit > self.most:
            notices["limit"] = self.most
        if found.trace is not None:
            notices["trace"] = found.trace
        return notices


def checked_query(text: str) -> str:
    if is_blank(text):
        raise InvalidInput("the query is empty", hint="Ask in your own words; lithos_list shows what there is.")
    if len(text) > LONGEST_QUERY:
        raise InvalidInput(f"the query has {len(text)} characters; {LONGEST_QUERY} is the most")
    return text


def cited(hit: Hit) -> NoteHit:
    return {
        "id": hit.id,
        "title": hit.title,
        "path": hit.path,
        "heading": hit.heading,
        "author": hit.author,
        "version": hit.version,
    }


def _similar(hit: Hit) -> dict[str, Any]:
    return {"snippet": hit.passage or hit.title, "similarity": round(hit.similarity or 0.0, 4)}
