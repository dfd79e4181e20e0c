"""Workshop: worktrees of sessions, files in them, commands in a sandbox, and the way back into the project."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lithos.board import Board
from lithos.core.call import Call
from lithos.core.clock import micros
from lithos.core.names import one_line
from lithos.core.part import Part
from lithos.errors import Forbidden, LithosError, NotFound
from lithos.graph.code import Code, KeptTexts
from lithos.graph.history import HistoryWriter
from lithos.habits import UserPreferences
from lithos.sessions import FileLocks, Sessions
from lithos.storage import Storage
from lithos.workshop import rows
from lithos.workshop.commits import Commits
from lithos.workshop.discovery import Academic, Discovery, DiscoveryCache
from lithos.workshop.editing import Files, checked_path
from lithos.workshop.inspection import BASES, Inspection
from lithos.workshop.merging import Merging
from lithos.workshop.projects import Projects
from lithos.workshop.run_files import remove_tree
from lithos.workshop.runs import Job, Jobs, Runner
from lithos.workshop.sandbox import Sandbox
from lithos.workshop.sandbox.watch import changed_bytes
from lithos.workshop.values import WorkshopOptions, Worktree
from lithos.workshop.worktrees import NewWorktree, Worktrees

_log = logging.getLogger("lithos.workshop")
SCRATCH = ".scratch"
ENDLESS = 1 << 62


@dataclass(frozen=True, slots=True)
class WorkshopGround:
    """The parts that the workshop uses."""

    storage: Storage
    sessions: Sessions
    file_locks: FileLocks
    board: Board
    texts: KeptTexts
    preferences: UserPreferences
    history: HistoryWriter
    academic: Academic
    code: Code


class Workshop(Part):
    def __init__(self, ground: WorkshopGround, options: WorkshopOptions) -> None:
        storage = ground.storage
        self.options = options
        self.projects = Projects(options.projects)
        self._storage = storage
        sandbox = Sandbox(
            options.folder / SCRATCH,
            options.limits,
            toolchains=options.toolchains,
            unconfined=options.unconfined,
        )
        self.jobs = Jobs(storage.database, storage.effects, storage.ids, storage.events.store)
        self.worktrees = Worktrees(
            options.folder,
            self.projects,
            storage.database,
            storage.effects,
            ground.sessions,
            store=storage.events.store,
            clock=storage.clock,
            ids=storage.ids,
            faults=storage.faults,
            most=options.most_worktrees,
        )
        locks = self.worktrees.locks  # of one worktree, one change at a time: runs, edits, commits, merges
        self.runner = Runner(sandbox, options.limits, network=options.network, locks=locks)
        cache = DiscoveryCache(storage.database, storage.clock, storage.events.store)
        discovery = Discovery(cache, ground.preferences, ground.history, ground.academic)
        self.inspection = Inspection(discovery, self.runner, options.folder, self.worktrees.git, ground.code)
        self.files = Files(storage, ground.file_locks, ground.texts, options.exclusive, options.folder, locks)
        self._commits = Commits(storage, self.worktrees, self.jobs.busy)
        self.merging = Merging(storage, self.worktrees, ground.board, options.merge, self.jobs.busy)

    def allow(self, call: Call) -> None:
        """Forbidden unless the operator switched commands on, and the caller's token has the scope `workshop`."""
        if not self.options.enabled:
            raise Forbidden("the workshop runs no commands", hint="The operator can allow it: workshop.enabled.")
        if not call.workshop:
            raise Forbidden(
                "over HTTP this needs a token with the scope workshop",
                hint="The operator makes one: lithos token new --name NAME --scope workshop.",
            )

    def worktree(self, call: Call, session_id: str | None, project: str | None = None, pipeline: str = "") -> Worktree:
        """The worktree to work in, present on disk; Conflict where the session is suspended or over."""
        session = self.worktrees.writable(call, session_id)
        found = self.worktrees.find(call, session.id, project, pipeline)
        self._storage.database.write(lambda tx: rows.touch(tx, found.id))
        return found

    def ready(self, call: Call, session_id: str | None, project: str | None, pipeline: str) -> Worktree:
        """The worktree, ready for a command of this caller: there is a wall, and no staged file of ours is seen."""
        self.allow(call)
        worktree = self.worktree(call, session_id, project, pipeline)
        self.runner.sandbox.wall()
        self.files.settle(worktree)
        return worktree

    def readable(self, call: Call, session_id: str | None, project: str | None = None, pipeline: str = "") -> Worktree:
        """The worktree to read; members may in every state of the session."""
        return self.worktrees.find(call, session_id, project, pipeline, make=False)

    def open_worktree(self, call: Call, new: NewWorktree) -> dict[str, Any]:
        worktree, dirty = self.worktrees.open_beside(call, new)
        row = self._storage.database.read(lambda tx: self.worktrees.rows.find(tx, worktree.id))
        assert row is not None  # it was just opened
        shown = self.worktrees.shown(row)
        return {**shown, "dirty_project": True} if dirty else shown

    def close_worktree(
        self, call: Call, worktree_id: str, *, session_id: str | None = None, force: bool = False
    ) -> dict[str, Any]:
        self.worktrees.check_member(call, worktree_id, session_id)
        self.jobs.stop_worktree(worktree_id)
        closed = self.worktrees.close(call, worktree_id, force=force)
        self.runner.sandbox.forget(worktree_id)
        self.files.forget(worktree_id)
        return closed

    def diff(self, worktree: Worktree, paths: Sequence[str]) -> dict[str, Any]:
        return self._commits.diff(worktree, [checked_path(each) for each in paths])

    def commit(self, call: Call, worktree: Worktree, message: str, task_id: str | None) -> dict[str, Any]:
        """All changes of the worktree; the task is the named one, or the session's current one."""
        self.files.settle(worktree)
        session = self.worktrees.member(call, worktree.session_id)
        task = task_id or session.scalars.get("current_task")
        return self._commits.commit(call, worktree, message, one_line(task, "task_id", 200) if task else None)

    async def find_job(self, call: Call, run_id: str, session_id: str | None = None) -> Job:
        """A job of a session that the caller belongs to; of that session, if one is named."""
        job = await asyncio.to_thread(self.jobs.find, run_id)
        if session_id not in (None, job.session_id):
            raise NotFound(f"the session has no run {run_id[:80]!r}", hint="A run answers with its run_id.")
        await asyncio.to_thread(self.worktrees.member, call, job.session_id)
        return job

    def open(self) -> None:
        """Settle what an earlier host left between two steps."""
        self._storage.database.write(lambda tx: rows.lose_runs(tx, self.worktrees.rows.store))
        if not self.projects:
            return
        known = self._storage.database.read(self.worktrees.rows.known)
        self.runner.sandbox.sweep({each for each, state in known.items() if state != "closed"})
        remove_tree(self.options.folder / BASES)
        try:
            for done in self.worktrees.settle():
                _log.info("%s", done)
        except LithosError as error:  # a project that is gone must not keep the memory from opening
            _log.warning("worktrees were not settled: %s", error.message)

    def repair(self) -> list[str]:
        """For `lithos doctor`: finish what a crash left, and delete folders that belong to no worktree."""
        done = self.worktrees.settle()
        if number := self.worktrees.drop_leftovers():
            done.append(f"{number} folders that belonged to no worktree were deleted")
        return done

    def busy(self) -> bool:
        return self.jobs.busy()

    def tidy(self) -> None:
        """Drop old rows, and checkouts of idle worktrees whose work is committed."""
        before = self._storage.clock.now() - timedelta(days=self.options.keep_days)
        self._storage.database.write(lambda tx: rows.prune(tx, micros(before), self.options.keep_runs))
        self.inspection.discovery.cache.prune(micros(before))
        if self.projects and self.options.idle_minutes:
            self.worktrees.remove_idle(self.options.idle_minutes, self.jobs.busy, self.files.release)
        self.runner.sandbox.trim(self.jobs.busy, self.worktrees.locks)

    def sizes(self) -> Mapping[str, int]:
        folder = self.options.folder
        return {"worktrees": changed_bytes(folder, since=0.0, enough=ENDLESS)} if folder.is_dir() else {}

    def close(self) -> None:
        self.jobs.close()
