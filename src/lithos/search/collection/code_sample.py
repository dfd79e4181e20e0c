"""How much of a collection is program code, from a sample that is taken again as the collection grows or shrinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from lithos.search.collection.catalogue import IndexEntry, KnownDocument
from lithos.search.text.code import code_share

SAMPLED = 64  # documents: 3 ms
PASSAGES = 4  # of each, its first
AGAIN = 4  # when one in so many came or went


class CodeSample:
    def __init__(self) -> None:
        self.share = 0.0
        self._documents = 0  # when the sample was taken

    def wanted(self, known: Mapping[str, KnownDocument]) -> list[int]:
        """Ordinals to sample, evenly spread; empty while the last sample still holds."""
        count = len(known)
        if abs(count - self._documents) * AGAIN <= self._documents:
            return []
        self._documents = count
        return [each.ordinal for each in islice(known.values(), 0, None, -(-count // SAMPLED) or 1)]

    def take(self, entries: Iterable[IndexEntry]) -> None:
        self.share = code_share(passage.text for entry in entries for passage in entry.passages[:PASSAGES])
