"""Merging: a session's branch into its base, decided on objects alone. Conflicts are a report, never resolved here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lithos.board import Board, NewTask
from lithos.core.call import Call
from lithos.errors import Conflict, LithosError, NotFound, Unsupported
from lithos.graph.git import Git
from lithos.sessions import Session
from lithos.storage import EventDraft, Outcome, Storage, Tx
from lithos.workshop import rows
from lithos.workshop.commits import make_commit, move_refs, signed_message
from lithos.workshop.rows import WorktreeRow
from lithos.workshop.values import Merge, Worktree
from lithos.workshop.worktrees import MERGED, PREFIX, Worktrees

MERGE_S = 120.0
MOST_SHOWN = 50  # conflicting files in an answer
SIDE_CHARACTERS = 2_000  # of each side
_DRIVER = re.compile(r"merge\..*\.driver", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Merged:
    """The outcome of `git merge-tree`: a tree, and the sides of each file that conflicts."""

    tree: str
    conflicts: dict[str, dict[int, str]]  # path → stage (1 base, 2 ours, 3 theirs) → blob
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The commits that a merge makes, and where the branches were when it was planned."""

    own: WorktreeRow
    own_tip: str  # before
    tip: str  # with all pipelines
    base_tip: str
    commit: str


class ConflictFound(Exception):
    def __init__(self, into: str, source: str, merged: Merged, ours: str, theirs: str) -> None:
        super().__init__(into)
        self.into, self.source, self.merged, self.ours, self.theirs = into, source, merged, ours, theirs


class Merging:
    def __init__(
        self, storage: Storage, worktrees: Worktrees, board: Board, how: Merge, busy: Callable[[str], bool]
    ) -> None:
        self._storage = storage
        self._worktrees = worktrees
        self._board = board
        self._how = how
        self._busy = busy

    def merge(self, call: Call, session_id: str | None, project: str | None, *, dry_run: bool) -> dict[str, Any]:
        """Leave the merge commit on `lithos/<session>-merged`. A base that moved meanwhile is tried once more."""
        session = self._worktrees.member(call, session_id)
        if session.state == "suspended":
            raise Conflict("the session is suspended", hint="lithos_session_resume takes it up again.")
        all_rows = self._rows(session, project)
        own = next(each for each in all_rows if not each.worktree.pipeline)
        keys = [key for each in all_rows for key in (each.worktree.id, each.worktree.files_lock)]
        with self._worktrees.locks.hold(*keys):
            self._refuse_uncommitted(all_rows)
            git = self._worktrees.projects.named(own.worktree.project).git()
            _refuse_drivers(git)
            for attempt in (1, 2):
                try:
                    answer = self._merge_once(call, git, own, all_rows, dry_run=dry_run)
                except ConflictFound as found:
                    return self._report(call, git, own.worktree, found, dry_run=dry_run)
                except BaseMoved as moved:
                    if attempt == 2:
                        raise Conflict(moved.message, hint="Call again when the base rests.") from None
                    continue
                return answer
        raise AssertionError("two attempts end in an answer")

    def _rows(self, session: Session, project: str | None) -> list[WorktreeRow]:
        found = self._storage.database.read(lambda tx: self._worktrees.rows.of_session(tx, session.id))
        owned = [each for each in found if not each.worktree.pipeline and project in (None, each.worktree.project)]
        if not owned:
            raise NotFound("the session has no worktree to merge", hint="lithos_worktree_open makes one.")
        if len(owned) > 1:
            names = ", ".join(each.worktree.project for each in owned)
            raise Conflict("the session has worktrees of several projects", hint=f"Pass project: {names}.")
        return [each for each in found if each.worktree.project == owned[0].worktree.project]

    def _refuse_uncommitted(self, all_rows: Sequence[WorktreeRow]) -> None:
        for row in all_rows:
            if self._busy(row.worktree.id):
                raise Conflict("a command runs in a worktree", hint="Wait for it: lithos_work_result.")
            if row.state == "open" and (files := self._worktrees.uncommitted(row.worktree)):
                raise Conflict(
                    f"{len(files)} files of {row.worktree.branch} are not committed",
                    hint="lithos_work_commit first.",
                    files=files[:MOST_SHOWN],
                )

    def _merge_once(
        self, call: Call, git: Git, own: WorktreeRow, all_rows: Sequence[WorktreeRow], *, dry_run: bool
    ) -> dict[str, Any]:
        plan = self._planned(call, git, own, all_rows)
        worktree = own.worktree
        answer: dict[str, Any] = {"base_branch": worktree.base, "conflicts": [], "dry_run": dry_run}
        if plan is None:
            return {**answer, "merged": False, "reason": "nothing_to_merge"}
        if dry_run:
            return {**answer, "merged": False, "clean": True, "files": _changed(git, plan.base_tip, plan.commit)}
        return {**answer, **self._apply(call, git, plan)}

    def _planned(self, call: Call, git: Git, own: WorktreeRow, all_rows: Sequence[WorktreeRow]) -> MergePlan | None:
        """Objects only: no branch moves. None: the base has it all."""
        worktree = own.worktree
        project = self._worktrees.projects.named(worktree.project)
        own_tip = tip = project.branch_commit(git, worktree.branch)
        for row in in_order([each for each in all_rows if each.worktree.pipeline]):
            pipeline = project.branch_commit(git, row.worktree.branch)
            tip = self._joined(call, git, worktree, (tip, worktree.branch), (pipeline, row.worktree.branch))
        base_tip = project.branch_commit(git, worktree.base)
        if is_ancestor(git, tip, base_tip):
            return None
        merged = merge_trees(git, base_tip, tip)
        if merged.conflicts:
            raise ConflictFound(worktree.base, worktree.branch, merged, base_tip, tip)
        message = signed_message(f"Merge {worktree.branch} into {worktree.base}", worktree.session_id, None)
        commit = make_commit(git, merged.tree, [base_tip, tip], message, call.agent)
        return MergePlan(own, own_tip, tip, base_tip, commit)

    def _joined(self, call: Call, git: Git, own: Worktree, into: tuple[str, str], source: tuple[str, str]) -> str:
        """The session's branch with one pipeline in it."""
        (tip, branch), (pipeline, name) = into, source
        if is_ancestor(git, pipeline, tip):
            return tip
        merged = merge_trees(git, tip, pipeline)
        if merged.conflicts:
            raise ConflictFound(branch, name, merged, tip, pipeline)
        message = signed_message(f"Merge {name} into {branch}", own.session_id, None)
        return make_commit(git, merged.tree, [tip, pipeline], message, call.agent)

    def _apply(self, call: Call, git: Git, plan: MergePlan) -> dict[str, Any]:
        """Move our own branches, and the base only if that is allowed; then record it."""
        worktree, faults = plan.own.worktree, self._storage.faults
        out = checked_out(git)
        merged_branch = f"{PREFIX}{worktree.session_id}-{MERGED}"
        if merged_branch in out:
            raise Conflict(f"{merged_branch} is checked out at {out[merged_branch]}", hint="Check out another branch.")
        moves = [(merged_branch, plan.commit, _commit_or_none(git, merged_branch))]
        moved_own = plan.tip != plan.own_tip
        if moved_own:
            if worktree.branch in out and out[worktree.branch] != str(worktree.path):
                raise Conflict(f"{worktree.branch} is checked out elsewhere", hint="Check out another branch there.")
            moves.append((worktree.branch, plan.tip, plan.own_tip))
        forward = self._how == "auto" and worktree.base not in out
        if forward:
            moves.append((worktree.base, plan.commit, plan.base_tip))
        self._storage.database.write(lambda tx: rows.set_state(tx, worktree.id, "merging"))
        faults.at("workshop.merge.recorded")
        try:
            move_refs(git, moves)
            faults.at("workshop.merge.moved")
            if moved_own:
                self._worktrees.reset(worktree)
            faults.at("workshop.merge.reset")
        except LithosError as error:
            self._storage.database.write(lambda tx: rows.set_state(tx, worktree.id, plan.own.state))
            project = self._worktrees.projects.named(worktree.project)
            if project.branch_commit(git, worktree.base) != plan.base_tip:
                raise BaseMoved(worktree.base) from error
            raise
        command = None if forward else _command(worktree, merged_branch, out)
        answer = {
            "merged": True,
            "commit": plan.commit,
            "branch": merged_branch,
            "base_updated": forward,
            "files": _changed(git, plan.base_tip, plan.commit),
        } | ({} if command is None else {"command": command})
        self._storage.effects.commit(call, lambda tx: _recorded(tx, plan, answer))
        return answer

    def _report(
        self, call: Call, git: Git, worktree: Worktree, found: ConflictFound, *, dry_run: bool
    ) -> dict[str, Any]:
        """Both sides of each file, and a task on the board; no branch moved."""
        paths = sorted(found.merged.conflicts)
        shown = [{"path": path, **_sides(git, found.merged.conflicts[path])} for path in paths[:MOST_SHOWN]]
        answer: dict[str, Any] = {
            "merged": False,
            "dry_run": dry_run,
            "base_branch": worktree.base,
            "reason": "conflict",
            "into": found.into,
            "source": found.source,
            "conflicts": shown,
            "conflict_count": len(paths),
            "notes": [*found.merged.notes[:MOST_SHOWN]],
        }
        if dry_run:
            return answer
        lines = [f"Merging {found.source} into {found.into} conflicts in {len(paths)} files:", ""]
        lines += [f"- {path}" for path in paths[:MOST_SHOWN]]
        lines += ["", f"Session {worktree.session_id}, project {worktree.project}. Both branches are as they were."]
        title = f"Resolve the conflict of {found.source} with {found.into}"[:200]
        task = NewTask(title, call.agent or "lithos", "\n".join(lines), tags=("merge-conflict",))
        # The same two commits conflict in the same way: one task, however often the merge is tried.
        key = f"conflict {found.ours} {found.theirs}"
        own_call = replace(call, tool="lithos_work_merge.task", idempotency_key=key, delivery=None, arguments_hash="")
        return {**answer, "task_id": self._board.create(own_call, task)["task_id"]}


class BaseMoved(Exception):
    def __init__(self, base: str) -> None:
        super().__init__(base)
        self.message = f"{base} moved while the merge was made; nothing was changed"


def merge_trees(git: Git, ours: str, theirs: str) -> Merged:
    """`git merge-tree --write-tree`: nothing is checked out, no branch moves."""
    output = git.run("merge-tree", "--write-tree", "-z", "--messages", ours, theirs, fine=(0, 1), timeout=MERGE_S)
    tree, _, rest = output.decode("utf-8", "surrogateescape").partition("\0")
    if not re.fullmatch(r"[0-9a-f]{40,64}", tree):
        raise Unsupported("this git cannot merge without a checkout", hint="Install git 2.38 or newer.")
    conflicts: dict[str, dict[int, str]] = {}
    parts = rest.split("\0")
    place = 0
    while place < len(parts) and parts[place]:
        facts, _, path = parts[place].partition("\t")
        _, blob, stage = facts.split(" ")
        conflicts.setdefault(path, {})[int(stage)] = blob
        place += 1
    return Merged(tree, conflicts, tuple(_messages(parts[place + 1 :])))


def _messages(parts: Sequence[str]) -> list[str]:
    """The conflicts in git's words: `<number of paths> NUL <paths> NUL <type> NUL <message> NUL` each."""
    found, place = [], 0
    while place < len(parts) and parts[place].isdigit():
        place += int(parts[place]) + 1
        if place + 1 >= len(parts):
            break
        kind, text = parts[place], parts[place + 1]
        if kind.startswith("CONFLICT"):
            found.append(text.strip().encode("utf-8", "replace").decode())
        place += 2
    return found


def is_ancestor(git: Git, commit: str, of: str) -> bool:
    return git.run("merge-base", commit, of, fine=(0, 1)).decode().strip() == commit


def checked_out(git: Git) -> dict[str, str]:
    """Branch → where it is checked out."""
    found, path = {}, ""
    for line in git.run("worktree", "list", "--porcelain", "-z").decode("utf-8", "surrogateescape").split("\0"):
        word, _, rest = line.partition(" ")
        if word == "worktree":
            path = rest
        elif word == "branch":
            found[rest.removeprefix("refs/heads/")] = path
    return found


def in_order(pipelines: Sequence[WorktreeRow]) -> list[WorktreeRow]:
    """Each after those that it names; among the others, the oldest first."""
    left, done = list(pipelines), []
    names = {each.worktree.pipeline for each in left}
    placed: set[str] = set()
    while left:
        ready = next((each for each in left if set(each.after) & names <= placed), None)
        if ready is None:
            raise Conflict("the pipelines wait for each other", hint="Close one and open it with another `after`.")
        left.remove(ready)
        done.append(ready)
        placed.add(ready.worktree.pipeline)
    return done


def _refuse_drivers(git: Git) -> None:
    """Lithos runs no program of a repository; an emptied driver would keep one side in silence."""
    named = [key for key in git.configured() if _DRIVER.fullmatch(key)]
    if named:
        raise Unsupported(f"the repository has a merge driver ({named[0][:80]})", hint="Merge it by hand.")


def _commit_or_none(git: Git, branch: str) -> str | None:
    found = git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", fine=(0, 1)).decode().strip()
    return found or None


def _changed(git: Git, before: str, after: str) -> int:
    return git.run("diff-tree", "-r", "--name-only", "-z", before, after).count(b"\0")


def _sides(git: Git, blobs: dict[int, str]) -> dict[str, Any]:
    """Missing: that side deleted the file."""
    names = {2: "ours", 3: "theirs"}
    found: dict[str, Any] = {}
    for stage, name in names.items():
        if stage in blobs:
            data = git.run("cat-file", "blob", blobs[stage])
            found[name] = "(binary)" if b"\0" in data[:8000] else data.decode("utf-8", "replace")[:SIDE_CHARACTERS]
    return found


def _command(worktree: Worktree, merged_branch: str, out: dict[str, str]) -> list[str]:
    """For the person: it moves the base forward, or does nothing."""
    if worktree.base in out:
        return ["git", "-C", out[worktree.base], "merge", "--ff-only", merged_branch]
    return ["git", "-C", str(worktree.main), "fetch", ".", f"{merged_branch}:{worktree.base}"]


def _recorded(tx: Tx, plan: MergePlan, answer: dict[str, Any]) -> Outcome:
    worktree = plan.own.worktree
    rows.set_state(tx, worktree.id, plan.own.state)
    details = {"session_id": worktree.session_id, "commit": plan.commit, "base_branch": worktree.base}
    return Outcome(answer, (EventDraft("workshop", "merge", worktree.id, details=details),))
