"""Which calls run, which wait, and which are refused as `busy`, for guests and HTTP clients alike.

Callers take turns. One that floods fills only its own queue. Queues are short: an early refusal costs a caller a
pause, a late one costs it a timeout.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from lithos.core.fair_turns import Contender, after_turn, next_turn
from lithos.errors import Busy, HostRestarted, UnknownTool
from lithos.host.server.connection import Connection
from lithos.tools.registry import Registry, Tool

# A flood of other calls must not cost an agent its lease: these never wait.
NEVER_QUEUED = frozenset({"lithos_task_renew", "lithos_task_release", "lithos_inbox_renew"})
RESERVED_THREADS = 4  # for those tools and for `ps`
QUEUE_LENGTH = 64  # of one caller
ALL_QUEUES_LENGTH = 1024
SHORTEST_RETRY_MS, LONGEST_RETRY_MS = 50, 5000


class FairQueue:
    """Round robin over the queues of all callers, with a limit on calls that run at once."""

    def __init__(self, at_once: int, *, each_at_once: int, each_waiting: int, all_waiting: int) -> None:
        self._at_once, self._each_at_once = at_once, each_at_once
        self._each_waiting, self._all_waiting = each_waiting, all_waiting
        self._running: dict[Hashable, int] = {}
        self._queues: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self._turns: dict[Hashable, Contender[Hashable]] = {}  # of those that have a queue
        self._picks = 0
        self._usual_seconds = 0.005

    @property
    def running(self) -> int:
        return sum(self._running.values())

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def turn(self, caller: Hashable) -> AsyncIterator[None]:
        """Run the body when it is this caller's turn. `Busy` if too many calls wait already."""
        await self._enter(caller)
        started = time.monotonic()
        try:
            yield
        finally:
            # A moving average over about the last twenty calls, for the advice in `busy`.
            self._usual_seconds += (time.monotonic() - started - self._usual_seconds) / 20
            self._leave(caller)

    async def _enter(self, caller: Hashable) -> None:
        if self._has_room(caller) and caller not in self._queues:
            self._running[caller] = self._running.get(caller, 0) + 1
            return
        if len(self._queues.get(caller, ())) >= self._each_waiting or self.waiting >= self._all_waiting:
            raise self._busy()
        waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(waiter)
        self._turns.setdefault(caller, Contender(caller, self._picks))
        try:
            await waiter
        except asyncio.CancelledError:
            self._withdraw(caller, waiter)
            raise

    def _has_room(self, caller: Hashable) -> bool:
        return self.running < self._at_once and self._running.get(caller, 0) < self._each_at_once

    def _leave(self, caller: Hashable) -> None:
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        self._admit()

    def _admit(self) -> None:
        """Start waiting calls while there is room; a caller that was served goes to the end of the line."""
        while self.running < self._at_once:
            turn = next_turn(each for each in self._turns.values() if self._has_room(each.key))
            if turn is None:
                return
            self._admit_one(turn)

    def _admit_one(self, turn: Contender[Hashable]) -> None:
        caller = turn.key
        queue = self._queues[caller]
        waiter = queue.popleft()
        self._picks += 1
        self._turns[caller] = after_turn(turn, self._picks)
        if not queue:
            del self._queues[caller], self._turns[caller]
        if not waiter.done():
            self._running[caller] = self._running.get(caller, 0) + 1
            waiter.set_result(None)

    def _withdraw(self, caller: Hashable, waiter: asyncio.Future[None]) -> None:
        if waiter.done() and not waiter.cancelled():  # admitted at the moment in which it was cancelled
            self._leave(caller)
            return
        queue = self._queues.get(caller)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._queues[caller], self._turns[caller]

    def _busy(self) -> Busy:
        wait = int(1000 * self._usual_seconds * self.waiting / self._at_once)
        retry = max(SHORTEST_RETRY_MS, min(LONGEST_RETRY_MS, wait))
        return Busy(
            f"{self.waiting} calls wait already",
            hint=f"Call again in {retry} ms, one call at a time.",
            retry_after_ms=retry,
        )


class CallGate:
    """The gate of the MCP server: every call passes it before it gets a thread."""

    def __init__(self, registry: Registry, workers: int, holds_lock: Callable[[], bool]) -> None:
        at_once = max(1, workers - RESERVED_THREADS)
        self.queue = FairQueue(
            at_once, each_at_once=max(1, at_once // 2), each_waiting=QUEUE_LENGTH, all_waiting=ALL_QUEUES_LENGTH
        )
        self._registry = registry
        self._holds_lock = holds_lock

    def turn(self, request: Any, tool: Tool) -> AbstractAsyncContextManager[object]:
        """Run the tool inside it. `Busy` if too many calls wait already."""
        self.check_lock()
        return nullcontext() if tool.name in NEVER_QUEUED or tool.waits else self.queue.turn(_caller_key(request))

    def check_lock(self) -> None:
        """Before every call, because it costs microseconds: after `rm -rf .lithos` another host may write already."""
        if not self._holds_lock():
            raise HostRestarted(
                "this host has lost the lock of its data directory; another host takes over",
                hint="Call again in a second.",
            )

    def waits(self, name: str) -> bool:
        """Whether this tool waits for others, without holding a thread."""
        try:
            return self._registry.get(name).waits
        except UnknownTool:
            return False


def _caller_key(request: Any) -> Hashable:
    """One guest, or one HTTP client: its session where there is one, else its address."""
    if request is None or isinstance(request, Connection):
        return request
    session = request.headers.get("mcp-session-id")
    return session or (request.client.host if request.client else None)
