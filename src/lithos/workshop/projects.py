"""Projects: the repositories that sessions may work on, and those that are refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lithos.core.text import nearest
from lithos.errors import Conflict, InvalidInput, NotFound, Unsupported
from lithos.graph.git import Git

LONGEST_BRANCH = 200
_SUBMODULE = re.compile(rb"(?:^|\0)160000 commit [0-9a-f]+\t([^\0]*)")
_ATTRIBUTES = re.compile(rb"(?:^|\0)100\d+ blob ([0-9a-f]+)\t(?:[^\0]*/)?\.gitattributes(?=\0|$)")
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_FILTER = re.compile(rb"\sfilter=([^\s]+)")


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    path: Path

    def git(self) -> Git:
        """The repository; Unsupported, naming why, where worktrees of it could not be right."""
        path = self.path
        if not path.is_dir():
            raise NotFound(f"the folder of the project {self.name!r} is gone", hint="Correct workshop.projects.")
        if not (path / ".git").exists() and (path / "HEAD").is_file() and (path / "objects").is_dir():
            raise self._refused("is a bare repository", "Name a checkout of it.")
        git = Git.find(path)
        if git is None:
            raise self._refused("is no git repository", "Make it one: git init, then a first commit.")
        if (path / ".git").is_file():
            raise self._refused("is a linked worktree", "Name the main checkout in workshop.projects.")
        if (git.git_dir / "shallow").exists():
            raise self._refused("is a shallow clone", "Fetch the rest: git fetch --unshallow.")
        if git.configured().get("core.sparsecheckout", "").lower() == "true":
            raise self._refused("is a sparse checkout", "End it: git sparse-checkout disable.")
        return git

    def check_tree(self, git: Git, commit: str) -> None:
        """Unsupported where the files of this commit are not what git alone would check out."""
        listed = git.run("ls-tree", "-r", "-z", commit)
        if found := _SUBMODULE.search(listed):
            raise self._refused(f"has a submodule ({_shown(found[1])})", "Submodules are not checked out here.")
        for blob in _ATTRIBUTES.finditer(listed):
            for named in _FILTER.finditer(git.run("cat-file", "blob", blob[1].decode())):
                lfs = named[1] == b"lfs"
                what = "uses Git LFS" if lfs else f"uses the filter {_shown(named[1])}"
                raise self._refused(what, "Lithos runs no filter of a repository, so that files would be wrong.")

    def branches(self, git: Git) -> Branches:
        """All local branches with their commits, and which one is checked out: one process."""
        form = "--format=%(HEAD)%(objectname) %(refname:lstrip=2)"
        lines = git.run("for-each-ref", form, "refs/heads/").decode("utf-8", "surrogateescape").splitlines()
        commits, current = {}, None
        for row in lines:
            commit, _, name = row[1:].partition(" ")
            commits[name] = commit
            current = name if row[0] == "*" else current
        if not commits:
            raise self._refused("has no commit yet", "Make a first commit.")
        return Branches(self.name, commits, current)

    def branch_commit(self, git: Git, branch: str) -> str:
        return self.branches(git).commit(branch)

    def is_dirty(self, git: Git) -> bool:
        return bool(git.run("status", "--porcelain", "-z", "--untracked-files=no"))

    def _refused(self, why: str, hint: str) -> Unsupported:
        return Unsupported(f"the project {self.name!r} {why}", hint=hint)


@dataclass(frozen=True, slots=True)
class Branches:
    project: str
    commits: Mapping[str, str]
    current: str | None  # of the project's own checkout

    def commit(self, branch: str) -> str:
        """The commit of a local branch."""
        checked_branch(branch)
        if (found := self.commits.get(branch)) is not None:
            return found
        meant = nearest(branch, [*self.commits])
        some = ", ".join(sorted(self.commits)[:20])
        raise NotFound(
            f"the project {self.project!r} has no branch {branch[:80]!r}",
            hint=f"Did you mean {meant}?" if meant else f"There are: {some}.",
        )

    def checked_out(self) -> str:
        if self.current is None:
            raise Conflict(
                f"the checkout of {self.project!r} is on no branch", hint="Pass base_branch: the branch to begin from."
            )
        return self.current


class Projects:
    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._projects = {name: Project(name, path.expanduser().resolve()) for name, path in paths.items()}

    def __bool__(self) -> bool:
        return bool(self._projects)

    def names(self) -> list[str]:
        return sorted(self._projects)

    def named(self, name: str | None) -> Project:
        if not self._projects:
            raise NotFound(
                "the workshop has no project", hint="The operator adds one to the setting workshop.projects."
            )
        if name is None and len(self._projects) > 1:
            raise InvalidInput("which project?", hint=f"Pass project: {', '.join(self.names())}.")
        found = self._projects.get(name) if name is not None else next(iter(self._projects.values()))
        if found is None:
            raise NotFound(f"there is no project {str(name)[:80]!r}", hint=f"There are: {', '.join(self.names())}.")
        return found


def checked_branch(branch: str) -> str:
    """The name, if git takes it for a branch (its rules of `check-ref-format`)."""
    parts = branch.split("/")
    wrong = (
        not branch
        or len(branch) > LONGEST_BRANCH
        or branch.startswith("-")
        or branch in ("@", "HEAD")
        or _NO_BRANCH.search(branch) is not None
        or any(not each or each.startswith(".") or each.endswith((".lock", ".")) for each in parts)
    )
    if wrong:
        raise InvalidInput(f"{branch[:80]!r} is no name of a branch", hint="Letters, digits, - and / are safe.")
    return branch


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")[:80]
