"""Through what a question looks at the notes: which of them count, as of when, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from lithos.core.clock import micros, rfc3339
from lithos.notes.lifecycle.decisions import recency_score
from lithos.notes.lifecycle.newest import Ask, born, newest
from lithos.search import Bounds, Hit, Query, SearchResult, Where

Rank = Literal["relevance", "recency_decay", "blended"]
StatusFilter = Literal["active", "superseded", "deprecated", "stale", "unapproved", "all"]
RECENCY_SHARE = 0.3  # of a blended score; the rest is relevance, measured against the best hit
CANDIDATES = 200  # that are put into another order than that of relevance
SIMILAR = 0.3  # a note that shares no word with a question matches it from this similarity on


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Without anything set: the active notes that have not expired, by relevance."""

    now: datetime
    status: StatusFilter | None = None
    as_of: datetime | None = None
    window_days: int | None = None
    rank: Rank = "relevance"
    boosts: Mapping[str, float] = field(default_factory=dict)  # note id → what feedback adds to 1
    quiet: bool = False  # hits carry no status: the caller asked for none
    some_ended: bool = True  # False: no note that is active has passed its end

    def where(self, where: Where) -> Where:
        """The filter with what counts; it acts inside the engines, so that a page is always full."""
        between: dict[str, Bounds] = dict(where.between)
        keywords = dict(where.any_of)
        moment = self.as_of or self.now
        if self.as_of is not None:
            between["created"] = (None, _seconds(moment))
        if self.window_days is not None:
            between["created"] = (_window_start(moment, self.window_days), between.get("created", (None, None))[1])
        if (self.status is None and self.some_ended) or self.as_of is not None:
            between["ends"] = (_seconds(moment) + 1e-6, None)
        if self.as_of is None and self.status != "all":
            keywords["status"] = (self.status or "active",)
        elif self.as_of is not None:
            # What was current then may be superseded or stale today; only what lacks its promotion never counted.
            keywords["status"] = ("active", "superseded", "stale")
        return replace(where, any_of=keywords, between=between)

    @property
    def plain(self) -> bool:
        """Whether the order of the engines is the order of the hits."""
        return self.rank == "relevance" and not self.boosts

    def find(self, ask: Ask, query: Query) -> SearchResult:
        """The hits that count, in the order of the rank; `ask` asks the engines."""
        asked = replace(query, where=self.where(query.where))
        if self.plain:
            return ask(asked)
        wide = replace(asked, limit=max(query.limit, CANDIDATES))
        if self.rank == "recency_decay":
            least = max(query.threshold, SIMILAR) if query.by == "both" else query.threshold
            return newest(ask, replace(wide, threshold=least), query.limit, _seconds(self.as_of or self.now))
        found = ask(wide)
        return replace(found, hits=tuple(self.arranged(found.hits)[: query.limit]))

    def arranged(self, hits: Sequence[Hit]) -> list[Hit]:
        if self.plain:
            return list(hits)
        best = max((hit.score for hit in hits), default=1.0) or 1.0
        return sorted(hits, key=lambda hit: -self._weight(hit, best))

    def _weight(self, hit: Hit, best: float) -> float:
        if self.rank == "recency_decay":
            return self.recency(hit)
        relevance = hit.score / best * (1 + self.boosts.get(hit.id, 0.0))
        if self.rank == "relevance":
            return relevance
        return (1 - RECENCY_SHARE) * relevance + RECENCY_SHARE * self.recency(hit)

    def recency(self, hit: Hit) -> float:
        age = max(0.0, _seconds(self.now) - born(hit))
        return recency_score(self.now - timedelta(seconds=age), self.now)

    def remarks(self, hit: Hit) -> dict[str, Any]:
        """The fields that this scope adds to a hit."""
        fields: dict[str, Any] = {}
        if self.rank != "relevance":
            fields["recency_score"] = round(self.recency(hit), 4)
        if self.as_of is not None and hit.numbers.get("updated", 0.0) > _seconds(self.as_of):
            fields["changed_since"] = True
        if not self.quiet and (self.status not in (None, "active") or self.as_of is not None):
            fields["status"] = next(iter(hit.keywords.get("status", ())), "active")
        return fields

    def trace(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"rank": self.rank}
        if self.as_of is not None:
            fields["as_of"] = rfc3339(self.as_of)
        if self.boosts:
            fields["feedback"] = {note: round(boost, 4) for note, boost in self.boosts.items()}
        return fields


def _seconds(moment: datetime) -> float:
    return micros(moment) / 1e6


def _window_start(reference: datetime, days: int) -> float:
    return _seconds(reference) - days * 86_400.0
