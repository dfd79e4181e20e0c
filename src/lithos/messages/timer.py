"""One timer per host: sleeps until something is due, and looks earlier when a commit made something due before."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

SOON = 0.02  # seconds between two looks: a burst of commits is one look
RETRY = 5.0
_log = logging.getLogger(__name__)


class Timer:
    def __init__(self, tick: Callable[[], float]) -> None:
        """`tick` does what is due and returns the seconds until the next."""
        self._tick = tick
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.failing = False

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="messages", daemon=True)
            self._thread.start()

    def look(self) -> None:
        """Something may be due earlier than thought; from any thread."""
        self._wake.set()

    def close(self) -> None:
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            wait = self._once()
            self._wake.wait(max(SOON, wait))
            if not self._stopping and self._wake.is_set():
                threading.Event().wait(SOON)

    def _once(self) -> float:
        try:
            wait = self._tick()
            self.failing = False
        except Exception:  # noqa: BLE001 the timer goes on: a full disk may have room again
            if not self.failing:
                _log.exception("messages that are due could not be handled")
            self.failing = True
            return RETRY
        return wait
