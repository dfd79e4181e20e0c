"""The cache of answers: equal intent, subject, direction, time and negation, and sources that did not change since.

Similarity alone never hits: "what calls X" and "what does X call" are 0.96 alike.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

from lithos.graph.answers.intents import CACHED_FROM, Intent

MOST_ENTRIES: Final = 1_000
MOST_BYTES: Final = 6_000_000
MINUTES: Final = {
    ("code", "LOCATE"): None,  # until a file of the result changes
    ("code", "PATTERN"): 60,
    ("code", "EXPLAIN"): 30,
    ("code", "GENERAL"): 15,
    ("history", "HISTORICAL"): 60,
    ("history", "ACTIVITY"): 5,
    ("history", "OUTCOME"): 30,
    ("history", "SIMILAR"): 30,
    ("history", "RESUME"): 1,
    ("history", "GENERAL"): 15,
    ("academic", "RESEARCH"): 24 * 60,
}
Probe = Callable[[], Hashable]


@dataclass(frozen=True, slots=True)
class Cached:
    answer: dict[str, Any]
    probe: Probe  # the state that the answer rests on, as it is now
    state: Hashable  # as it was
    until: float | None  # seconds of the clock; None: no end
    size: int


class AnswerCache:
    """In memory, least recently used goes first. `scope` keeps callers with other rights apart."""

    def __init__(self, now: Callable[[], float], most: int = MOST_ENTRIES, most_bytes: int = MOST_BYTES) -> None:
        self._now = now
        self._most = most
        self._most_bytes = most_bytes
        self._entries: OrderedDict[Hashable, Cached] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def get(self, intent: Intent, scope: Hashable) -> dict[str, Any] | None:
        if intent.confidence < CACHED_FROM:
            return None
        key = (intent.key, scope)
        with self._lock:
            entry = self._entries.get(key)
        if entry is None:
            self.counts["misses"] += 1
            return None
        if (entry.until is not None and self._now() >= entry.until) or entry.probe() != entry.state:
            self.counts["stale"] += 1
            self._drop(key)
            return None
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
        self.counts["hits"] += 1
        return entry.answer

    def put(self, intent: Intent, scope: Hashable, answer: dict[str, Any], probe: Probe, state: Hashable) -> None:
        """`state` was probed before the answer was made: what changed meanwhile makes the entry stale."""
        if intent.confidence < CACHED_FROM:
            return
        minutes = MINUTES.get((intent.domain, intent.intent), 15)
        until = None if minutes is None else self._now() + minutes * 60
        size = len(str(answer)) * 2
        if size > self._most_bytes:
            return
        key = (intent.key, scope)
        self._drop(key)
        with self._lock:
            self._entries[key] = Cached(answer, probe, state, until, size)
            self._bytes += size
            while len(self._entries) > self._most or self._bytes > self._most_bytes:
                _, gone = self._entries.popitem(last=False)
                self._bytes -= gone.size

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._bytes = 0
        self.counts["cleared"] += 1

    def _drop(self, key: Hashable) -> None:
        with self._lock:
            gone = self._entries.pop(key, None)
            self._bytes -= gone.size if gone else 0

    def status(self) -> dict[str, int]:
        with self._lock:
            sizes = {"entries": len(self._entries), "bytes": self._bytes}
        return {**sizes, **{name: self.counts[name] for name in ("hits", "misses", "stale", "cleared")}}
