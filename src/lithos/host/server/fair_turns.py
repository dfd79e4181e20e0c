"""Whose call runs next: everybody in turn, however many one of them sends.

A guest that floods fills only its own queue. Queues are short, and a call that finds its queue full is told `busy`
at once: an early refusal costs its caller a pause, a late one costs it a timeout.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from lithos.errors import Busy

SHORTEST_RETRY_MS, LONGEST_RETRY_MS = 50, 5000


class FairTurns:
    def __init__(self, at_once: int, *, each_at_once: int, each_waiting: int, all_waiting: int) -> None:
        self._at_once, self._each_at_once = at_once, each_at_once
        self._each_waiting, self._all_waiting = each_waiting, all_waiting
        self._running: dict[Hashable, int] = {}
        self._queues: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._usual_seconds = 0.005

    @property
    def running(self) -> int:
        return sum(self._running.values())

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def turn(self, who: Hashable) -> AsyncIterator[None]:
        """Run the body when it is this caller's turn; `Busy` when too many wait already."""
        await self._enter(who)
        started = time.monotonic()
        try:
            yield
        finally:
            # A moving average over about the last twenty calls, for the advice in `busy`.
            self._usual_seconds += (time.monotonic() - started - self._usual_seconds) / 20
            self._leave(who)

    async def _enter(self, who: Hashable) -> None:
        if self._has_room(who) and who not in self._queues:
            self._running[who] = self._running.get(who, 0) + 1
            return
        if len(self._queues.get(who, ())) >= self._each_waiting or self.waiting >= self._all_waiting:
            raise self._busy()
        place = asyncio.get_running_loop().create_future()
        self._queues.setdefault(who, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            self._withdraw(who, place)
            raise

    def _has_room(self, who: Hashable) -> bool:
        return self.running < self._at_once and self._running.get(who, 0) < self._each_at_once

    def _leave(self, who: Hashable) -> None:
        self._running[who] -= 1
        if not self._running[who]:
            del self._running[who]
        self._admit()

    def _admit(self) -> None:
        """Give free places to the queues in turn: whoever was served goes to the end of the line."""
        admitted = True
        while admitted and self.running < self._at_once:
            admitted = False
            for who in list(self._queues):
                if self._has_room(who):
                    self._admit_one(who)
                    admitted = True
                    break

    def _admit_one(self, who: Hashable) -> None:
        queue = self._queues[who]
        place = queue.popleft()
        self._queues.move_to_end(who)
        if not queue:
            del self._queues[who]
        if not place.done():
            self._running[who] = self._running.get(who, 0) + 1
            place.set_result(None)

    def _withdraw(self, who: Hashable, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():  # admitted in the very moment in which it was cancelled
            self._leave(who)
            return
        queue = self._queues.get(who)
        if queue is not None and place in queue:
            queue.remove(place)
            if not queue:
                del self._queues[who]

    def _busy(self) -> Busy:
        wait = int(1000 * self._usual_seconds * self.waiting / self._at_once)
        retry = max(SHORTEST_RETRY_MS, min(LONGEST_RETRY_MS, wait))
        return Busy(
            f"{self.waiting} calls wait already",
            hint=f"Call again in {retry} ms, one call at a time.",
            retry_after_ms=retry,
        )
