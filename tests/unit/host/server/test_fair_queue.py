"""Everybody in turn: one caller that floods fills only its own queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from lithos.errors import Busy
from lithos.host.server.fair_queue import CallGate, FairQueue
from lithos.tools.registry import Registry

pytestmark = pytest.mark.anyio


def turns(at_once: int = 2, each_at_once: int = 2, each_waiting: int = 4, all_waiting: int = 6) -> FairQueue:
    return FairQueue(at_once, each_at_once=each_at_once, each_waiting=each_waiting, all_waiting=all_waiting)


class Crowd:
    """Callers that hold their turn until told; `ran` is the order in which they got it."""

    def __init__(self, line: FairQueue) -> None:
        self.line = line
        self.ran: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._done: dict[str, asyncio.Event] = {}

    async def come(self, who: str, name: str) -> asyncio.Task[None]:
        self._done[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._work(who, name))
        await settle()
        return self.tasks[name]

    async def _work(self, who: str, name: str) -> None:
        async with self.line.turn(who):
            self.ran.append(name)
            await self._done[name].wait()

    async def finish(self, name: str) -> None:
        self._done[name].set()
        await settle()

    async def finish_all(self) -> None:
        for event in self._done.values():
            event.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_flood_of_one_caller_leaves_the_next_place_to_another() -> None:
    crowd = Crowd(turns())
    for number in range(5):
        await crowd.come("flood", f"flood{number}")
    await crowd.come("quiet", "quiet0")
    await crowd.finish("flood0")
    await crowd.finish("flood1")
    assert crowd.ran == ["flood0", "flood1", "flood2", "quiet0"]
    await crowd.finish_all()
    assert crowd.line.running == crowd.line.waiting == 0


async def test_one_caller_never_takes_all_places() -> None:
    crowd = Crowd(turns(at_once=4, each_at_once=3))
    for number in range(5):
        await crowd.come("flood", f"flood{number}")
    await crowd.come("quiet", "quiet")
    assert crowd.ran == ["flood0", "flood1", "flood2", "quiet"]
    await crowd.finish_all()


async def test_a_full_queue_answers_busy_with_advice_and_others_still_get_in() -> None:
    crowd = Crowd(turns())
    for number in range(6):
        await crowd.come("flood", f"flood{number}")
    refused = await crowd.come("flood", "one too many")
    with pytest.raises(Busy) as caught:
        await refused
    assert caught.value.details["retry_after_ms"] >= 50
    assert not (await crowd.come("quiet", "quiet")).done()
    await crowd.finish_all()
    assert "quiet" in crowd.ran


async def test_all_queues_together_are_bounded() -> None:
    crowd = Crowd(turns(all_waiting=3))
    for number in range(5):
        await crowd.come(f"caller{number}", f"call{number}")
    refused = await crowd.come("another", "another")
    with pytest.raises(Busy):
        await refused
    await crowd.finish_all()
    assert crowd.line.waiting == 0


async def test_a_caller_that_leaves_the_queue_frees_its_place() -> None:
    crowd = Crowd(turns(at_once=1))
    await crowd.come("a", "first")
    waiting = await crowd.come("a", "gone")
    await crowd.come("b", "second")
    waiting.cancel()
    await settle()
    await crowd.finish("first")
    assert crowd.ran == ["first", "second"]
    await crowd.finish_all()
    assert crowd.line.running == 0


async def test_a_call_cancelled_in_the_moment_of_its_turn_passes_it_on() -> None:
    crowd = Crowd(turns(at_once=1))
    await crowd.come("a", "first")
    unlucky = await crowd.come("a", "unlucky")
    await crowd.come("b", "second")
    crowd._done["first"].set()
    crowd.tasks["first"].add_done_callback(lambda _: unlucky.cancel())
    await settle()
    await crowd.finish_all()
    assert "second" in crowd.ran
    assert crowd.line.running == crowd.line.waiting == 0


async def test_a_failing_call_gives_its_place_back() -> None:
    line = turns(at_once=1)
    work: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)  # noqa: E731 - shorter than a function
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            async with line.turn("a"):
                await work()
                raise ValueError("no")
    assert line.running == 0


async def test_the_numbers_of_the_gate() -> None:
    """Four threads are kept for renewals and `ps`; one caller has half of the rest, 64 places in line, all 1,024."""
    queue = CallGate(Registry([]), 32, lambda: True).queue
    assert (queue._at_once, queue._each_at_once, queue._each_waiting, queue._all_waiting) == (28, 14, 64, 1024)


@pytest.mark.parametrize(("usual_seconds", "advice"), [(0.0, 50), (1.0, 1000), (60.0, 5000)])
async def test_advice_is_between_50_ms_and_5_s(usual_seconds: float, advice: int) -> None:
    line = turns(at_once=1, each_waiting=1)
    crowd = Crowd(line)
    await crowd.come("ann", "a")
    await crowd.come("ann", "b")
    line._usual_seconds = usual_seconds
    with pytest.raises(Busy) as refused:
        await line._enter("ann")
    assert refused.value.details["retry_after_ms"] == advice
    line._usual_seconds = 0.0
    await crowd.finish_all()
