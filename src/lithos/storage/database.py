"""Database: one writer thread with group commit, a pool of readers; the same body for every dialect."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lithos.core.clock import Clock, SystemClock
from lithos.errors import Internal, LithosError, StorageFull, Unavailable
from lithos.storage.dialect import Dialect, Session
from lithos.storage.faults import Faults, NoFaults
from lithos.storage.migrate import Migration, migrate
from lithos.storage.sqlite import SqliteDialect
from lithos.storage.values import Tx

T = TypeVar("T")
_log = logging.getLogger(__name__)

LARGEST_BATCH = 256  # bounds how long the first caller of a batch waits for the last one's work
READERS = 8


def open_database(
    path: Path,
    migrations: Sequence[Migration],
    *,
    synchronous: str = "FULL",
    clock: Clock | None = None,
    faults: Faults | None = None,
) -> Database:
    """The SQLite file at `path`, made or brought up to date."""
    clock = clock or SystemClock()
    path.parent.mkdir(parents=True, exist_ok=True)
    dialect = SqliteDialect(path, clock=clock, synchronous=synchronous)
    return Database(dialect, migrations, where=path.name, clock=clock, faults=faults)


class Database:
    def __init__(
        self,
        dialect: Dialect,
        migrations: Sequence[Migration],
        *,
        where: str,
        clock: Clock,
        faults: Faults | None = None,
    ) -> None:
        self.dialect = dialect
        self._faults = faults or NoFaults()
        self._session = self._opened(migrations, where, clock)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._readers = _Readers(dialect, READERS)
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._closing = threading.Lock()
        self._closed = self._released = False
        dialect.keep_room()
        dialect.listen(self._wake)
        self._writer = threading.Thread(target=self._serve, name=f"writer of {where}", daemon=True)
        self._writer.start()

    def _opened(self, migrations: Sequence[Migration], where: str, clock: Clock) -> Session:
        session = self.dialect.connect(write=True)
        try:
            migrate(session, self.dialect, migrations, where=where, clock=clock, faults=self._faults)
        except Exception as error:
            session.close()
            raise self._explained(error) from error
        return session

    def write(self, work: Callable[[Tx], T], *, reserve: bool = False) -> T:
        """Run `work` in the writer's transaction; returns when it is durable.

        An error of `work` undoes its own statements only, and is raised here. `reserve` is for work that closes or
        frees something: on a full disk it may use the space kept for that.
        """
        if threading.current_thread() is self._writer:
            raise Internal("a transaction was started inside a transaction", hint="Hand the Tx on instead.")
        job = _Job(work, reserve)
        with self._closing:
            if self._closed:
                raise Unavailable("the database is closed", hint="Call again: the host is restarting.")
            self._jobs.put(job)
        result: T = job.wait()
        return result

    def read(self, work: Callable[[Tx], T]) -> T:
        """Run `work` on one snapshot that holds everything acknowledged so far."""
        with self._readers.borrow() as session:
            try:
                session.begin(write=False)
                return work(session.tx)
            except Exception as error:
                raise self._explained(error) from error
            finally:
                session.rollback()

    def listen(self, channel: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` (quick, from any thread) after each commit that notified `channel`; returns how to stop that."""
        listeners = self._listeners.setdefault(channel, [])
        listeners.append(wake)
        return lambda: listeners.remove(wake)

    def close(self) -> None:
        """Finish what was accepted, then let go of the file."""
        with self._closing:
            if self._released:
                return
            self._closed = self._released = True
            self._jobs.put(None)
        self._writer.join()
        self._readers.close()
        self._session.close()
        self.dialect.close()

    def _serve(self) -> None:
        batch: list[_Job] = []
        ending = False
        try:
            while not ending:
                batch, ending = self._next_batch()
                if batch:
                    self._commit(batch)
        except BaseException as death:  # noqa: BLE001 whoever waits must hear of it instead of waiting for ever
            self._die(batch, death)

    def _die(self, batch: list[_Job], death: BaseException) -> None:
        with self._closing:
            self._closed = True
            while not self._jobs.empty():
                job = self._jobs.get()
                batch += [job] if job else []
        for job in batch:
            job.fail(death)
            job.end()

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """Everything that waits now; callers that come while a commit is under way form the next batch."""
        batch: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) == LARGEST_BATCH or self._jobs.empty():
                return batch, False
            job = self._jobs.get()
        return batch, True

    def _commit(self, batch: list[_Job]) -> None:
        """All in one transaction; where that broke before COMMIT was sent, each in a transaction of its own."""
        broken = self._try(batch)
        if broken is not None and not broken.sent and len(batch) > 1:
            for job in batch:
                self._commit_alone(job)
        elif broken is not None and len(batch) == 1:
            self._commit_alone(batch[0], broken)
        else:
            self._answer(batch, broken)

    def _commit_alone(self, job: _Job, broken: _Broken | None = None) -> None:
        broken = broken or self._try([job])
        full = broken is not None and isinstance(self._explained(broken.error), StorageFull)
        if full and job.reserve and self.dialect.make_room():
            broken = self._try([job])
        self._answer([job], broken)

    def _answer(self, batch: list[_Job], broken: _Broken | None) -> None:
        notices, self._session.notices = self._session.notices, []
        for job in batch:
            if broken is not None:
                job.fail(self._explained(broken.error))
            job.end()
        if broken is None:
            for channel in dict.fromkeys(notices):
                self._wake(channel)
            self.dialect.keep_room()

    def _try(self, batch: list[_Job]) -> _Broken | None:
        sent = False
        try:
            self._session.notices.clear()
            self._faults.at("commit.begin")
            self._session.begin(write=True)
            for job in batch:
                self._run(job)
            self._faults.at("commit.send")
            sent = True
            self._session.commit()
            self._faults.at("commit.done")
        except Exception as error:  # noqa: BLE001 the callers of the batch get it, the writer must go on
            return _Broken(error, sent) if self._roll_back() else _Broken(error, True)
        return None

    def _run(self, job: _Job) -> None:
        """One work under a savepoint: its failure is its own, unless it ended the whole transaction."""
        session = self._session
        job.clear()
        marked = len(session.notices)
        session.tx.run("SAVEPOINT work")
        try:
            job.value = job.work(session.tx)
            self._faults.at("commit.work")
        except BaseException as error:
            if not session.in_transaction():
                raise
            del session.notices[marked:]
            session.tx.run("ROLLBACK TO SAVEPOINT work")
            job.fail(self._explained(error) if isinstance(error, Exception) else error)
        session.tx.run("RELEASE SAVEPOINT work")

    def _roll_back(self) -> bool:
        try:
            self._session.rollback()
        except Exception:  # noqa: BLE001 the error that led here is the one to report
            return False
        return True

    def _explained(self, error: Exception) -> Exception:
        """Errors of the driver become ours; ours, and those of a caller's own work, stay what they are."""
        if isinstance(error, LithosError):
            return error
        return self.dialect.explain(error) or error

    def _wake(self, channel: str) -> None:
        for wake in tuple(self._listeners.get(channel, ())):
            try:
                wake()
            except Exception:  # noqa: BLE001 a listener's bug must not stop the writer
                _log.exception("a listener of %s failed", channel)


class _Broken:
    """A batch that failed as a whole; `sent`: COMMIT was, so that doing it again could do it twice."""

    def __init__(self, error: Exception, sent: bool) -> None:
        self.error = error
        self.sent = sent


class _Job:
    """One caller's work, and where the writer leaves its result."""

    __slots__ = ("_done", "error", "reserve", "value", "work")

    def __init__(self, work: Callable[[Tx], Any], reserve: bool) -> None:
        self.work = work
        self.reserve = reserve
        self.value: Any = None
        self.error: BaseException | None = None
        self._done = threading.Lock()  # a plain lock hands over in half the time of an Event
        self._done.acquire()

    def clear(self) -> None:
        self.value, self.error = None, None

    def fail(self, error: BaseException) -> None:
        self.error = error

    def end(self) -> None:
        if self._done.locked():
            self._done.release()

    def wait(self) -> Any:
        self._done.acquire()
        if self.error is not None:
            raise self.error
        return self.value


class _Readers:
    """Connections that only read, made when they are first needed, the warmest reused first."""

    def __init__(self, dialect: Dialect, size: int) -> None:
        self._dialect = dialect
        self._free: queue.LifoQueue[Session | None] = queue.LifoQueue()
        self._size = size
        self._closed = False
        for _ in range(size):
            self._free.put(None)

    @contextmanager
    def borrow(self) -> Iterator[Session]:
        session = self._free.get()
        try:
            if self._closed:
                raise Unavailable("the database is closed", hint="Call again: the host is restarting.")
            session = session or self._dialect.connect(write=False)
            yield session
        finally:
            self._free.put(session)

    def close(self) -> None:
        for _ in range(self._size):
            session = self._free.get()
            if session is not None:
                session.close()
        self._closed = True
        for _ in range(self._size):
            self._free.put(None)
