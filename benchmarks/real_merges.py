"""Real merges, done twice: by Lithos on objects, and by `git merge` in a checkout.

`python -m benchmarks.real_merges REPO …`

Takes merge commits of the repositories, those that conflict first, and compares the conflicting files (or the merged
tree) of both. Nothing of the repositories is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lithos.errors import Unavailable
from lithos.graph.git import Git
from lithos.workshop.merging import merge_trees

WANTED = 50
_ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
_PLAIN = ("-c", "user.name=m", "-c", "user.email=m@example.invalid", "-c", "core.hooksPath=/dev/null")


def compare(sources: list[Path]) -> int:
    """How many merges were reported otherwise than git does."""
    seen = conflicting = 0
    differing: list[str] = []
    for source in sources:
        with tempfile.TemporaryDirectory(prefix="lithos-merges-") as folder:
            place = Path(folder) / "repo"
            _git(Path(folder), "clone", "--quiet", "--no-hardlinks", str(source), str(place))
            git = Git.find(place)
            assert git is not None
            for commit, ours, theirs in _chosen(place, git, WANTED // len(sources)):
                mine = merge_trees(git, ours, theirs)
                paths, tree = _merged(place, ours, theirs)
                seen += 1
                conflicting += bool(paths)
                if set(mine.conflicts) != paths or (not paths and mine.tree != tree):
                    differing.append(f"{source.name} {commit[:10]}: {sorted(set(mine.conflicts) ^ paths)[:3]}")
    print(f"{seen} merge commits compared, {conflicting} of them conflicting; {len(differing)} reported otherwise")
    for each in differing:
        print(" ", each)
    return len(differing)


def _chosen(place: Path, git: Git, number: int) -> list[tuple[str, str, str]]:
    """Half of them conflicting, where there are so many."""
    listed = _git(place, "log", "--all", "--min-parents=2", "--max-parents=2", "--format=%H %P", "-n", "3000")
    clean: list[tuple[str, str, str]] = []
    conflicting: list[tuple[str, str, str]] = []
    for commit, ours, theirs in (row.split() for row in listed.splitlines()):
        try:
            merged = merge_trees(git, ours, theirs)
        except Unavailable:  # unrelated histories: git refuses them too
            continue
        (conflicting if merged.conflicts else clean).append((commit, ours, theirs))
        if len(conflicting) >= number // 2 and len(clean) >= number - number // 2:
            break
    some = conflicting[: number // 2]
    return some + clean[: number - len(some)]


def _merged(place: Path, ours: str, theirs: str) -> tuple[set[str], str]:
    """What `git merge` leaves in a checkout: unmerged paths, and the tree where there are none."""
    _git(place, "checkout", "--quiet", "--force", "--detach", ours)
    _git(place, "clean", "--quiet", "-fdx")
    command = ["git", *_PLAIN, "merge", "--quiet", "--no-ff", "--no-edit", theirs]
    subprocess.run(command, cwd=place, env=_ENVIRONMENT, capture_output=True, check=False)
    unmerged = {row.split("\t", 1)[1] for row in _git(place, "ls-files", "--unmerged", "-z").split("\0") if row}
    tree = "" if unmerged else _git(place, "rev-parse", "HEAD^{tree}").strip()
    _git(place, "reset", "--quiet", "--hard")
    return unmerged, tree


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *_PLAIN, *arguments], cwd=folder, env=_ENVIRONMENT, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("name the repositories: python -m benchmarks.real_merges REPO REPO")
    raise SystemExit(compare([Path(each) for each in sys.argv[1:]]) > 0)
