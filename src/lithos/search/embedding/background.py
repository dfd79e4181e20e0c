"""Background embedding: a thread per core, one text at a time, yielding to queries and writes."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithos.core.part import Part
from lithos.core.periodic import RunningWrites
from lithos.errors import LithosError
from lithos.search.embedding.embedder import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_log = logging.getLogger(__name__)
QUESTIONS_REMEMBERED = 128
RETRY = (1.0, 30.0)  # seconds until what failed is tried again, first and longest: most often a disk was full
LONGEST_REST = 0.5  # in a row: a flood of writes must not keep what it wrote from ever being found by meaning
_NICE = 10
# What answers say; the reason may name a folder of this machine, so it goes to the log and to `lithos stats`.
MODEL_UNUSABLE = "the embedding model cannot be used; lithos stats says why"


@dataclass(frozen=True, slots=True)
class Job:
    text: str
    done: Callable[[Floats], None]
    put_back: Callable[[], None]


Take = Callable[[], Job | None]


class Embedding(Part):
    """One for all collections of a host: it holds the one copy of the model."""

    def __init__(self, embedder: Embedder, threads: int | None = None) -> None:
        # Before numpy is loaded: a product of one vector is over before a second BLAS thread has woken up.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        self.embedder = embedder
        self.failure = ""
        self.rate = float("inf")  # passages a second, as measured; before that, hope
        self.paused = False
        self._threads = threads or os.cpu_count() or 1
        self._sources: list[Take] = []
        self._changed = threading.Condition()
        self._questions = 0
        self._awaited = 0  # questions that wait for vectors of documents
        self.writes = RunningWrites()  # a text takes 10 to 50 ms of a core, and a write wants that core
        self._held_back = 0  # threads that wait until they may work; the others wait for work, and are not woken
        self._closed = False
        self._wakes = 0
        self._measurements = 0
        self._new_generation = False
        self._has_work = False
        self._running: list[threading.Thread] = []
        self._retry_at = 0.0
        self._retry_pause = RETRY[0]
        self._remembered: OrderedDict[str, Floats] = OrderedDict()
        self._asked: dict[str, Future[Floats]] = {}  # questions in the hands of the model
        self.beside = ThreadPoolExecutor(self._threads, "questions")  # the model beside full text

    def add_source(self, take: Take) -> None:
        with self._changed:
            self._sources.append(take)

    def remove_source(self, take: Take) -> None:
        with self._changed:
            self._sources = [each for each in self._sources if each != take]

    def start(self) -> None:
        """From now on embed what comes. A verb that runs once does without, unless it asks by meaning."""
        with self._changed:
            self._new_generation = True
            self._begin()

    def wake(self) -> None:
        """There is work."""
        with self._changed:
            self._has_work = True
            self._begin()
            self._wakes += 1
            self._changed.notify_all()

    def _begin(self) -> None:
        if self._new_generation and self._has_work and not self._running and not self._closed:
            for number in range(self._threads):
                thread = threading.Thread(target=self._work, name=f"embedding {number}", daemon=True)
                self._running.append(thread)
                thread.start()

    def question(self, text: str) -> Floats:
        """The vector of a query, in the caller's thread; the background pauses meanwhile."""
        with self._changed:
            known = self._remembered.get(text)
        if known is not None:
            return known
        with self._giving_way():
            vector = self.embedder.embed(text)
        with self._changed:
            self._remembered[text] = vector
            if len(self._remembered) > QUESTIONS_REMEMBERED:
                self._remembered.popitem(last=False)
        return vector

    def question_soon(self, text: str) -> Callable[[], Floats]:
        """The vector of a query, made in another thread from now on; collections that ask the same share it."""
        with self._changed:
            known = self._remembered.get(text)
            if known is not None:
                return lambda: known
            running = self._asked.get(text)
            if running is None:
                running = self._asked[text] = self.beside.submit(self._asking, text)
        return running.result

    def _asking(self, text: str) -> Floats:
        try:
            return self.question(text)
        finally:
            with self._changed:
                self._asked.pop(text, None)

    def forget_questions(self) -> None:
        with self._changed:
            self._remembered.clear()

    @contextlib.contextmanager
    def _giving_way(self) -> Iterator[None]:
        with self._changed:
            self._questions += 1
        try:
            yield
        finally:
            with self._changed:
                self._questions -= 1
                if self._held_back and not self._questions:
                    self._changed.notify_all()

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        """A question waits for what is pending: no rest meanwhile."""
        with self._changed:
            self._awaited += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._awaited -= 1

    def pause(self) -> None:
        with self._changed:
            self.paused = True

    def resume(self) -> None:
        with self._changed:
            self.paused = False
            self._changed.notify_all()

    def problem(self) -> str | None:
        return "the embedding model fails: semantic search is incomplete" if self.failure else None

    def close(self) -> None:
        """Waits for the text in hand: a thread inside the model must not outlive the interpreter."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._running:
            thread.join()
        self.beside.shutdown()

    def _work(self) -> None:
        if sys.platform == "linux":  # a thread has its own priority there
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        going_on = True
        while going_on:
            try:
                going_on = self._work_once()
            except Exception as error:  # noqa: BLE001 a text, a missing model or a damaged source ends no thread
                self._failed(error)

    def _work_once(self) -> bool:
        """False when all is over."""
        job = self._next()
        if job is None:
            return False
        started = time.monotonic()
        try:
            vector = self.embedder.embed(job.text)
            _store(job, vector)
        except Exception:  # any failure: the text goes back to the queue for the next try
            job.put_back()
            raise
        self._measured(time.monotonic() - started)
        return True

    def _next(self) -> Job | None:
        """The next text; None when all is over. Sources are asked outside the lock: they may read a disk."""
        latest = time.monotonic() + LONGEST_REST
        while True:
            with self._changed:
                while not self._closed and (seconds := self._pause(latest)) != 0:
                    self._held_back += 1
                    self._changed.wait(seconds)
                    self._held_back -= 1
                if self._closed:
                    return None
                wakes, sources = self._wakes, tuple(self._sources)
            job = next((job for take in sources if (job := _next_of(take)) is not None), None)
            if job is not None:
                return job
            with self._changed:
                if self._wakes == wakes and not self._closed:
                    self._changed.wait()
            latest = time.monotonic() + LONGEST_REST

    def _pause(self, latest: float) -> float | None:
        """Seconds until work may go on, 0: now, None: when notified; a rest is over at `latest`."""
        if self.paused or self._questions:
            return None
        now = time.monotonic()
        rest = 0.0 if self._awaited else min(self.writes.rest(), latest - now)
        return max(0.0, rest, self._retry_at - now)

    def _measured(self, seconds: float) -> None:
        self.failure = ""
        self._retry_pause = RETRY[0]
        self._measurements += 1
        if self._measurements <= self._threads:  # the first of each thread wait for the model to load
            return
        rate = self._threads / max(seconds, 1e-4)
        self.rate = rate if self.rate == float("inf") else self.rate + 0.1 * (rate - self.rate)

    def _failed(self, error: Exception) -> None:
        _log.warning("a passage could not be embedded: %s", error, exc_info=not isinstance(error, LithosError))
        self.failure = error.message if isinstance(error, LithosError) else str(error)[:200]
        with self._changed:
            self._retry_at = time.monotonic() + self._retry_pause
            self._retry_pause = min(2 * self._retry_pause, RETRY[1])


def _next_of(take: Take) -> Job | None:
    """A source whose index is damaged has no work until it is rebuilt; that is no fault of the model."""
    try:
        return take()
    except LithosError as error:
        _log.warning("passages to embed could not be read: %s", error.message)
        return None


def _store(job: Job, vector: Floats) -> None:
    try:
        job.done(vector)
    except LithosError as error:  # its index is damaged and will be rebuilt; the model works
        _log.warning("a vector could not be stored: %s", error.message)
        job.put_back()
