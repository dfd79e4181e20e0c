"""Followers: waiting for the next entries of a journal without a thread and without polling.

A waiter is a future of its event loop. A commit of any host posts one message per loop, and one read answers all of its
waiters.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from lithos.storage.database.database import Database
from lithos.storage.journal.journal import Journal, JournalEntry, JournalPage


@dataclass(eq=False, slots=True)
class _Waiter:
    cursor: int
    subjects: Collection[str] | None
    page: asyncio.Future[JournalPage]


@dataclass(eq=False, slots=True)
class _LoopWaiters:
    """The waiters of one event loop; only the thread of that loop touches them."""

    waiters: set[_Waiter] = field(default_factory=set)
    reading: bool = False
    again: bool = False  # a commit came during the read


class Followers:
    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        self._loops: dict[asyncio.AbstractEventLoop, _LoopWaiters] = {}
        self._lock = threading.Lock()
        self._wakes = 0
        self._stop_listening = database.listen(journal.channel, self._wake)

    def __len__(self) -> int:
        """Those that wait now."""
        return sum(len(each.waiters) for each in self._loops.values())

    def close(self) -> None:
        self._stop_listening()

    def read(self, cursor: int | None, subjects: Collection[str] | None = None) -> JournalPage:
        return self._database.read(lambda tx: self._journal.since(tx, cursor, subjects))

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
            if wakes == self._wakes:  # no commit since the read began, and nothing is awaited from here to the future
                return await _answered(own, _Waiter(cursor, subjects, loop.create_future()), seconds)

    def _of(self, loop: asyncio.AbstractEventLoop) -> _LoopWaiters:
        with self._lock:
            for closed in [each for each in self._loops if each.is_closed()]:
                del self._loops[closed]
            return self._loops.setdefault(loop, _LoopWaiters())

    def _wake(self) -> None:
        """After a commit, from any thread."""
        with self._lock:
            self._wakes += 1
            loops = [loop for loop in self._loops if not loop.is_closed()]
        for loop in loops:
            with suppress(RuntimeError):  # closed meanwhile: it has no waiters any more
                loop.call_soon_threadsafe(self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read once for all waiters of the loop. Commits during the read share the next one."""
        own = self._loops[loop]
        if own.reading:
            own.again = True
        elif cursors := [waiter.cursor for waiter in own.waiters if not waiter.page.done()]:
            own.reading, own.again = True, False
            reading = loop.run_in_executor(None, self.read, min(cursors))
            reading.add_done_callback(lambda done: self._answer(loop, own, done))

    def _answer(self, loop: asyncio.AbstractEventLoop, own: _LoopWaiters, done: asyncio.Future[JournalPage]) -> None:
        own.reading = False
        for waiter in own.waiters:
            _answer_one(waiter, done)
        full = not done.cancelled() and done.exception() is None and done.result().more
        if own.again or full:  # one wake may stand for more entries than a page holds
            self._look(loop)


async def _answered(own: _LoopWaiters, waiter: _Waiter, seconds: float) -> JournalPage:
    own.waiters.add(waiter)
    try:
        async with asyncio.timeout(seconds):
            return await waiter.page
    except TimeoutError:
        return JournalPage((), waiter.cursor)
    finally:
        own.waiters.discard(waiter)


def _answer_one(waiter: _Waiter, done: asyncio.Future[JournalPage]) -> None:
    if waiter.page.done() or done.cancelled():
        return
    error = done.exception()
    if error is not None:
        waiter.page.set_exception(error)
        return
    page = done.result()
    new = tuple(entry for entry in page.entries if entry.seq > waiter.cursor and _concerns(waiter, entry))
    if new:
        waiter.page.set_result(JournalPage(new, page.cursor, page.more))
    else:
        waiter.cursor = max(waiter.cursor, page.cursor)


def _concerns(waiter: _Waiter, entry: JournalEntry) -> bool:
    return waiter.subjects is None or entry.subject in waiter.subjects
