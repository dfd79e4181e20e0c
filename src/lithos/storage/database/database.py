"""Database: one writer at a time with group commit, and a pool of readers; shared by both dialects.

The first caller commits in its own thread. Callers that arrive meanwhile form the next batch, which the first of them
commits for all: a separate writer thread would cost two thread switches per call, more than the work.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lithos.core.clock import Clock, SystemClock
from lithos.core.listeners import Listeners
from lithos.errors import ConfigInvalid, Damaged, Internal, LithosError, ReadOnly, StorageFull, Unavailable
from lithos.storage.database.commit_count import CommitCount
from lithos.storage.database.dialect import Dialect, Session
from lithos.storage.database.migrate import Migration, applied, migrate
from lithos.storage.database.sqlite import RESERVE_BYTES, SqliteDialect
from lithos.storage.faults import Faults, NoFaults
from lithos.storage.values import Notice, Tx

if TYPE_CHECKING:
    from lithos.storage.database.postgres import PostgresDialect

T = TypeVar("T")
Item = TypeVar("Item")
Shared = Callable[[Tx, Sequence[Item]], Sequence[T | Exception]]
Watch = Callable[[Collection[str] | None, int], None]
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
    reserve_bytes: int = RESERVE_BYTES,
    count: CommitCount | None = None,
) -> Database:
    """Open, create or migrate the SQLite file at `path`. A derived database needs no reserve for a full disk."""
    clock = clock or SystemClock()
    path.parent.mkdir(parents=True, exist_ok=True)
    dialect = SqliteDialect(path, clock=clock, synchronous=synchronous, reserve_bytes=reserve_bytes)
    return Database(dialect, migrations, where=path.name, clock=clock, faults=faults, count=count)


def open_postgres(
    url: str,
    migrations: Sequence[Migration],
    *,
    clock: Clock | None = None,
    faults: Faults | None = None,
    patience_s: float = 0.0,
) -> Database:
    """Open the shared database at `url`; wait up to `patience_s` for a server that is starting.

    `clock` measures leases in place of the server's clock.
    """
    dialect = postgres_dialect(url, clock)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return Database(dialect, migrations, where=dialect.where, clock=clock or SystemClock(), faults=faults)
        except Unavailable:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.2)


def postgres_dialect(url: str, clock: Clock | None = None) -> PostgresDialect:
    try:
        from lithos.storage.database.postgres import PostgresDialect
    except ImportError:
        raise ConfigInvalid(
            "storage.database_url is set, but the PostgreSQL driver is not installed",
            hint="pip install 'lithos-memory[postgres]'",
        ) from None
    return PostgresDialect(url, clock=clock)


class Database:
    def __init__(
        self,
        dialect: Dialect,
        migrations: Sequence[Migration],
        *,
        where: str,
        clock: Clock,
        faults: Faults | None = None,
        count: CommitCount | None = None,
    ) -> None:
        self.dialect = dialect
        self._count = count
        self._faults = faults or NoFaults()
        self._open_session = partial(self._opened, migrations, where, clock)
        self._readers = _Readers(dialect, READERS)
        self._notified: dict[str, int] = {}  # commits by channel
        try:
            self._session: Session | None = self._open_session()
        except (StorageFull, ReadOnly) as refusal:
            self._check_readable(migrations, refusal)
            self._session = None  # opened by the first write that the disk accepts
        self._jobs: deque[_Job] = deque()
        self._listeners: dict[str, Listeners] = {}
        self._watchers: dict[str, Listeners] = {}
        self._state = threading.Condition(threading.Lock())
        self._led = False  # a caller commits, or is about to
        self._leader: int | None = None  # id of the thread that commits
        self._closed = self._released = False
        dialect.restore_reserve()
        dialect.listen(self._wake, self._wake_all)

    def _opened(self, migrations: Sequence[Migration], where: str, clock: Clock) -> Session:
        session = self.dialect.connect(write=True)
        try:
            self.dialect.check(session)
            migrate(session, self.dialect, migrations, where=where, clock=clock, faults=self._faults)
        except Exception as error:
            session.close()
            raise self._explained(error) from error
        return session

    def _check_readable(self, migrations: Sequence[Migration], refusal: LithosError) -> None:
        """A store that a full or read-only disk keeps from being written is read, unless it must be migrated first."""
        try:
            session = self._readers.take()
            try:
                done = applied(session)
            finally:
                self._readers.give_back(session)
        except Exception as error:
            raise refusal from error
        if any(each.number not in done for each in migrations):
            raise refusal

    def write(self, work: Callable[[Tx], T], *, reserve: bool = False) -> T:
        """Run `work` in a transaction, alone or with others; return when it is durable.

        An error of `work` undoes its own statements only, and is raised here. `reserve` is for work that closes or
        frees something: on a full disk it may use the reserve.
        """
        return cast(T, self._committed(_Job(work, reserve)))

    def write_together(self, work: Shared[Item, T], item: Item) -> T:
        """As `write`; callers that wait with the same `work` are its one list of items, in one round of statements.

        `work` answers each item with its result, or with the error that its caller gets; it writes nothing for such.
        """
        return cast(T, self._committed(_Job(shared=work, item=item)))

    def _committed(self, job: _Job) -> Any:
        if self._leader == threading.get_ident():
            raise Internal("a transaction was started inside a transaction", hint="Pass the Tx on instead.")
        try:
            if self._is_first(job) or job.wait():
                self._lead()
        except BaseException:  # interrupted while it waits: the others must not wait for it
            self._leave(job)
            raise
        result = job.result()
        self._refuse_if_lost()
        return result

    def read(self, work: Callable[[Tx], T]) -> T:
        """Run `work` on one snapshot of everything acknowledged so far."""
        self._refuse_if_lost()
        try:
            try:
                return self._read(work)
            except Exception as error:
                if not self.dialect.is_retryable(error):
                    raise
            return self._read(work)
        except Exception as error:
            raise self._explained(error) from error

    def _read(self, work: Callable[[Tx], T]) -> T:
        session = self._readers.take()
        try:
            session.begin(write=False)
            return work(session.tx)
        finally:
            try:
                session.rollback()
            finally:
                self._readers.give_back(session)

    def _refuse_if_lost(self) -> None:
        """One stat: what is committed to a file that was removed or replaced is lost with it."""
        if (problem := self.dialect.lost()) is not None:
            raise Damaged(problem, hint="Stop the host, put the file back or restore a backup, then start again.")

    def listen(self, channel: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` (quick, from any thread) after each commit that notified `channel`; returns how to stop."""
        return self._listeners.setdefault(channel, Listeners(channel)).add(wake)

    def watch(self, channel: str, wake: Watch) -> Callable[[], None]:
        """As `listen`; `wake` gets the subjects that the commit concerns (None: any), and the last one's number."""
        return self._watchers.setdefault(channel, Listeners(channel)).add(wake)

    def commits(self, channel: str) -> int | None:
        """How many commits notified `channel`. Equal numbers: nothing new, and nothing need be read. None: other hosts
        commit too, of whom this one hears later."""
        return self._notified.get(channel, 0) if self.dialect.alone else None

    def size(self) -> int:
        """Bytes on disk."""
        return self.read(self.dialect.size)

    def problem(self) -> str | None:
        """Why writes would fail or be lost now; None: nothing known."""
        if self._closed:
            return "the database is closed" if self._released else "the database stopped after an unexpected error"
        return self.dialect.problem()

    def close(self) -> None:
        """Finish accepted work, then close the connections."""
        with self._state:
            if self._released:
                return
            self._closed = self._released = True
            while self._led:
                self._state.wait()
        self._readers.close()
        if self._count is not None:
            self._count.close()
        if self._session is not None:
            self._session.close()
        self.dialect.close()

    def _is_first(self, job: _Job) -> bool:
        """Queue the job; True: no other caller commits now, so this one must."""
        with self._state:
            if self._closed:
                raise Unavailable("the database is closed", hint="Call again: the host is restarting.")
            job.leads = not self._led
            self._led = True
            self._jobs.append(job)
        return job.leads

    def _leave(self, job: _Job) -> None:
        """An interrupted caller drops its job, unless the others wait for it to commit."""
        with self._state:
            leads = job.leads and job in self._jobs
            if not leads and job in self._jobs:
                self._jobs.remove(job)
        if leads:
            self._lead()

    def _lead(self) -> None:
        """Commit all queued jobs. Callers that arrive meanwhile form the next batch; the first of them leads it."""
        self._leader = threading.get_ident()
        batch: list[_Job] = []
        try:
            batch = self._next_batch()
            failure = self._try(batch)
            if failure is None or failure.sent:
                self._answer(batch, failure)
            else:
                self._try_each(batch, failure)
        except BaseException as error:  # noqa: BLE001 every waiting caller must get it
            self._stop(batch, error)
        self._leader = None
        with self._state:
            self._led = bool(self._jobs)
            if self._led:
                self._jobs[0].lead()
            else:
                self._state.notify_all()

    def _stop(self, batch: list[_Job], error: BaseException) -> None:
        with self._state:
            self._closed = True
            batch += self._jobs
            self._jobs.clear()
        for job in batch:
            job.fail(error)
            job.end()

    def _next_batch(self) -> list[_Job]:
        with self._state:
            return [self._jobs.popleft() for _ in range(min(len(self._jobs), LARGEST_BATCH))]

    def _try_each(self, batch: list[_Job], failure: _Failure) -> None:
        """The batch failed as a whole and nothing of it was committed: each job gets its own transaction."""
        for job in batch:
            own = failure if len(batch) == 1 else self._try([job])
            if own is not None and not own.sent and self._may_succeed(job, own.error):
                own = self._try([job])
            self._answer([job], own)

    def _may_succeed(self, job: _Job, error: Exception) -> bool:
        """A new connection, a lock that is free now, or the reserve may help."""
        full = isinstance(self._explained(error), StorageFull)
        return self.dialect.is_retryable(error) or (full and job.reserve and self.dialect.release_reserve())

    def _answer(self, batch: list[_Job], failure: _Failure | None) -> None:
        notices: list[Notice] = []
        if self._session is not None:
            notices, self._session.notices = self._session.notices, []
        by_channel: dict[str, list[Notice]] = {}
        for notice in notices:
            by_channel.setdefault(notice.channel, []).append(notice)
        for channel in by_channel:  # before the callers go on, who may ask `commits` at once
            self._notified[channel] = self._notified.get(channel, 0) + 1
        for job in batch:
            if failure is not None:
                job.fail(self._explained(failure.error))
            job.end()
        if failure is None:
            for channel, own in by_channel.items():
                self._wake(channel, own)
            self.dialect.restore_reserve()

    def _try(self, batch: list[_Job]) -> _Failure | None:
        sent = False
        try:
            session = self._ready_session()
            session.notices.clear()
            self._faults.at("commit.begin")
            session.begin(write=True)
            for jobs in _grouped(batch):
                self._run(session, jobs, alone=len(batch) == 1)
            if all(job.error is not None for job in batch):  # nothing is left to commit
                session.rollback()
                return None
            if self._count is not None:
                self._count.add(session.tx)
            self._refuse_if_lost()  # before it is sent too: the log keeps its place, and the next start would apply it
            self._faults.at("commit.send")
            sent = True
            session.commit()
            if self._count is not None:
                self._count.committed()
            self._faults.at("commit.done")
        except Exception as error:  # noqa: BLE001 the callers of the batch get it; the writer goes on
            return self._judged(error, sent)
        return None

    def _judged(self, error: Exception, sent: bool) -> _Failure | None:
        """Look up a COMMIT without an answer where the dialect can; otherwise its outcome stays unknown."""
        if self._session is None:
            return _Failure(error, sent=False)
        if sent:
            there = self.dialect.was_committed(self._session)
            if there is not None:
                return None if there else _Failure(error, sent=False)
        try:
            self._session.rollback()
        except Exception:  # noqa: BLE001 the first error is the one to report
            return _Failure(error, sent=True)
        full = isinstance(self._explained(error), StorageFull)  # such a COMMIT has certainly failed
        return _Failure(error, sent and not full)

    def _ready_session(self) -> Session:
        if self._session is None:
            self._session = self._open_session()
            self._readers.renew()  # those of before see no change
        if not self._session.usable():
            self._session.close()
            self._session = self.dialect.connect(write=True)
        return self._session

    def _run(self, session: Session, jobs: Sequence[_Job], *, alone: bool) -> None:
        """Run one job, or those that share their work, under a savepoint, or alone. Its failure is its own, unless it
        ended the whole transaction; those that share a failed work run one by one."""
        marked = len(session.notices)
        if not alone:
            session.savepoint()
        try:
            _work(session.tx, jobs)
            self._faults.at("commit.work")
        except BaseException as error:
            if not session.in_transaction():
                raise
            if isinstance(error, Exception) and self.dialect.is_retryable(error):
                raise
            del session.notices[marked:]
            if alone:
                session.rollback()
            else:
                session.undo()
            if len(jobs) > 1:
                for job in jobs:
                    self._run(session, [job], alone=False)
            else:
                jobs[0].fail(self._explained(error) if isinstance(error, Exception) else error)
        else:
            if not alone:
                session.keep()

    def _explained(self, error: Exception) -> Exception:
        """Translate errors of the driver; ours, and those of a caller's own work, stay."""
        if isinstance(error, LithosError):
            return error
        return self.dialect.explain(error) or error

    def _wake_all(self) -> None:
        for channel in {*self._listeners, *self._watchers}:
            self._wake(channel)

    def _wake(self, channel: str, notices: Sequence[Notice] = ()) -> None:
        """Without notices it is the server's word, which names no subject."""
        if (listeners := self._listeners.get(channel)) is not None:
            listeners.wake()
        if (watchers := self._watchers.get(channel)) is not None:
            subjects = {notice.subject for notice in notices}
            known = subjects and None not in subjects
            watchers.wake(subjects if known else None, notices[-1].number if known else 0)


class _Failure:
    """A batch that failed as a whole. `sent`: the outcome of COMMIT is unknown, so a retry could apply it twice."""

    def __init__(self, error: Exception, sent: bool) -> None:
        self.error = error
        self.sent = sent


def _grouped(batch: Sequence[_Job]) -> list[list[_Job]]:
    """Jobs that share their work become one, where the first of them is."""
    if len(batch) == 1:
        return [[*batch]]
    groups: list[list[_Job]] = []
    shared: dict[Any, list[_Job]] = {}
    for job in batch:
        known = shared.get(job.shared) if job.shared is not None else None
        if known is not None:
            known.append(job)
            continue
        groups.append([job])
        if job.shared is not None:
            shared[job.shared] = groups[-1]
    return groups


def _work(tx: Tx, jobs: Sequence[_Job]) -> None:
    for job in jobs:
        job.clear()
    first = jobs[0]
    if first.shared is None:
        first.value = first.work(tx)
        return
    results = first.shared(tx, [job.item for job in jobs])
    for job, result in zip(jobs, results, strict=True):
        if isinstance(result, Exception):
            job.fail(result)
        else:
            job.value = result


class _Job:
    """One caller's work and its result. `shared`: the work takes the items of all that wait with it."""

    __slots__ = ("_done", "error", "item", "leads", "reserve", "shared", "value", "work")

    def __init__(
        self,
        work: Callable[[Tx], Any] = lambda tx: None,
        reserve: bool = False,
        shared: Shared[Any, Any] | None = None,
        item: Any = None,
    ) -> None:
        self.work = work
        self.reserve = reserve
        self.shared = shared
        self.item = item
        self.value: Any = None
        self.error: BaseException | None = None
        self.leads = False
        self._done = threading.Lock()  # a plain lock wakes its waiter in half the time of an Event
        self._done.acquire()

    def clear(self) -> None:
        self.value, self.error = None, None

    def fail(self, error: BaseException) -> None:
        self.error = error

    def end(self) -> None:
        if self._done.locked():
            self._done.release()

    def lead(self) -> None:
        self.leads = True
        self.end()

    def wait(self) -> bool:
        """Wait until the job has ended. True: this caller must commit the next batch instead."""
        self._done.acquire()
        return self.leads

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class _Readers:
    """Connections that only read, opened on first use; the one used last is reused first."""

    def __init__(self, dialect: Dialect, size: int) -> None:
        self._dialect = dialect
        self._free: list[Session | None] = [None] * size
        self._current: set[Session] = set()
        self._size = size
        self._closed = False
        self._lock = threading.Lock()  # taken alone where nothing waits: a queue takes five times as long
        self._returned = threading.Condition(self._lock)
        self._waiting = 0

    def take(self) -> Session:
        """A session to read with; give it back."""
        session = self._pop()
        try:
            if self._closed:
                raise Unavailable("the database is closed", hint="Call again: the host is restarting.")
            if session is not None and session not in self._current:
                session.close()
                session = None
            if session is None:
                session = self._dialect.connect(write=False)
                self._current.add(session)
        except BaseException:  # also an interrupt: the place must come back
            self._push(None)
            raise
        return session

    def give_back(self, session: Session) -> None:
        if session.usable():
            self._push(session)
        else:
            self._current.discard(session)
            self._push(None)

    def _pop(self) -> Session | None:
        with self._lock:
            while not self._free:
                self._waiting += 1
                try:
                    self._returned.wait()
                finally:
                    self._waiting -= 1
            return self._free.pop()

    def _push(self, session: Session | None) -> None:
        with self._lock:
            self._free.append(session)
            if self._waiting:
                self._returned.notify()

    def renew(self) -> None:
        """Each session is replaced by a new one before its next use."""
        self._current.clear()

    def close(self) -> None:
        for _ in range(self._size):
            session = self._pop()
            if session is not None:
                session.close()
        self._closed = True
        for _ in range(self._size):
            self._push(None)
