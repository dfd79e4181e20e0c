"""Arrivals: which agents have mail that no answer has mentioned yet, counted from the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lithos.errors import CursorExpired
from lithos.messages.store import INBOX
from lithos.storage import Followers, JournalEntry

ARRIVED = frozenset({"sent", "queued", "ready"})  # kinds of journal entries


class Arrivals:
    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._lock = threading.Lock()
        self._new: dict[str, dict[int, str]] = {}  # by receiver, the numbers of the messages and their sessions
        self._taken: set[int] = set()  # before the journal was read
        self._cursor: int | None = None
        self._dirty = True

    def changed(self) -> None:
        """The journal has something new; from any thread."""
        self._dirty = True

    def pop(self, agent: str, closed_sessions: Callable[[], frozenset[str]] = frozenset) -> int:
        """Messages that came for this agent since this was last asked. Costs nothing when nothing was sent.

        Those of a closed session are for a caller who may see it; they are kept for that one.
        """
        if self._dirty:
            self._read()
        if not self._new:
            return 0
        with self._lock:
            new = self._new.pop(agent, {})
        if not any(new.values()) or not (closed := closed_sessions()):
            return len(new)
        kept = {number: session for number, session in new.items() if session in closed}
        if kept:
            with self._lock:
                self._new.setdefault(agent, {}).update(kept)
        return len(new) - len(kept)

    def taken(self, agent: str, numbers: Collection[int]) -> None:
        """The agent has these messages: no later answer need mention them."""
        with self._lock:
            for number in numbers if agent in self._new else ():
                self._new[agent].pop(number, None)
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
            for each in () if first else found.mail:
                if each.number is not None and each.number not in self._taken:
                    self._new.setdefault(each.receiver, {})[each.number] = each.session_id
            if not found.more:
                self._taken.clear()


@dataclass(frozen=True, slots=True)
class Mail:
    receiver: str
    number: int | None  # of the message, where it can be taken now
    session_id: str


@dataclass(frozen=True, slots=True)
class Arrived:
    mail: tuple[Mail, ...]
    cursor: int
    more: bool = False


def arrived_since(followers: Followers, cursor: int | None) -> Arrived:
    try:
        page = followers.read(cursor)
    except CursorExpired as expired:
        return Arrived((), int(expired.details["cursor"]))
    mail = (each for each in page.entries if each.kind in ARRIVED and each.subject.startswith(INBOX))
    return Arrived(tuple(map(_mail, mail)), page.cursor, page.more)


def _mail(entry: JournalEntry) -> Mail:
    """One that waits for its time, or for another of its conversation, has arrived when it is ready."""
    number = entry.seq if entry.kind == "sent" else entry.details.get("number")
    return Mail(entry.subject.removeprefix(INBOX), number, entry.details.get("session_id", ""))
