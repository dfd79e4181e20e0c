"""A text index in parts of consecutive ordinals, each a separate tantivy index.

Tantivy removes the terms of a deleted document only when it merges, and merges without a bound. In parts, erasing a
document rewrites one of them. The price is one search per part and word weights of the part, so parts grow with the
collection: 16 of 2,048 ordinals, then 16 of 8,192, and so on. 100,000 thoughts have 25 parts.
"""

from __future__ import annotations

import itertools
import math
import operator
import shutil
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lithos.errors import Damaged
from lithos.search.text.text_index import Scored, TextIndex

if TYPE_CHECKING:
    import tantivy

SMALLEST = 2048
OF_A_SIZE = 16
GROWTH = 4
UNFINISHED = ".new"
MORE_THAN_SHARE = 3  # of the best, by its size; of evenly spread documents no part has so many


def part_of(ordinal: int) -> range:
    """The ordinals that share a part with this one."""
    start, size = 0, SMALLEST
    while ordinal >= start + OF_A_SIZE * size:
        start, size = start + OF_A_SIZE * size, size * GROWTH
    first = start + (ordinal - start) // size * size
    return range(first, first + size)


class PartedTextIndex(TextIndex):
    def __init__(self, folder: Path, numbers: Sequence[str], *, of_passages: bool = False) -> None:
        self._describe(folder, numbers, of_passages=of_passages)
        if (folder / "meta.json").exists():
            raise Damaged("the full-text index is not in parts yet")
        for leftover in folder.glob(f"*{UNFINISHED}"):
            shutil.rmtree(leftover)
        self._summed: _Searchers | None = None
        self._parts = {int(each.name): self._open(int(each.name)) for each in folder.iterdir() if each.name.isdigit()}

    def _open(self, first: int, suffix: str = "") -> TextIndex:
        return TextIndex(self._folder / f"{first}{suffix}", sorted(self.numbers), of_passages=self._of_passages)

    @property
    def searcher(self) -> _Searchers:  # type: ignore[override]
        """The same object until a part is committed: word frequencies are kept for it."""
        now = [part.searcher for part in list(self._parts.values())]
        if self._summed is None or not self._summed.are(now):
            self._summed = _Searchers(now)
        return self._summed

    def write(self, removed: Iterable[int], added: Iterable[tantivy.Document]) -> None:
        going: dict[int, list[int]] = defaultdict(list)
        coming: dict[int, list[tantivy.Document]] = defaultdict(list)
        for ordinal in removed:
            if part_of(ordinal).start in self._parts:
                going[part_of(ordinal).start].append(ordinal)
        for document in added:
            coming[part_of(int(document.get_first("ordinal") or 0)).start].append(document)
        for first in sorted({*going, *coming}):
            if first not in self._parts:
                self._parts = {**self._parts, first: self._open(first)}
            self._parts[first].write(going[first], coming[first])

    def rewrite(self, first: int, batches: Iterable[Iterable[tantivy.Document]]) -> None:
        """Replace a part by one with these documents alone; the old one answers until then."""
        fresh = self._open(first, UNFINISHED)
        for batch in batches:
            fresh.write((), batch)
        shutil.rmtree(self._folder / str(first), ignore_errors=True)
        (self._folder / f"{first}{UNFINISHED}").rename(self._folder / str(first))
        self._parts = {**self._parts, first: self._open(first)}

    def search(self, query: tantivy.Query, limit: int) -> list[Scored]:
        """Each part proposes a few more than its share of the best; one whose last proposal is still among the best
        proposes all. Ordinals are read of the best alone."""
        asked = [(part, part.searcher) for part in list(self._parts.values())]
        if len(asked) == 1:
            return asked[0][0].search(query, limit)
        sizes = [searcher.num_docs for _, searcher in asked]
        shares = [min(limit, MORE_THAN_SHARE * limit * size // max(sum(sizes), 1) + 8) for size in sizes]
        found = [part.addresses(searcher, query, few) for (part, searcher), few in zip(asked, shares, strict=True)]
        least = _least(found, limit)
        for at, ((part, searcher), few) in enumerate(zip(asked, shares, strict=True)):
            if len(found[at]) == few < limit and found[at][-1][0] >= least:
                found[at] = part.addresses(searcher, query, limit)
        least = _least(found, limit)
        kept = [
            part.places(searcher, hits[: bisect_right(hits, -least, key=_worse)])
            for (part, searcher), hits in zip(asked, found, strict=True)
        ]
        return sorted(itertools.chain.from_iterable(kept), key=operator.itemgetter(2), reverse=True)[:limit]

    def deleted(self) -> int:
        return sum(part.deleted() for part in self._parts.values())

    def contents(self) -> Counter[int]:
        return sum((part.contents() for part in self._parts.values()), Counter[int]())

    def exists(self) -> bool:
        return self._folder.exists() and all(part.exists() for part in list(self._parts.values()))

    def is_untouched(self) -> bool:
        return all(part.is_untouched() for part in list(self._parts.values()))

    def verify(self) -> None:
        for part in self._parts.values():
            part.verify()


def _least(found: Iterable[Sequence[tuple[float, object]]], limit: int) -> float:
    """The score of the last of the best."""
    scores = sorted((score for hits in found for score, _ in hits), reverse=True)
    return scores[limit - 1] if len(scores) >= limit else -math.inf


def _worse(hit: tuple[float, object]) -> float:
    """Ascending where hits are best first."""
    return -hit[0]


class _Searchers:
    """The figures that `TextIndex` asks of a searcher, summed over the parts."""

    def __init__(self, parts: list[tantivy.Searcher]) -> None:
        self._parts = parts
        self.num_docs = sum(part.num_docs for part in parts)

    def are(self, parts: list[tantivy.Searcher]) -> bool:
        return len(parts) == len(self._parts) and all(map(operator.is_, parts, self._parts))

    def doc_freq(self, field: str, term: str) -> int:
        return sum(part.doc_freq(field, term) for part in self._parts)
