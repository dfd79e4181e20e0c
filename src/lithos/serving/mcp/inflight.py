"""What has been begun and not yet answered: a stop waits for it, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class InFlight:
    """Counted in the event loop's thread only."""

    def __init__(self) -> None:
        self.count = 0
        self._none = asyncio.Event()
        self._none.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        self.count += 1
        self._none.clear()
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self._none.set()

    async def none(self, seconds: float) -> bool:
        """Wait until nothing is in flight; False when it took too long."""
        try:
            await asyncio.wait_for(self._none.wait(), seconds)
        except TimeoutError:
            return False
        return True
