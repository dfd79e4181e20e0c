"""Arrivals: which agents have mail that no answer has mentioned yet, counted from the journal."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass

from lithos.errors import CursorExpired
from lithos.messages.store import INBOX
from lithos.storage import Followers

ARRIVED = frozenset({"sent", "queued"})  # kinds of journal entries


class Arrivals:
    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._lock = threading.Lock()
        self._new: dict[str, set[int]] = {}  # by receiver, the numbers of the messages
        self._taken: set[int] = set()  # before the journal was read
        self._cursor: int | None = None
        self._dirty = True

    def changed(self) -> None:
        """The journal has something new; from any thread."""
        self._dirty = True

    def pop(self, agent: str) -> int:
        """Messages that came for this agent since this was last asked. Costs nothing when nothing was sent."""
        if self._dirty:
            self._read()
        if not self._new:
            return 0
        with self._lock:
            return len(self._new.pop(agent, ()))

    def taken(self, agent: str, numbers: Collection[int]) -> None:
        """The agent has these messages: no later answer need mention them."""
        with self._lock:
            if agent in self._new:
                self._new[agent].difference_update(numbers)
            if self._dirty:
                self._taken.update(numbers)

    def _read(self) -> None:
        with self._lock:
            self._dirty = False
            first = self._cursor is None
            found = arrived_since(self._followers, self._cursor)
            self._cursor = found.cursor
            if found.more:
                self._dirty = True
            for name, seq in () if first else found.mail:
                if seq not in self._taken:
                    self._new.setdefault(name, set()).add(seq)
            if not found.more:
                self._taken.clear()


@dataclass(frozen=True, slots=True)
class Arrived:
    mail: tuple[tuple[str, int], ...]  # receiver and number of each message
    cursor: int
    more: bool = False

    @property
    def receivers(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.mail)


def arrived_since(followers: Followers, cursor: int | None) -> Arrived:
    try:
        page = followers.read(cursor)
    except CursorExpired as expired:
        return Arrived((), int(expired.details["cursor"]))
    mail = (each for each in page.entries if each.kind in ARRIVED and each.subject.startswith(INBOX))
    return Arrived(tuple((each.subject.removeprefix(INBOX), each.seq) for each in mail), page.cursor, page.more)
