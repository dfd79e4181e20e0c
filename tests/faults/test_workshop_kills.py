"""Kill -9 at each fail point of open, commit, merge and close: nothing half-merged, and the same calls finish it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.workbench import Workbench, git, make_project, operator
from tests.support.workshop_kills import POINTS, killed, work


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_leaves_nothing_half_done(tmp_path: Path, point: str) -> None:
    project = make_project(tmp_path / "project")
    git(project, "branch", "base")
    killed(tmp_path, point)
    git(project, "fsck", "--strict")
    base = git(project, "rev-parse", "base")
    with Workbench(tmp_path, merge="auto") as bench:
        workshop = bench.lithos.workshop
        assert workshop.worktrees.leftovers() == []
        assert workshop.worktrees.in_between() == []
        for row in bench.lithos.storage.database.read(lambda tx: workshop.worktrees.rows.in_states(tx, "open")):
            assert row.worktree.path.is_dir()
            if "merge" in point:
                assert workshop.worktrees.uncommitted(row.worktree) == []
        work(bench)
    assert git(project, "fsck", "--strict") is not None
    tree = git(project, "ls-tree", "-r", "--name-only", "base").split()
    assert {"new.py", "newsecond.py"} <= set(tree)
    assert git(project, "merge-base", "--is-ancestor", base, "base") == ""
    assert git(project, "status", "--porcelain") == "" and git(project, "branch", "--show-current") == "main"
    branches = git(project, "for-each-ref", "--format=%(refname:short)", "refs/heads/lithos/").split()
    again = 1 if "close" in point else 0  # a pipeline that was closed is opened on a new branch
    assert len(branches) == 3 + again  # the session's, the pipeline's, the merged one


def test_doctor_finds_and_repairs_leftovers(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        (tmp_path / "data/.lithos/worktrees/stranger").mkdir()
        lost = bench.worktree()
    with Workbench(tmp_path) as bench:
        found = bench.call("lithos_doctor", caller=operator())
        said = [each["message"] for each in found["findings"] if each["part"] == "workshop"]
        assert any("1 folder" in each for each in said), said
        assert lost.path.is_dir()
        repaired = bench.call("lithos_doctor", caller=operator(), repair=True)
        assert any("worktree" in each for each in repaired["repaired"])
        assert not (tmp_path / "data/.lithos/worktrees/stranger").exists() and lost.path.is_dir()
        assert [each for each in repaired["findings"] if each["part"] == "workshop" and each["severity"] != "ok"] == []
