"""Threads for tools: as many as are busy at once, never more than allowed; errors and answers come back to the loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from lithos.serving.mcp.workers import Workers

pytestmark = pytest.mark.anyio


async def test_an_answer_comes_back_and_one_thread_serves_calls_that_come_one_by_one() -> None:
    workers = Workers(4)
    threads = {await workers.run(threading.get_ident) for _ in range(20)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_an_error_is_raised_where_the_answer_is_awaited_and_the_thread_goes_on() -> None:
    workers = Workers(1)
    with pytest.raises(ZeroDivisionError):
        await workers.run(divmod, 1, 0)
    assert await workers.run(divmod, 7, 2) == (3, 1)


async def test_calls_at_once_run_side_by_side_up_to_the_limit() -> None:
    workers, both, release = Workers(2), threading.Barrier(3), threading.Event()

    def meet() -> int:
        both.wait(60)
        release.wait(60)
        return threading.get_ident()

    calls = [workers.run(meet) for _ in range(2)]
    late = workers.run(threading.get_ident)
    await asyncio.to_thread(both.wait, 60)  # both of them run, the third has no thread
    assert not late.done()
    release.set()
    assert len({await call for call in calls}) == 2
    assert await late in {call.result() for call in calls}


async def test_a_cancelled_call_is_still_finished() -> None:
    workers, begun, release, done = Workers(1), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        release.wait(60)
        done.set()

    call = workers.run(work)
    await asyncio.to_thread(begun.wait, 60)
    call.cancel()
    release.set()
    assert await workers.run(lambda: done.is_set())
