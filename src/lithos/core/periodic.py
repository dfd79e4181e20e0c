"""Small work that recurs: one thread for all of it, so that nothing grows for ever and no call waits for a cleaning."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_log = logging.getLogger("lithos")


@dataclass
class _Chore:
    name: str
    every: float
    work: Callable[[], object]
    due: float = field(default=0.0)


class PeriodicJobs:
    """`add` before or after `start`; a chore that fails is logged and tried again in its next turn."""

    def __init__(self) -> None:
        self._chores: list[_Chore] = []
        self._changed = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def add(self, name: str, every: float, work: Callable[[], object]) -> None:
        with self._changed:
            self._chores.append(_Chore(name, every, work, time.monotonic() + every))
            self._changed.notify()

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="chores", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Waits for the chore that is running, not for one that is due."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (chore := self._next()) is not None:
            try:
                chore.work()
            except Exception:  # noqa: BLE001 - one chore's bug must not end the others
                _log.exception("the chore %s failed", chore.name)
            chore.due = time.monotonic() + chore.every

    def _next(self) -> _Chore | None:
        """The chore that is due; waits until one is. None: time to stop."""
        with self._changed:
            while not self._stopping:
                first = min(self._chores, key=lambda chore: chore.due, default=None)
                wait = None if first is None else first.due - time.monotonic()
                if first is not None and wait is not None and wait <= 0:
                    return first
                self._changed.wait(wait)
        return None
