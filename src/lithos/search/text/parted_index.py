"""A text index in parts of consecutive ordinals, each a separate tantivy index.

Tantivy removes the terms of a deleted document only when it merges, and merges without a bound. In parts, erasing a
document rewrites one of them. The price is one search per part and word weights of the part, so parts grow with the
collection: 16 of 2,048 ordinals, then 16 of 8,192, and so on. 100,000 thoughts have 25 parts.
"""

from __future__ import annotations

import itertools
import operator
import shutil
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
        parts = list(self._parts.values())
        if len(parts) == 1:
            return parts[0].search(query, limit)
        found = itertools.chain.from_iterable(part.search(query, limit) for part in parts)
        return sorted(found, key=operator.itemgetter(2), reverse=True)[:limit]

    def deleted(self) -> int:
        return sum(part.deleted() for part in self._parts.values())

    def contents(self) -> Counter[int]:
        return sum((part.contents() for part in self._parts.values()), Counter[int]())

    def exists(self) -> bool:
        return self._folder.exists() and all(part.exists() for part in list(self._parts.values()))

    def is_untouched(self) -> bool:
        return self._folder.exists() and all(part.is_untouched() for part in list(self._parts.values()))

    def verify(self) -> None:
        for part in self._parts.values():
            part.verify()


class _Searchers:
    """The figures that `TextIndex` asks of a searcher, summed over the parts."""

    def __init__(self, parts: list[tantivy.Searcher]) -> None:
        self._parts = parts

    def are(self, parts: list[tantivy.Searcher]) -> bool:
        return len(parts) == len(self._parts) and all(map(operator.is_, parts, self._parts))

    @property
    def num_docs(self) -> int:
        return sum(part.num_docs for part in self._parts)

    def doc_freq(self, field: str, term: str) -> int:
        return sum(part.doc_freq(field, term) for part in self._parts)
