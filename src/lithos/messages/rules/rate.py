"""Sends of the last minute by each sender, counted in this host: a limit for runaways, not a record."""

from __future__ import annotations

from collections import deque

MINUTE = 60_000_000  # microseconds


class SendRate:
    def __init__(self) -> None:
        self._sent: dict[str, deque[int]] = {}
        self._swept = 0

    def wait(self, name: str, now: int, most: int) -> int:
        """0: one more is counted; else the microseconds until one may be sent. Called by the thread that commits."""
        if not 0 <= now - self._swept < MINUTE:  # also where a clock was set back
            self._sent = {each: sent for each, sent in self._sent.items() if now - MINUTE < sent[-1] <= now}
            self._swept = now
        sent = self._sent.setdefault(name, deque())
        while sent and sent[0] <= now - MINUTE:
            sent.popleft()
        if len(sent) >= most:
            return sent[0] + MINUTE - now
        sent.append(now)
        return 0
