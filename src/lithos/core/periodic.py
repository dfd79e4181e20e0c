"""Periodic jobs: small recurring work in one thread, so that no call waits for a cleanup, and what it gives way to."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lithos.core.part import Part

_log = logging.getLogger("lithos")
REST = 0.03  # seconds after a call that changes something: the next one often follows


class RunningWrites(AbstractContextManager[None]):
    """Whether calls that change something run now, or ended just now: background work gives way to them.

    One for all writes, entered by many at once: a generator each would cost more than all that it does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._until = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            self._until = time.monotonic() + REST  # no wake-up: who gives way looks again by itself

    def rest(self) -> float:
        """Seconds to give way before the next look; at most 0: none run."""
        return REST if self._running else self._until - time.monotonic()


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    every: float  # seconds
    work: Callable[[], object]
    patience: float = 0.0  # seconds that it gives way to calls which change something


class PeriodicJobs(Part):
    """Runs each job every so many seconds. A job that fails is logged and tried again when it is next due."""

    def __init__(self, jobs: Iterable[Job], writes: RunningWrites | None = None) -> None:
        self._due = {job: time.monotonic() + job.every for job in jobs}
        self._latest: dict[Job, float] = {}  # of those that give way now
        self._writes = writes or RunningWrites()
        self._failing: set[Job] = set()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="periodic jobs", daemon=True)
            self._thread.start()

    def problem(self) -> str | None:
        names = sorted(job.name for job in list(self._failing))
        return f"background jobs fail, the log says why: {', '.join(names)}" if names else None

    def close(self) -> None:
        """Waits for the job that is running, not for one that is due."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while self._due:
            job = min(self._due, key=self._due.__getitem__)
            if self._stopping.wait(max(0.0, self._due[job] - time.monotonic())):
                return
            rest = self._rest(job)
            if rest <= 0:
                self._run_once(job)
            self._due[job] = time.monotonic() + (rest if rest > 0 else job.every)

    def _rest(self, job: Job) -> float:
        """Seconds until a job that is due is looked at again; at most 0: it runs now."""
        latest = self._latest.setdefault(job, time.monotonic() + job.patience)
        rest = min(self._writes.rest(), latest - time.monotonic())
        if rest <= 0:
            del self._latest[job]
        return rest

    def _run_once(self, job: Job) -> None:
        try:
            job.work()
            self._failing.discard(job)
        except Exception:  # noqa: BLE001 - one job's failure must not end the others
            _log.exception("the background job %r failed", job.name)
            self._failing.add(job)
