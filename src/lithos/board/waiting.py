"""Waiting for the board without a thread: a waiter is a future, and one read after a commit serves all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from lithos.board.answers import Changes

Read = Callable[[int | None, str | None], Changes]  # what changed after a cursor, on one task or on all


@dataclass(eq=False, slots=True)
class Waiter:
    since: int
    task_id: str | None
    told: asyncio.Future[Changes]


@dataclass(eq=False, slots=True)
class _Room:
    """Those who wait in one event loop; touched by that loop's thread only."""

    waiters: set[Waiter] = field(default_factory=set)
    reading: bool = False
    again: bool = False


class Hub:
    """Those who wait for the board. A commit posts one message per event loop, whatever their number."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._rooms: dict[asyncio.AbstractEventLoop, _Room] = {}
        self._lock = threading.Lock()
        self._wakes = 0

    def __len__(self) -> int:
        return sum(len(room.waiters) for room in self._rooms.values())

    async def wait(self, since: int | None, seconds: float, task_id: str | None = None) -> Changes:
        """What changed after `since` (None: from now on), as soon as there is something; else empty after `seconds`."""
        loop = asyncio.get_running_loop()
        room = self._room(loop)
        while True:
            wakes = self._wakes
            seen = await loop.run_in_executor(None, self._read, since, task_id)
            if seen["changes"] or "missed" in seen or seconds <= 0:
                return seen
            since = seen["cursor"]
            if wakes == self._wakes:  # nothing was committed since the look; from here to the future nothing is awaited
                return await self._told(room, Waiter(since, task_id, loop.create_future()), seconds)

    async def _told(self, room: _Room, waiter: Waiter, seconds: float) -> Changes:
        room.waiters.add(waiter)
        try:
            async with asyncio.timeout(seconds):
                return await waiter.told
        except TimeoutError:
            return {"changes": [], "cursor": waiter.since}
        finally:
            room.waiters.discard(waiter)

    def wake(self) -> None:
        """After a commit, from any thread."""
        with self._lock:
            self._wakes += 1
            loops = [loop for loop in self._rooms if not loop.is_closed()]
        for loop in loops:
            with suppress(RuntimeError):  # closed meanwhile: nobody waits there any more
                loop.call_soon_threadsafe(self._look, loop)

    def _room(self, loop: asyncio.AbstractEventLoop) -> _Room:
        with self._lock:
            for closed in [each for each in self._rooms if each.is_closed()]:
                del self._rooms[closed]
            return self._rooms.setdefault(loop, _Room())

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read once for all who wait here; commits that come meanwhile are read together afterwards."""
        room = self._rooms[loop]
        if room.reading:
            room.again = True
        elif untold := [waiter.since for waiter in room.waiters if not waiter.told.done()]:
            room.reading, room.again = True, False
            reading = loop.run_in_executor(None, self._read, min(untold), None)
            reading.add_done_callback(lambda done: self._tell(loop, room, done))

    def _tell(self, loop: asyncio.AbstractEventLoop, room: _Room, done: asyncio.Future[Changes]) -> None:
        room.reading = False
        for waiter in room.waiters:
            _tell_one(waiter, done)
        if room.again:
            self._look(loop)


def _tell_one(waiter: Waiter, done: asyncio.Future[Changes]) -> None:
    if waiter.told.done() or done.cancelled():
        return
    error = done.exception()
    if error is not None:
        waiter.told.set_exception(error)
        return
    seen = done.result()
    new = [each for each in seen["changes"] if each["seq"] > waiter.since and waiter.task_id in (None, each["task_id"])]
    if new or "missed" in seen:
        waiter.told.set_result({**seen, "changes": new})
    else:
        waiter.since = max(waiter.since, seen["cursor"])
