"""The life of knowledge, joined: what moves a question's answers, what ages, what is promoted, what is alike."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.core.clock import Clock, micros, parse_time
from lithos.errors import InvalidInput
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue
from lithos.notes.lifecycle.decay import Decay
from lithos.notes.lifecycle.feedback import Feedback
from lithos.notes.lifecycle.near_duplicates import NearDuplicates
from lithos.notes.lifecycle.promotions import Promotions
from lithos.notes.lifecycle.search_scope import Rank, SearchScope, Shown

LONGEST_WINDOW = 100_000  # days; beyond it a window is none


@dataclass(frozen=True, slots=True)
class Looking:
    """What a question says of which notes count, and in which order."""

    status: Shown | None = None
    as_of: str | None = None
    window_days: int | None = None
    rank: Rank = "relevance"


@dataclass(frozen=True, slots=True)
class Knowledge:
    feedback: Feedback
    promotions: Promotions
    decay: Decay
    likes: NearDuplicates
    catalogue: Catalogue
    clock: Clock

    def lens(self, query: str, looking: Looking) -> SearchScope:
        if looking.as_of is not None and looking.status is not None:
            raise InvalidInput("as_of and status exclude each other", hint="as_of shows what was current then.")
        as_of = None if looking.as_of is None else parse_time(looking.as_of, "as_of")
        now = self.clock.now()
        unfiltered = looking == Looking(rank=looking.rank) and self.catalogue.read(queries.all_stand)
        return SearchScope(
            now,
            "all" if unfiltered else looking.status,
            as_of,
            None if looking.window_days is None else min(looking.window_days, LONGEST_WINDOW),
            looking.rank,
            self.feedback.boosts(query),
            quiet=unfiltered,
            some_ended=not unfiltered and self.catalogue.read(lambda tx: queries.some_have_ended(tx, micros(now))),
        )
