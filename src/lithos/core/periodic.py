"""Periodic jobs: small recurring work in one thread, so that no call waits for a cleanup."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lithos.core.part import Part

_log = logging.getLogger("lithos")


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    every: float  # seconds
    work: Callable[[], object]


class PeriodicJobs(Part):
    """Runs each job every so many seconds. A job that fails is logged and tried again when it is next due."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._due = {job: time.monotonic() + job.every for job in jobs}
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
            self._run_once(job)
            self._due[job] = time.monotonic() + job.every

    def _run_once(self, job: Job) -> None:
        try:
            job.work()
            self._failing.discard(job)
        except Exception:  # noqa: BLE001 - one job's failure must not end the others
            _log.exception("the background job %r failed", job.name)
            self._failing.add(job)
