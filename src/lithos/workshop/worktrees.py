"""Worktrees: a checkout and a branch per session; made, found, removed while idle, made again, closed."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.ids import Ids
from lithos.core.keyed_lock import KeyedLock
from lithos.core.names import one_line
from lithos.errors import Conflict, Damaged, InvalidInput, LithosError, NotFound
from lithos.graph.git import Git
from lithos.sessions import Session, Sessions, note_worktree
from lithos.storage import Database, Effects, EventDraft, Faults, Outcome, Tx, quarantine
from lithos.workshop import rows
from lithos.workshop.projects import Branches, Project, Projects
from lithos.workshop.rows import WorktreeRow, WorktreeRows
from lithos.workshop.run_files import remove_tree
from lithos.workshop.values import Worktree

_log = logging.getLogger("lithos.workshop")
CHECKOUT_S = 600.0
STALE_LOCK_S = 60.0
PREFIX = "lithos/"
MERGED = "merged"
LONGEST_SLUG = 40
OWN_FOLDERS = frozenset({".scratch", ".base"})  # beside the worktrees: homes of runs, files of bases
LONGEST_PIPELINE = 60


@dataclass(frozen=True, slots=True)
class NewWorktree:
    session_id: str
    project: str | None = None
    base: str | None = None
    pipeline: str = ""
    after: Sequence[str] = ()


class Worktrees:
    def __init__(
        self,
        folder: Path,
        projects: Projects,
        database: Database,
        effects: Effects,
        sessions: Sessions,
        *,
        store: str,
        clock: Clock,
        ids: Ids,
        faults: Faults,
        most: int,
    ) -> None:
        self.folder = folder
        self.projects = projects
        mains = {name: projects.named(name).path for name in projects.names()}
        self.rows = WorktreeRows(store, folder, mains)
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._clock = clock
        self._ids = ids
        self._faults = faults
        self._most = most
        self.locks = KeyedLock()

    # -- finding

    def find(
        self, call: Call, session_id: str | None, project: str | None = None, pipeline: str = "", *, make: bool = True
    ) -> Worktree:
        """The worktree of the caller's session, present on disk. Members alone may use it."""
        session = self.member(call, session_id)
        found = self._only(session, project, pipeline)
        if found is not None:
            return self.present(found)
        if make and session.config.enable_git_isolation and not pipeline:
            return self.open(call, NewWorktree(session.id, project))
        raise _no_worktree(session, project, pipeline)

    def _only(self, session: Session, project: str | None, pipeline: str) -> WorktreeRow | None:
        """The session's worktree of that project and pipeline; InvalidInput where several projects have one."""
        found = [
            each
            for each in self._database.read(lambda tx: self.rows.of_session(tx, session.id))
            if each.worktree.pipeline == pipeline and project in (None, each.worktree.project)
        ]
        if len(found) > 1:
            names = ", ".join(each.worktree.project for each in found)
            raise InvalidInput("the session has worktrees of several projects", hint=f"Pass project: {names}.")
        return found[0] if found else None

    def id_of(self, call: Call, session_id: str | None, project: str | None, pipeline: str) -> str:
        """The id of the session's worktree, whether or not its checkout is there."""
        session = self.member(call, session_id)
        found = self._only(session, project, pipeline)
        if found is None:
            raise _no_worktree(session, project, pipeline)
        return found.worktree.id

    def member(self, call: Call, session_id: str | None) -> Session:
        """The session, for its members. A suspended or ended one keeps its worktrees and lets no one work in them."""
        session = self._sessions.members_only(call, self._sessions.chosen(call, session_id))
        self._sessions.seen(session.id)
        return session

    def writable(self, call: Call, session_id: str | None) -> Session:
        session = self.member(call, session_id)
        if session.state not in ("created", "active") or session.closed_at is not None:
            raise Conflict(
                f"the session is {session.state}: its worktree is kept as it is",
                hint="lithos_session_resume takes a suspended one up again.",
                state=session.state,
            )
        return session

    def present(self, row: WorktreeRow) -> Worktree:
        """The worktree, made again where it was removed while idle."""
        worktree = row.worktree
        if row.state != "removed" and _is_folder(worktree.path):
            return worktree
        with self.locks.hold(worktree.id):
            if not _is_folder(worktree.path):
                quarantine(worktree.path, worktree.path.with_name(f"{worktree.path.name}.damaged"))
                git = self.projects.named(worktree.project).git()
                git.run("worktree", "prune")
                git.run("worktree", "add", str(worktree.path), worktree.branch, timeout=CHECKOUT_S)
            self._database.write(lambda tx: rows.set_state(tx, worktree.id, "open"))
        return worktree

    def git(self, worktree: Worktree) -> Git:
        """Git in the worktree, by records that a run cannot reach."""
        project = self.projects.named(worktree.project)
        return project.git().linked(worktree.path.resolve(), worktree.git_dir)

    # -- opening

    def open(self, call: Call, new: NewWorktree) -> Worktree:
        """A worktree of the session on a new branch; the one that is there, if there is one."""
        return self.open_beside(call, new)[0]

    def open_beside(self, call: Call, new: NewWorktree) -> tuple[Worktree, bool]:
        """The same, and whether the project's own checkout has changes that a new worktree lacks."""
        session = self.writable(call, new.session_id)
        pipeline = _pipeline(new.pipeline)
        project = self.projects.named(new.project)
        with self.locks.hold(f"{session.id} {project.name} {pipeline}"):
            known = self._database.read(lambda tx: self.rows.of_session(tx, session.id))
            mine = [each for each in known if each.worktree.project == project.name]
            if mine and new.base not in (None, mine[0].worktree.base):
                raise InvalidInput(
                    f"the session works from {mine[0].worktree.base!r} already",
                    hint="Leave base_branch out, or work on another base in another session.",
                )
            for each in mine:
                if each.worktree.pipeline == pipeline:
                    return self.present(each), False
            return self._open(call, session, project, new, pipeline, mine)

    def _open(
        self,
        call: Call,
        session: Session,
        project: Project,
        new: NewWorktree,
        pipeline: str,
        mine: Sequence[WorktreeRow],
    ) -> tuple[Worktree, bool]:
        missing = set(new.after) - {each.worktree.pipeline for each in mine}
        if missing:
            raise NotFound(
                f"there is no pipeline {sorted(missing)[0][:60]!r} to come after", hint="Open that one first."
            )
        if self._database.read(self.rows.count) >= self._most:
            raise Conflict(
                f"there are {self._most} worktrees already", hint="lithos_worktree_close ends one that is done."
            )
        git = project.git()
        own = next((each.worktree for each in mine if not each.worktree.pipeline), None)
        branches = project.branches(git)
        base = own.base if own is not None else new.base or self._session_base(session, branches)
        commit = branches.commit(own.branch if own is not None and pipeline else base)
        project.check_tree(git, commit)
        branch = _free_branch(branches, session, pipeline or session.name)
        worktree_id = self._ids.sortable()
        worktree = Worktree(
            worktree_id,
            session.id,
            project.name,
            self.folder / worktree_id,
            branch,
            base,
            commit,
            project.path,
            pipeline,
        )
        with self.locks.hold(worktree.id):
            self._check_out(git, worktree, new.after)
            self._effects.commit(call, lambda tx: self._opened(tx, worktree))
        return worktree, project.is_dirty(git)

    def _session_base(self, session: Session, branches: Branches) -> str:
        """The session's base, unless it is of another project and missing here; else the checked-out branch."""
        base: str | None = session.scalars.get("base_branch")
        if base is not None and base not in branches.commits:
            rows = self._database.read(lambda tx: self.rows.of_session(tx, session.id, closed=True))
            if any(each.worktree.base == base and each.worktree.project != branches.project for each in rows):
                base = None
        return base or branches.checked_out()

    def _check_out(self, git: Git, worktree: Worktree, after: Sequence[str]) -> None:
        self._database.write(lambda tx: self.rows.insert(tx, worktree, after))
        self._faults.at("workshop.open.recorded")
        try:
            self._make_folder()
            add = ("worktree", "add", "--no-track", "-b", worktree.branch, str(worktree.path), worktree.base_commit)
            git.run(*add, timeout=CHECKOUT_S)
        except LithosError:
            self._undo(worktree)
            raise
        self._faults.at("workshop.open.checked_out")

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise Damaged(f"{self.folder.name} is not a folder", hint="Move it away, then call again.") from None

    def _opened(self, tx: Tx, worktree: Worktree) -> Outcome:
        rows.set_state(tx, worktree.id, "open")
        if not worktree.pipeline:
            note_worktree(tx, worktree.session_id, worktree.branch, worktree.base, str(worktree.path))
        details = {"session_id": worktree.session_id, "branch": worktree.branch, "project": worktree.project}
        return Outcome({"worktree_id": worktree.id}, (EventDraft("workshop", "open", worktree.id, details=details),))

    # -- closing

    def close(self, call: Call, worktree_id: str, *, force: bool = False) -> dict[str, Any]:
        """Remove the checkout; the branch stays. Work that is not committed is refused, unless `force`."""
        row = self.check_member(call, worktree_id)
        worktree = row.worktree
        with self.locks.hold(worktree.id):
            if row.state == "closed":
                return {"worktree_id": worktree.id, "state": "closed", "branch": worktree.branch}
            if not force and (files := self.uncommitted(worktree)):
                raise Conflict(
                    f"{len(files)} files are not committed",
                    hint="Commit them, or throw them away with force=true.",
                    files=files[:50],
                )
            self._database.write(lambda tx: rows.set_state(tx, worktree.id, "closing"))
            self._faults.at("workshop.close.recorded")
            self._remove(worktree)
            self._faults.at("workshop.close.removed")
            self._effects.commit(call, lambda tx: self._closed(tx, worktree))
        return {"worktree_id": worktree.id, "state": "closed", "branch": worktree.branch}

    def _closed(self, tx: Tx, worktree: Worktree) -> Outcome:
        rows.set_state(tx, worktree.id, "closed")
        if not worktree.pipeline:
            note_worktree(tx, worktree.session_id, worktree.branch, worktree.base, None)
        details = {"session_id": worktree.session_id, "branch": worktree.branch}
        return Outcome({}, (EventDraft("workshop", "close", worktree.id, details=details),))

    def check_member(self, call: Call, worktree_id: str, session_id: str | None = None) -> WorktreeRow:
        """The row; NotFound or Forbidden for those who may not touch it."""
        row = self._database.read(lambda tx: self.rows.find(tx, worktree_id))
        if row is None or session_id not in (None, row.worktree.session_id):
            raise NotFound(f"there is no worktree {worktree_id[:80]!r}", hint="lithos_worktree_list shows them.")
        self.member(call, row.worktree.session_id)
        return row

    def uncommitted(self, worktree: Worktree) -> list[str]:
        """Changed and new files that git would commit; nothing where the checkout is gone."""
        if not worktree.path.is_dir() or not worktree.git_dir.is_dir():
            return []
        text = self.git(worktree).run("status", "--porcelain", "-z", "--no-renames")
        found = [entry[3:] for entry in text.decode("utf-8", "replace").split("\0") if entry]
        return [each for each in found if not each.rpartition("/")[2].startswith(".lithos-")]

    def reset(self, worktree: Worktree) -> None:
        """The checkout as its branch is; only where nothing was uncommitted before."""
        if not worktree.path.is_dir():
            return
        lock = worktree.git_dir / "index.lock"
        if lock.exists() and self._clock.now().timestamp() - lock.stat().st_mtime > STALE_LOCK_S:
            lock.unlink()  # of a git that was killed
        self.git(worktree).run("reset", "--hard", "--quiet", f"refs/heads/{worktree.branch}", timeout=CHECKOUT_S)

    def _remove(self, worktree: Worktree) -> None:
        """The checkout and git's records of it; missing ones are no error."""
        remove_tree(worktree.path)
        with suppress(LithosError):  # the project may be gone: `doctor` finds the records
            self.projects.named(worktree.project).git().run("worktree", "prune")

    def _undo(self, worktree: Worktree) -> None:
        """After an opening that failed: no checkout, no branch, no row."""
        self._remove(worktree)
        try:
            git = self.projects.named(worktree.project).git()
            # Only if it is where we made it: a branch that moved has work on it.
            git.run("update-ref", "-d", f"refs/heads/{worktree.branch}", worktree.base_commit)
        except LithosError as error:
            _log.info("the branch %s was not deleted: %s", worktree.branch, error.message)
        self._database.write(lambda tx: rows.set_state(tx, worktree.id, "closed"))

    # -- upkeep

    def settle(self) -> list[str]:
        """Finish or undo what a crash left between two steps; what was done, in sentences."""
        done = []
        for row in self._between():
            worktree = row.worktree
            if row.state == "merging":
                self.reset(worktree)
                state: rows.State = "open" if worktree.path.is_dir() else "removed"
                self._database.write(lambda tx, each=worktree, now=state: rows.set_state(tx, each.id, now))  # type: ignore[misc]
                done.append(f"a worktree of {worktree.project} was brought to its branch after a merge")
            elif row.state == "opening":
                self._undo(worktree)
                done.append(f"an unfinished worktree of {worktree.project} was removed")
            else:
                self._remove(worktree)
                self._database.write(lambda tx, each=worktree: rows.set_state(tx, each.id, "closed"))  # type: ignore[misc]
                done.append(f"the closing of a worktree of {worktree.project} was finished")
        return done

    def in_between(self) -> list[str]:
        """Ids of worktrees that a crash left between two steps; `settle` ends that."""
        return [each.worktree.id for each in self._between()]

    def _between(self) -> list[WorktreeRow]:
        """Those that no call of this host works on."""
        found = self._database.read(lambda tx: self.rows.in_states(tx, "opening", "closing", "merging"))
        return [each for each in found if not self.locks.held(each.worktree.id)]

    def stale_locks(self) -> list[Path]:
        """Locks of a git that was killed: they keep every later commit from being made."""
        rows_open = self._database.read(lambda tx: self.rows.in_states(tx, "open"))
        locks = [each.worktree.git_dir / "index.lock" for each in rows_open]
        now = self._clock.now().timestamp()
        return [each for each in locks if each.exists() and now - each.stat().st_mtime > STALE_LOCK_S]

    def leftovers(self) -> list[str]:
        """Names of folders beneath ours that belong to no worktree."""
        if not self.folder.is_dir():
            return []
        known = self._database.read(self.rows.known)
        alive = {each for each, state in known.items() if state in ("open", "merging", "opening", "closing")}
        return sorted({each.name for each in self.folder.iterdir()} - alive - OWN_FOLDERS)

    def drop_leftovers(self) -> int:
        names = self.leftovers()
        for name in names:
            remove_tree(self.folder / name)
        for lock in self.stale_locks():
            lock.unlink(missing_ok=True)
        for name in self.projects.names():
            with suppress(LithosError):
                self.projects.named(name).git().run("worktree", "prune")
        return len(names)

    def remove_idle(self, minutes: float, busy: Callable[[str], bool], release: Callable[[str], None]) -> int:
        """Remove checkouts that were not used for so long and whose work is committed; their branches stay."""
        before = micros(self._clock.now()) - int(minutes * 60_000_000)
        removed = 0
        for row in self._database.read(lambda tx: self.rows.in_states(tx, "open")):
            worktree = row.worktree
            if row.used_at > before or busy(worktree.id):
                continue
            with self.locks.hold(worktree.id, worktree.files_lock):
                try:
                    now = self._database.read(lambda tx, each=worktree: self.rows.find(tx, each.id))  # type: ignore[misc]
                    if now is None or now.used_at > before or self.uncommitted(worktree):
                        continue
                except LithosError as error:
                    _log.info("an idle worktree stays: %s", error.message)
                    continue
                self._database.write(lambda tx, each=worktree: rows.set_state(tx, each.id, "removed"))  # type: ignore[misc]
                release(worktree.id)
                self._remove(worktree)
                removed += 1
        return removed

    def shown(self, row: WorktreeRow) -> dict[str, Any]:
        worktree = row.worktree
        answer: dict[str, Any] = {
            "worktree_id": worktree.id,
            "session_id": worktree.session_id,
            "project": worktree.project,
            "branch": worktree.branch,
            "base_branch": worktree.base,
            "base_commit": worktree.base_commit,
            "path": str(worktree.path),
            "state": row.state,
            "used_at": rfc3339(from_micros(row.used_at)),
        }
        if worktree.pipeline:
            answer |= {"pipeline": worktree.pipeline, "after": [*row.after]}
        return answer

    def listed(self, call: Call, session_id: str | None, *, closed: bool = False) -> dict[str, Any]:
        session = self.member(call, session_id)
        found = self._database.read(lambda tx: self.rows.of_session(tx, session.id, closed=closed))
        return {"session_id": session.id, "worktrees": [self.shown(each) for each in found]}


def _is_folder(path: Path) -> bool:
    """A link to a folder is none: what it points at is not ours."""
    return path.is_dir() and not path.is_symlink()


def _no_worktree(session: Session, project: str | None, pipeline: str) -> NotFound:
    what = f"no worktree for the pipeline {pipeline[:60]!r}" if pipeline else "no worktree"
    what += f" of the project {project[:60]!r}" if project else ""
    return NotFound(f"the session has {what}", hint="lithos_worktree_open makes one.", session_id=session.id)


def _free_branch(branches: Branches, session: Session, name: str) -> str:
    """`lithos/<session>-<slug>`, with a number where that branch exists."""
    wanted = branch = f"{PREFIX}{session.id}-{slug_of(name)}"
    number = 2
    while branch in branches.commits:
        branch, number = f"{wanted}-{number}", number + 1
    return branch


def slug_of(name: str) -> str:
    """Lower-case letters, digits and dashes; never the name that the merge commit's branch has."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].strip("-")
    return "work" if slug in ("", MERGED) else slug


def _pipeline(name: str) -> str:
    return one_line(name, "pipeline", LONGEST_PIPELINE) if name else ""
