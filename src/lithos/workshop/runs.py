"""Runs: commands in the sandbox, and jobs that answer at once or later under a run id."""

from __future__ import annotations

import asyncio
import logging
import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from lithos.core.call import Call
from lithos.core.ids import Ids
from lithos.core.keyed_lock import KeyedLock
from lithos.errors import Conflict, Forbidden, HostRestarted, InvalidInput, LithosError, NotFound
from lithos.storage import Database, Effects, EventDraft, Outcome, Tx
from lithos.workshop import rows
from lithos.workshop.sandbox import Command, Sandbox
from lithos.workshop.values import Completed, RunLimits, Worktree

_log = logging.getLogger("lithos.workshop")
ANSWER_S = 55.0  # clients give up a call after a minute
MOST_KEPT = 64  # answers of ended jobs that are kept whole, in memory
LONGEST_ARGUMENT = 32 * 1024
MOST_ARGUMENTS = 1_000
LONGEST_ROW = 16 * 1024  # characters of an answer that are kept in its row
_SHELL = frozenset("|&;<>$`")

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)  # of the job that a thread works on


class Runner:
    """Runs commands in worktrees; of one worktree one at a time, so that no run changes it under another."""

    def __init__(
        self, sandbox: Sandbox, limits: RunLimits, *, network: bool = False, locks: KeyedLock | None = None
    ) -> None:
        self.sandbox = sandbox
        self.limits = limits
        self._network = network
        self._locks = locks or KeyedLock()  # shared with edits, commits and merges

    def run(
        self,
        worktree: Worktree,
        argv: Sequence[str],
        *,
        timeout: float | None = None,
        cwd: str = ".",
        stdin: bytes | None = None,
        kind: str = "run",
        network: bool = False,
    ) -> Completed:
        """Wait for the command's end. NotFound with reason `not_installed`, Forbidden without a sandbox.

        Call it within a job: the process dies with the thread that started it, and with the job's stop."""
        vector = checked_argv(argv)
        if network and not self._network:
            raise Forbidden("runs have no network", hint="The operator can allow it: workshop.network.")
        longest = self.limits.test_seconds if kind in ("test", "build") else self.limits.seconds
        command = Command(
            vector,
            _folder(worktree, cwd),
            min(timeout or longest, self.limits.test_seconds),
            stdin,
            network,
            _stop.get() or threading.Event(),
        )
        with self._locks.hold(worktree.id):
            if command.stop.is_set():  # while it waited for its turn: not even for a moment
                raise Conflict("the run was stopped before it began", hint="Run it again.")
            return self.sandbox.run(worktree, command)


def checked_argv(argv: Sequence[str]) -> list[str]:
    """The vector, if it is one. A line for a shell is refused with the vector that is probably meant."""
    if not argv or not argv[0].strip():
        raise InvalidInput("argv is empty", hint='Send the program and its arguments: ["pytest", "-q"].')
    if len(argv) > MOST_ARGUMENTS or any(len(each) > LONGEST_ARGUMENT for each in argv):
        raise InvalidInput(f"argv has more than {MOST_ARGUMENTS} arguments, or one above {LONGEST_ARGUMENT} characters")
    if any("\0" in each for each in argv):
        raise InvalidInput("argv holds a NUL character")
    if len(argv) == 1 and (" " in argv[0].strip() or _SHELL & set(argv[0])):
        raise InvalidInput(
            "argv is one line for a shell, and no shell is used",
            hint=f"Send the program and each argument on its own: {orjson.dumps(_vector_of(argv[0])).decode()[:500]}",
        )
    return [*argv]


def _vector_of(line: str) -> list[str]:
    """The vector that a line means. Only a shell gives pipes, redirections and variables their meaning."""
    if _SHELL & set(line):
        return ["sh", "-c", line]
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _folder(worktree: Worktree, cwd: str) -> Path:
    if cwd == ".":
        return worktree.path
    root = worktree.path.resolve()
    folder = (root / cwd).resolve()
    if not folder.is_relative_to(root) or not folder.is_dir():
        raise InvalidInput(
            f"cwd {cwd[:200]!r} is no folder of the worktree", hint='Paths are relative to it, as "src".'
        )
    return folder


@dataclass(slots=True)
class Job:
    run_id: str
    session_id: str
    worktree_id: str
    stop: threading.Event = field(default_factory=threading.Event)
    result: Future[dict[str, Any]] = field(default_factory=Future)


class Jobs:
    """Work that may take minutes. Each has a row, a thread, and an answer that `lithos_work_result` gives later."""

    def __init__(self, database: Database, effects: Effects, ids: Ids, store: str) -> None:
        self._database = database
        self._effects = effects
        self._ids = ids
        self._store = store
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._threads: dict[str, threading.Thread] = {}

    def start(
        self, call: Call, worktree: Worktree, kind: str, argv: Sequence[str], work: Callable[[], dict[str, Any]]
    ) -> Job:
        """Begin `work` in a new thread. A repeated call with the same key finds the job that it began."""
        run_id = self._ids.sortable()

        def record(tx: Tx) -> Outcome:
            rows.insert_run(tx, run_id, self._store, worktree, call.agent or "", kind, argv)
            details = {"session_id": worktree.session_id, "worktree_id": worktree.id, "argv": list(argv)[:50]}
            return Outcome({"run_id": run_id}, (EventDraft("workshop", kind, thing=run_id, details=details),))

        answer = self._effects.commit(call, record)
        if answer["run_id"] != run_id:
            return self._known(answer["run_id"])
        job = Job(run_id, worktree.session_id, worktree.id)
        thread = threading.Thread(target=self._work, args=(job, work), name=f"workshop {kind}", daemon=True)
        with self._lock:
            self._jobs[run_id] = job
            self._threads[run_id] = thread
        thread.start()
        return job

    async def answer(self, job: Job, seconds: float = ANSWER_S, *, owner: bool = True) -> dict[str, Any]:
        """The job's answer, or that it is pending. An owner that goes away while it waits stops the job."""
        waiting = asyncio.wrap_future(job.result)
        try:
            async with asyncio.timeout(seconds):
                return {**await asyncio.shield(waiting), "run_id": job.run_id}
        except TimeoutError:
            return {"run_id": job.run_id, "pending": True}
        except asyncio.CancelledError:
            if owner:
                job.stop.set()
            raise

    def find(self, run_id: str) -> Job:
        """A job of this host, or the recorded end of an earlier one."""
        with self._lock:
            job = self._jobs.get(run_id)
        return job if job is not None else self._known(run_id)

    def busy(self, worktree_id: str | None = None) -> bool:
        with self._lock:
            jobs = [self._jobs[each] for each in self._threads if each in self._jobs]
        return any(worktree_id in (None, job.worktree_id) for job in jobs)

    def stop_worktree(self, worktree_id: str) -> None:
        """End its jobs and wait for them."""
        with self._lock:
            mine = [job for job in self._jobs.values() if job.worktree_id == worktree_id]
            threads = [self._threads[job.run_id] for job in mine if job.run_id in self._threads]
        for job in mine:
            job.stop.set()
        for thread in threads:
            thread.join()

    def close(self) -> None:
        with self._lock:
            jobs, threads = [*self._jobs.values()], [*self._threads.values()]
        for job in jobs:
            job.stop.set()
        for thread in threads:
            thread.join()

    def _known(self, run_id: str) -> Job:
        with self._lock:
            if (job := self._jobs.get(run_id)) is not None:
                return job
        row = self._database.read(lambda tx: rows.find_run(tx, run_id))
        if row is None:
            raise NotFound(f"there is no run {run_id[:80]!r}", hint="A run answers with its run_id.")
        job = Job(run_id, row["session_id"], row["worktree_id"])
        if row["answer"] is not None:
            job.result.set_result(orjson.loads(row["answer"]))
        else:
            job.result.set_exception(HostRestarted("the run ended with its host", hint="Run it again."))
        return job

    def _work(self, job: Job, work: Callable[[], dict[str, Any]]) -> None:
        _stop.set(job.stop)
        failure: Exception | None = None
        answer: dict[str, Any] = {}
        try:
            answer = work()
            self._record(job, "done", _shortened(answer))
        except LithosError as error:
            failure = error
            self._record(job, "failed", {"error": error.as_dict()})
        except Exception as error:  # noqa: BLE001 - the waiting call gets it
            failure = error
            _log.exception("a job of the workshop failed")
            self._record(job, "failed", {"error": {"code": "internal", "message": "see the host's log"}})
        self._settle(job)
        if failure is None:
            job.result.set_result(answer)
        else:
            job.result.set_exception(failure)

    def _settle(self, job: Job) -> None:
        """Before the answer: the caller's next call finds the worktree free."""
        with self._lock:
            self._threads.pop(job.run_id, None)
            while len(self._jobs) > MOST_KEPT and (oldest := next(iter(self._jobs))) not in self._threads:
                del self._jobs[oldest]

    def _record(self, job: Job, state: Any, answer: dict[str, Any]) -> None:
        try:
            self._database.write(lambda tx: rows.end_run(tx, job.run_id, state, answer))
        except LithosError:
            _log.warning("the end of a run was not recorded", exc_info=True)


def _shortened(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer for its row: long texts are cut to their ends."""
    if len(orjson.dumps(answer)) <= LONGEST_ROW:
        return answer
    cut = {key: value[-2000:] if isinstance(value, str) else value for key, value in answer.items()}
    if len(orjson.dumps(cut)) <= LONGEST_ROW:
        return {**cut, "truncated": True}
    kept = {key: value for key, value in cut.items() if not isinstance(value, list | dict)}
    return {**kept, "truncated": True}
