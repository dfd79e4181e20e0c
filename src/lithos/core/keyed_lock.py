"""Per-key locks: calls with the same key run one at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


class KeyedLock:
    """One lock per key in use; an unused key takes no memory."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Any, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, *keys: Any) -> Iterator[None]:
        """Hold all keys. They are taken in one order, so that two callers cannot deadlock."""
        with ExitStack() as held:
            for key in sorted(set(keys)):
                held.enter_context(self._hold(key))
            yield

    def held(self, key: Any) -> bool:
        """Whether a caller holds the key now, or waits for it."""
        with self._guard:
            return key in self._locks

    @contextmanager
    def _hold(self, key: Any) -> Iterator[None]:
        with self._guard:
            lock, users = self._locks.get(key, (None, 0))
            lock = lock or threading.Lock()
            self._locks[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            self._leave(key)

    def _leave(self, key: Any) -> None:
        with self._guard:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)
