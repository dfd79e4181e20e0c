"""The stream of a page that is live."""

from __future__ import annotations

import asyncio

import pytest

from lithos.serving.web.live import _next


@pytest.mark.anyio
async def test_a_stream_ends_although_a_text_arrives_as_it_is_cancelled() -> None:
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    waiting = asyncio.create_task(_next(queue))
    for _ in range(3):  # until it waits for the queue
        await asyncio.sleep(0)
    queue.put_nowait(b"data")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
