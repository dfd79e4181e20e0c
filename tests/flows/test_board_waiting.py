"""Waiting for the board: woken by commits, without a thread, without missing one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.board import Changes
from tests.support.board_desk import Desk
from tests.support.waiting import until_async

pytestmark = pytest.mark.both_databases

SOON = 120.0  # the deadline of a wait that is expected to end by itself


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


async def settled(desk: Desk, waiters: int) -> None:
    """All of them wait now."""
    await until_async(lambda: len(desk.board.followers) >= waiters, f"{waiters} waiting clients")


def kinds(seen: Changes) -> list[str]:
    return [each["kind"] for each in seen["changes"]]


def test_what_happened_since_the_cursor_is_returned_at_once(desk: Desk) -> None:
    desk.task()
    seen = asyncio.run(desk.board.wait(0, SOON))
    assert kinds(seen) == ["created"] and seen["cursor"] == 1


def test_a_waiter_is_woken_by_a_commit_of_another_thread(desk: Desk) -> None:
    async def run() -> Changes:
        waiting = asyncio.create_task(desk.board.wait(None, SOON))
        await settled(desk, 1)
        await asyncio.to_thread(desk.task)
        return await waiting

    assert kinds(asyncio.run(run())) == ["created"]
    assert len(desk.board.followers) == 0


def test_a_wait_that_nothing_ends_comes_back_empty_with_its_cursor(desk: Desk) -> None:
    desk.task()
    assert asyncio.run(desk.board.wait(1, 0.01)) == {"changes": [], "cursor": 1}
    assert asyncio.run(desk.board.wait(None, 0)) == {"changes": [], "cursor": 1}


def test_a_waiter_for_one_task_sleeps_through_the_others(desk: Desk) -> None:
    mine, other = desk.task("mine"), desk.task("other")

    async def run() -> Changes:
        waiting = asyncio.create_task(desk.board.wait(None, SOON, mine))
        await settled(desk, 1)
        await asyncio.to_thread(desk.claim, other)
        await asyncio.to_thread(desk.claim, mine)
        return await waiting

    seen = asyncio.run(run())
    assert [(each["kind"], each["task_id"]) for each in seen["changes"]] == [("claimed", mine)]


def test_a_refusal_wakes_no_waiter(desk: Desk) -> None:
    async def run() -> Changes:
        waiting = asyncio.create_task(desk.board.wait(None, SOON))
        await settled(desk, 1)
        assert (await asyncio.to_thread(desk.claim, "nowhere"))["reason"] == "unknown_task"
        await asyncio.to_thread(desk.task)
        return await waiting

    assert kinds(asyncio.run(run())) == ["created"]


def test_two_hundred_waiters_hold_no_thread_and_all_wake(desk: Desk) -> None:
    async def run() -> tuple[int, list[Changes]]:
        before = threading.active_count()  # earlier tests of the process may have left some
        waiting = [asyncio.create_task(desk.board.wait(None, SOON)) for _ in range(200)]
        await settled(desk, 200)
        threads = threading.active_count() - before
        await asyncio.to_thread(desk.task)
        return threads, await asyncio.gather(*waiting)

    threads, seen = asyncio.run(run())
    assert threads < 40
    assert [kinds(each) for each in seen] == [["created"]] * 200


def test_a_cancelled_wait_leaves_nothing_behind(desk: Desk) -> None:
    async def run() -> None:
        waiting = asyncio.create_task(desk.board.wait(None, SOON))
        await settled(desk, 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
    assert len(desk.board.followers) == 0
    desk.task()  # a commit with nobody left to tell


def test_followers_see_every_change_once_and_in_order_while_others_write(desk: Desk) -> None:
    writes = 120

    def write() -> None:
        for _ in range(writes // 4):
            desk.task()

    async def follow() -> list[int]:
        cursor, numbers = 0, []
        while len(numbers) < writes:
            seen = await desk.board.wait(cursor, SOON)
            assert seen["changes"] and "missed" not in seen
            numbers += [each["seq"] for each in seen["changes"]]
            cursor = seen["cursor"]
        return numbers

    async def run() -> list[list[int]]:
        followers = [asyncio.create_task(follow()) for _ in range(5)]
        await asyncio.gather(*(asyncio.to_thread(write) for _ in range(4)))
        return await asyncio.gather(*followers)

    assert asyncio.run(run()) == [list(range(1, writes + 1))] * 5
