"""Commits of a session: what changed, and a commit that says which session and task it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lithos.core.call import Call
from lithos.core.names import plain_text
from lithos.errors import Conflict, InvalidInput, LithosError
from lithos.graph.git import Git
from lithos.storage import EventDraft, Outcome, Storage, Tx
from lithos.workshop import rows
from lithos.workshop.values import Worktree
from lithos.workshop.worktrees import Worktrees

LONGEST_MESSAGE = 20_000
LONGEST_DIFF = 100_000  # characters
MOST_FILES = 500
COMMIT_S = 120.0
_TRAILER = re.compile(r"^[A-Za-z][A-Za-z0-9-]*: \S")
_OURS = re.compile(r"^Lithos-(?:Session|Task):.*\n?", re.IGNORECASE | re.MULTILINE)
_WHERE = ("--no-color", "--no-renames")
_NO_MODE, _LINK_MODE = b"000000", b"160000"  # of a file that is gone, of a repository


class Commits:
    def __init__(self, storage: Storage, worktrees: Worktrees, busy: Callable[[str], bool]) -> None:
        self._storage = storage
        self._worktrees = worktrees
        self._busy = busy

    def diff(self, worktree: Worktree, paths: Sequence[str]) -> dict[str, Any]:
        """Everything since the base: committed, changed and new files."""
        git = self._worktrees.git(worktree)
        named = ("--", *paths) if paths else ("--",)
        start = merge_base(git, worktree)
        counted = git.run("diff", "--numstat", "-z", *_WHERE, start, *named).decode("utf-8", "replace")
        files = [_counted(entry) for entry in counted.split("\0") if entry]
        text = git.run("diff", *_WHERE, start, *named).decode("utf-8", "replace")
        untracked = self.untracked(git, paths)
        return {
            "branch": worktree.branch,
            "base_branch": worktree.base,
            "base_commit": start,
            "head": head_of(git),
            "files": files[:MOST_FILES],
            "untracked": untracked[:MOST_FILES],
            "diff": text[:LONGEST_DIFF],
            "truncated": len(text) > LONGEST_DIFF or len(files) > MOST_FILES or len(untracked) > MOST_FILES,
        }

    def untracked(self, git: Git, paths: Sequence[str] = ()) -> list[str]:
        named = ("--", *paths) if paths else ()
        text = git.run("ls-files", "--others", "--exclude-standard", "-z", *named).decode("utf-8", "replace")
        return [each for each in text.split("\0") if each and not each.rpartition("/")[2].startswith(".lithos-")]

    def commit(self, call: Call, worktree: Worktree, message: str, task_id: str | None) -> dict[str, Any]:
        """One commit of everything that is not ignored. The branch moves last, and only from where it was."""
        text = signed_message(message, worktree.session_id, task_id)
        if self._busy(worktree.id):
            raise Conflict("a command runs in the worktree", hint="Wait for it: lithos_work_result.")
        with self._worktrees.locks.hold(worktree.id):
            git = self._worktrees.git(worktree)
            change = changed_paths(git)
            before, tree_before = git.run("rev-parse", "HEAD^{commit}", "HEAD^{tree}").decode().split()
            tree = tree_before
            if change.gone or change.present:
                change.stage(git)
                self._storage.faults.at("workshop.commit.added")
                tree = git.run("write-tree").decode().strip()
            if tree == tree_before:
                return {"committed": False, "commit": before, "branch": worktree.branch, "files": 0}
            commit = make_commit(git, tree, [before], text, call.agent)
            self._storage.faults.at("workshop.commit.made")
            move_refs(git, [(worktree.branch, commit, before)])
            self._storage.faults.at("workshop.commit.moved")
            answer = {
                "committed": True,
                "commit": commit,
                "branch": worktree.branch,
                "files": len(change.gone) + len(change.present),
            }
            self._storage.effects.commit(call, lambda tx: _recorded(tx, worktree, answer))
        return answer


@dataclass(slots=True)
class ChangedPaths:
    """All that differs from the last commit and is not ignored."""

    gone: list[bytes] = field(default_factory=list)
    present: list[bytes] = field(default_factory=list)

    def stage(self, git: Git) -> None:
        """Not by `git add --all`: it starts a git inside of a repository that the index names."""
        for paths, options in ((self.gone, ("--force-remove",)), (self.present, ("--add", "--remove", "--replace"))):
            if paths:
                stdin = b"".join(each + b"\0" for each in paths)
                git.run("update-index", *options, "-z", "--stdin", stdin=stdin, timeout=COMMIT_S)


def changed_paths(git: Git) -> ChangedPaths:
    """Conflict where one is a repository: a commit would store a link to it, without its files."""
    status = git.run("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", timeout=COMMIT_S)
    found, nested = ChangedPaths(), []
    for entry in filter(None, status.split(b"\0")):
        kind, _, rest = entry.partition(b" ")
        *facts, path = [rest] if kind == b"?" else rest.split(b" ", 7 if kind == b"1" else 9)
        if path.endswith(b"/") or _LINK_MODE in facts:
            nested.append(path)
        elif facts and facts[4 if kind == b"1" else 5] == _NO_MODE:
            found.gone.append(path)
        elif not path.rpartition(b"/")[2].startswith(b".lithos-"):
            found.present.append(path)
    if nested:
        shown = [each.decode("utf-8", "replace") for each in nested]
        raise Conflict(
            f"{shown[0][:200]} is a repository inside the worktree",
            hint="Delete its .git, or add the folder to .gitignore.",
            paths=shown[:20],
        )
    return found


def _recorded(tx: Tx, worktree: Worktree, answer: dict[str, Any]) -> Outcome:
    rows.touch(tx, worktree.id)
    details = {"session_id": worktree.session_id, "commit": answer["commit"], "branch": worktree.branch}
    return Outcome(answer, (EventDraft("workshop", "commit", worktree.id, details=details),))


def merge_base(git: Git, worktree: Worktree) -> str:
    """Where the branch left its base; the recorded place if that branch is gone."""
    try:
        found = git.run("merge-base", f"refs/heads/{worktree.base}", f"refs/heads/{worktree.branch}").decode().strip()
    except LithosError:
        return worktree.base_commit
    return found or worktree.base_commit


def head_of(git: Git) -> str:
    return git.run("rev-parse", "--verify", "HEAD^{commit}").decode().strip()


def make_commit(git: Git, tree: str, parents: Sequence[str], message: str, agent: str | None) -> str:
    """A commit object; no branch moves. Agents have no address: the domain is one that never exists."""
    name = re.sub(r"[<>\n\r\0]", "", agent or "lithos").strip() or "lithos"
    address = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "agent"
    identity = {"user.name": name, "user.email": f"{address}@lithos.invalid", "i18n.commitEncoding": "UTF-8"}
    named = [part for each in parents for part in ("-p", each)]
    made = git.run("commit-tree", tree, *named, "-F", "-", stdin=message.encode(), settings=identity)
    return made.decode().strip()


def move_refs(git: Git, moves: Sequence[tuple[str, str, str | None]]) -> None:
    """(branch, new commit, commit that it must be at; None: it must not exist): all of them or none."""
    lines = ["start"]
    for branch, new, old in moves:
        verb = f"update refs/heads/{branch} {new} {old}" if old else f"create refs/heads/{branch} {new}"
        lines.append(verb)
    lines += ["prepare", "commit", ""]
    git.run("update-ref", "--stdin", stdin="\n".join(lines).encode())


def signed_message(message: str, session_id: str, task_id: str | None) -> str:
    """The message with our trailers; those that a caller wrote are taken out first."""
    text = _OURS.sub("", plain_text(message, "message", LONGEST_MESSAGE)).strip()
    if not text:
        raise InvalidInput("message is empty", hint="Say what the commit does, in the imperative.")
    trailers = [f"Lithos-Session: {session_id}"] + ([f"Lithos-Task: {task_id}"] if task_id else [])
    last = text.rpartition("\n\n")[2].splitlines()
    joins = "\n\n" in text and all(_TRAILER.match(line) for line in last)
    return text + ("\n" if joins else "\n\n") + "\n".join(trailers) + "\n"


def _counted(entry: str) -> dict[str, Any]:
    added, removed, path = entry.split("\t", 2)
    if added == "-":
        return {"path": path, "binary": True}
    return {"path": path, "added": int(added), "removed": int(removed)}
