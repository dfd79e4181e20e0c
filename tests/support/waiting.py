"""The one way to wait in tests: for a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0  # a loaded machine is slow; what never happens still fails within the timeout of a test


def until(true: Callable[[], Any], what: str = "the condition", seconds: float = PATIENCE) -> Any:
    """Wait for a condition, not for a time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = true()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come true within {seconds} s")


async def until_async(true: Callable[[], Any], what: str = "the condition", seconds: float = PATIENCE) -> None:
    """The same inside an event loop."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        await asyncio.sleep(0.001)
