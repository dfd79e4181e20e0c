"""Sends of this minute by each sender, counted in this host: a limit for runaways, not a record."""

from __future__ import annotations

from collections import Counter

MINUTE = 60_000_000  # microseconds


class SendRate:
    def __init__(self) -> None:
        self._minute = 0
        self._sent: Counter[str] = Counter()

    def count(self, name: str, now: int) -> int:
        """Count one more; how many it was before. Called by the thread that commits, so by one at a time."""
        minute = now // MINUTE
        if minute != self._minute:
            self._minute = minute
            self._sent.clear()
        before = self._sent[name]
        self._sent[name] = before + 1
        return before
