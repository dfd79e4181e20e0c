"""Everything that matches, newest first, from engines that rank by relevance.

The engines return the best few hundred hits. Where more notes match, the range of creation times is narrowed until
the engines can return all that match in it: those are the newest, and none is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lithos.search import Bounds, Hit, Query, SearchResult

ROUNDS = 12  # halvings of the exponent below: to within half a percent of the right age
_OLDEST = 33.0  # as a power of two, in seconds: 272 years
_SOMETIME = 1e-6

Ask = Callable[[Query], SearchResult]


def born(hit: Hit) -> float:
    """When it was made; of a note that does not say so, when it was changed last."""
    return hit.numbers.get("created") or hit.numbers.get("updated", 0.0)


def newest(ask: Ask, query: Query, wanted: int, reference: float) -> SearchResult:
    """The `wanted` youngest hits of those that say when they were made, and of those that do not.

    `query.limit` is how many can be sorted; where more were made within half a percent of one age, the most relevant
    of them stand for all.
    """
    dated = _narrowed(ask, _within(query, "created", (_SOMETIME, None)), wanted, reference, "created")
    undated = _narrowed(ask, _within(query, "created", (None, 0.0)), wanted, reference, "updated")
    hits = sorted([*dated.hits, *undated.hits], key=born, reverse=True)
    return replace(dated, hits=tuple(hits[:wanted]), relevant=dated.relevant or undated.relevant)


def _narrowed(ask: Ask, query: Query, wanted: int, reference: float, field: str) -> SearchResult:
    found = ask(query)
    if len(found.hits) < query.limit:
        return found
    low, high = 0.0, _OLDEST
    for _ in range(ROUNDS):
        age = (low + high) / 2
        found = ask(_within(query, field, (reference - 2.0**age, None)))
        if wanted <= len(found.hits) < query.limit:
            break
        low, high = (age, high) if len(found.hits) < wanted else (low, age)
    return found


def _within(query: Query, field: str, bounds: Bounds) -> Query:
    """The query with these bounds as well as those that it has."""
    low, high = query.where.between.get(field, (None, None))
    narrow = (_both(max, low, bounds[0]), _both(min, high, bounds[1]))
    return replace(query, where=replace(query.where, between={**query.where.between, field: narrow}))


def _both(choose: Callable[[float, float], float], one: float | None, other: float | None) -> float | None:
    return choose(one, other) if one is not None and other is not None else one if other is None else other
