"""Arrivals: which agents have mail that no answer has mentioned yet, counted from the journal."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from lithos.errors import CursorExpired
from lithos.messages.store import INBOX
from lithos.storage import Followers

ARRIVED = frozenset({"sent", "queued"})  # kinds of journal entries


class Arrivals:
    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}  # by receiver
        self._cursor: int | None = None
        self._dirty = True

    def changed(self) -> None:
        """The journal has something new; from any thread."""
        self._dirty = True

    def pop(self, agent: str) -> int:
        """Messages that came for this agent since this was last asked. Costs nothing when nothing was sent."""
        if self._dirty:
            self._read()
        if not self._counts:
            return 0
        with self._lock:
            return self._counts.pop(agent, 0)

    def _read(self) -> None:
        with self._lock:
            self._dirty = False
            first = self._cursor is None
            found = arrived_since(self._followers, self._cursor)
            self._cursor, self._dirty = found.cursor, found.more
            for name in () if first else found.receivers:
                self._counts[name] = self._counts.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class Arrived:
    receivers: tuple[str, ...]  # one for each message
    cursor: int
    more: bool = False


def arrived_since(followers: Followers, cursor: int | None) -> Arrived:
    try:
        page = followers.read(cursor)
    except CursorExpired as expired:
        return Arrived((), int(expired.details["cursor"]))
    mail = (each for each in page.entries if each.kind in ARRIVED and each.subject.startswith(INBOX))
    return Arrived(tuple(each.subject.removeprefix(INBOX) for each in mail), page.cursor, page.more)
