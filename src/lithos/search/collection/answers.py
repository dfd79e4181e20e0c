"""Answers to questions that were asked before, good until anything in the collection changes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import NamedTuple, Protocol

from lithos.search.values import Query, SearchResult

KEPT = 128
LARGEST_LIMIT = 60  # hits of an answer that is kept
Stamp = tuple[int, int]  # of the collection's contents


class Finish(Protocol):
    """Finishes a question that was begun; hits that score less than `least` are left out, and not fetched."""

    def __call__(self, least: float = 0.0) -> SearchResult: ...


class KeptAnswer(NamedTuple):
    stamp: Stamp
    least: float  # hits below it were not fetched
    found: SearchResult


class Answers:
    """In memory. A question has its old answer while the collection's stamp is the one it was made under."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, KeptAnswer] = OrderedDict()

    def get(self, query: Query, stamp: Stamp) -> KeptAnswer | None:
        key = _key(query)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.stamp != stamp:
                return None
            self._kept.move_to_end(key)
            return kept

    def keep(self, query: Query, answer: KeptAnswer) -> None:
        if query.limit > LARGEST_LIMIT:
            return
        with self._lock:
            self._kept[_key(query)] = answer
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()


def _key(query: Query) -> bytes:
    return hashlib.blake2b(repr(query).encode("utf-8", "surrogatepass"), digest_size=16).digest()
