"""Followers: waiting for the next entries of a journal without a thread and without polling.

A waiter is a future of its event loop. A commit of any host posts one message per loop, and one read answers all of its
waiters. They are kept by subject: an entry costs as much as the waiters that it concerns, however many others wait. A
commit of this process that concerns no waiter of a loop does not wake the loop at all.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from lithos.storage.database.database import Database
from lithos.storage.journal.journal import Journal, JournalEntry, JournalPage

NEVER = 2**62


@dataclass(eq=False, slots=True)
class _Waiter:
    cursor: int
    subjects: Collection[str] | None
    page: asyncio.Future[JournalPage]


@dataclass(eq=False, slots=True)
class _LoopWaiters:
    """The waiters of one event loop. Its thread changes them; `looks`, `reading`, `passed` under the lock."""

    by_subject: dict[str | None, set[_Waiter]] = field(default_factory=dict)  # None: of every entry
    count: int = 0
    cursor: int = 0  # every entry up to here has been shown to those that wait
    looks: int = 0  # posted to the loop, and not begun
    passed: int = 0  # every entry up to here was shown, or concerned none that waited
    reading: bool = False
    again: bool = False  # a commit came during the read

    def add(self, waiter: _Waiter) -> None:
        first = self.count == 0 and not self.reading
        self.cursor = waiter.cursor if first else min(self.cursor, waiter.cursor)
        self.count += 1
        for subject in _subjects(waiter):
            self.by_subject.setdefault(subject, set()).add(waiter)

    def discard(self, waiter: _Waiter) -> None:
        self.count -= 1
        for subject in _subjects(waiter):
            others = self.by_subject[subject]
            others.discard(waiter)
            if not others:
                del self.by_subject[subject]

    def concerned(self, entry: JournalEntry) -> Iterator[_Waiter]:
        for subject in (entry.subject, None):
            for waiter in self.by_subject.get(subject, ()):
                if entry.seq > waiter.cursor and not waiter.page.done():
                    yield waiter

    def may_pass(self, subjects: Collection[str] | None) -> bool:
        """Whether a commit about these concerns none that waits, and nothing before it is still to be shown."""
        if subjects is None or self.looks or self.reading or None in self.by_subject:
            return False
        return not any(subject in self.by_subject for subject in subjects)

    def all(self) -> set[_Waiter]:
        return {waiter for group in self.by_subject.values() for waiter in group}


def _subjects(waiter: _Waiter) -> Collection[str | None]:
    return (None,) if waiter.subjects is None else waiter.subjects


class Followers:
    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        self._loops: dict[asyncio.AbstractEventLoop, _LoopWaiters] = {}
        self._lock = threading.Lock()
        self._wakes = 0
        self._stop_listening = database.watch(journal.channel, self._wake)

    def __len__(self) -> int:
        """Those that wait now."""
        return sum(each.count for each in self._loops.values())

    def close(self) -> None:
        self._stop_listening()

    def read(self, cursor: int | None, subjects: Collection[str] | None = None) -> JournalPage:
        return self._database.read(lambda tx: self._journal.since(tx, cursor, subjects))

    def commits(self) -> int | None:
        """Equal numbers: `read` has nothing new. None: it may have."""
        return self._database.commits(self._journal.channel)

    async def wait(self, cursor: int | None, seconds: float, subjects: Collection[str] | None = None) -> JournalPage:
        """The entries after `cursor` (None: from now on) as soon as there are some; empty after `seconds`."""
        loop = asyncio.get_running_loop()
        own = self._of(loop)
        while True:
            wakes = self._wakes
            page = await loop.run_in_executor(None, self.read, cursor, subjects)
            if page.entries or seconds <= 0:
                return page
            cursor = page.cursor
            waiter = _Waiter(cursor, subjects, loop.create_future())
            own.add(waiter)
            if wakes == self._wakes:  # no commit since the read began; the next one finds this waiter
                return await _answered(own, waiter, seconds)
            own.discard(waiter)

    def _of(self, loop: asyncio.AbstractEventLoop) -> _LoopWaiters:
        with self._lock:
            for closed in [each for each in self._loops if each.is_closed()]:
                del self._loops[closed]
            return self._loops.setdefault(loop, _LoopWaiters())

    def _wake(self, subjects: Collection[str] | None, number: int) -> None:
        """After a commit, from any thread."""
        loops = []
        with self._lock:
            self._wakes += 1
            for loop, own in self._loops.items():
                if own.may_pass(subjects):
                    own.passed = number
                elif not loop.is_closed():
                    own.looks += 1
                    loops.append(loop)
        for loop in loops:
            with suppress(RuntimeError):  # closed meanwhile: it has no waiters any more
                loop.call_soon_threadsafe(self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read once for all waiters of the loop. Commits during the read share the next one."""
        own = self._loops[loop]
        with self._lock:
            own.looks -= 1
            if own.reading:
                own.again = True
                return
            own.reading = bool(own.count)
        if own.reading:
            self._read_for(loop, own)

    def _read_for(self, loop: asyncio.AbstractEventLoop, own: _LoopWaiters) -> None:
        own.again = False
        begun, own.cursor = max(own.cursor, own.passed), NEVER  # those that come during the read set it again
        reading = loop.run_in_executor(None, self.read, begun)
        reading.add_done_callback(lambda done: self._answer(loop, own, done))

    def _answer(self, loop: asyncio.AbstractEventLoop, own: _LoopWaiters, done: asyncio.Future[JournalPage]) -> None:
        if done.cancelled():  # the loop ends
            own.reading = False
            return
        if (error := done.exception()) is not None:
            own.reading = False
            for waiter in own.all():
                if not waiter.page.done():
                    waiter.page.set_exception(error)
            own.cursor = min((waiter.cursor for waiter in own.all()), default=NEVER)
            return
        _show(own, done.result())
        own.reading = bool(own.count) and (own.again or done.result().more)  # one wake may be for several pages
        if own.reading:
            self._read_for(loop, own)


def _show(own: _LoopWaiters, page: JournalPage) -> None:
    found: dict[_Waiter, list[JournalEntry]] = {}
    for entry in page.entries:
        for waiter in own.concerned(entry):
            found.setdefault(waiter, []).append(entry)
    own.cursor = min(own.cursor, page.cursor)
    for waiter, entries in found.items():
        waiter.page.set_result(JournalPage(tuple(entries), page.cursor, page.more))


async def _answered(own: _LoopWaiters, waiter: _Waiter, seconds: float) -> JournalPage:
    try:
        async with asyncio.timeout(seconds):
            return await waiter.page
    except TimeoutError:
        shown = waiter.cursor if own.reading or own.looks else max(own.cursor, own.passed)
        return JournalPage((), max(waiter.cursor, shown))
    finally:
        own.discard(waiter)
