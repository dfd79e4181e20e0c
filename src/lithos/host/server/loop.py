"""The event loop of a host."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """uvloop's, where there is one: a fifth less CPU per call than asyncio's own."""
    try:
        import uvloop
    except ImportError:  # not made for every platform
        return asyncio.run(main)
    return uvloop.run(main)
