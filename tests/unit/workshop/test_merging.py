"""Commits and merges: nothing half-merged, no branch of a person moved, conflicts reported with both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.errors import Conflict, InvalidInput, Unsupported
from lithos.workshop import merging
from tests.support.workbench import Workbench, change, git, make_project


def test_a_commit_carries_the_session_and_the_task(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        bench.call("lithos_session_context_update", changes={"current_task": "task-1"})
        bench.call("lithos_work_write", path="new.py", content="x\n")
        forged = "Add new\n\nCo-authored-by: bob <b@c>\nLithos-Session: forged"
        made = bench.call("lithos_work_commit", message=forged)
        assert made["committed"] and made["files"] == 1
        text = git(bench.project, "log", "-1", "--format=%an%n%B", opened["branch"])
        assert text.splitlines() == [
            "ann",
            "Add new",
            "",
            "Co-authored-by: bob <b@c>",
            f"Lithos-Session: {bench.session}",
            "Lithos-Task: task-1",
        ]
        assert bench.call("lithos_work_commit", message="again")["committed"] is False
        with pytest.raises(InvalidInput):
            bench.call("lithos_work_commit", message="  ")
        diff = bench.call("lithos_work_diff")
        assert diff["files"] == [{"path": "new.py", "added": 1, "removed": 0}] and "+x" in diff["diff"]


def test_a_repository_inside_the_worktree_is_not_committed_as_a_link(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        bench.run("git", "init", "--quiet", "inner")
        bench.run("sh", "-c", "touch inner/file")
        with pytest.raises(Conflict, match="inner"):
            bench.call("lithos_work_commit", message="Add inner")


EVIL_REPOSITORY = """
rm a.py; mkdir a.py; cd a.py; git init -q .; echo x > f; echo '* filter=evil' > .gitattributes; git add .
git -c user.name=e -c user.email=e@e commit -qm e
git config filter.evil.clean 'touch {canary}; cat'; touch -d '1 hour ago' f; echo y > f
"""


def test_a_repository_in_place_of_a_file_is_not_committed_and_its_programs_never_run(tmp_path: Path) -> None:
    """git looks into it by a second git, outside of the sandbox, with the settings that the run has written."""
    canary = tmp_path / "ran"
    with Workbench(tmp_path) as bench:
        bench.open()
        assert bench.run("sh", "-ec", EVIL_REPOSITORY.format(canary=canary))["exit_code"] == 0
        calls = ("lithos_work_diff", "lithos_work_check", "lithos_work_test", "lithos_worktree_list")
        for staged in (False, True):
            for tool in calls:
                bench.call(tool)
            with pytest.raises(Conflict, match=r"a\.py is a repository"):
                bench.call("lithos_work_commit", message="Replace a.py")
            if not staged:  # as an earlier version would have left it
                git(bench.worktree().path, "add", "a.py")
                canary.unlink(missing_ok=True)
        assert not canary.exists()


def test_a_commit_takes_every_kind_of_change(tmp_path: Path) -> None:
    """Files that became folders and back, links, modes, odd names, and nothing that is ignored."""
    files = {"file": "1\n", "folder/one": "1\n", "gone": "1\n", "mode": "1\n", "-q": "1\n", ".gitignore": "*.log\n"}
    project = make_project(tmp_path / "project", files)
    with Workbench(tmp_path, project=project) as bench:
        bench.open()
        top = bench.worktree().path
        (top / "file").unlink()
        (top / "file").mkdir()
        (top / "file/inside").write_text("2\n")
        (top / "folder/one").unlink()
        (top / "folder").rmdir()
        (top / "folder").symlink_to("mode")
        (top / "gone").unlink()
        (top / "mode").chmod(0o755)
        (top / "-q").write_text("2\n")
        (top / "new\nline \udcff").touch()
        (top / "a.log").touch()
        done = bench.call("lithos_work_commit", message="Change much")
        assert done["files"] == 8
        changed = git(
            project, "-c", "core.quotePath=true", "show", "--raw", "--no-renames", "--format=", done["commit"]
        )
        assert sorted(line.split("\t")[1] + line.split(" ")[1] for line in changed.splitlines()) == [
            '"new\\nline \\377"100644',
            "-q100644",
            "file/inside100644",
            "file000000",
            "folder/one000000",
            "folder120000",
            "gone000000",
            "mode100755",
        ]
        assert git(top, "status", "--porcelain") == ""
        assert bench.call("lithos_work_commit", message="Again")["committed"] is False


def test_a_merge_leaves_a_commit_beside_the_base_and_names_the_command(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        assert bench.call("lithos_work_merge")["reason"] == "nothing_to_merge"
        bench.call("lithos_work_write", path="new.py", content="x\n")
        with pytest.raises(Conflict, match="not committed"):
            bench.call("lithos_work_merge")
        bench.call("lithos_work_commit", message="Add new")
        change(bench.project, {"person.py": "p\n"})
        before = git(bench.project, "rev-parse", "main")
        assert bench.call("lithos_work_merge", dry_run=True)["clean"] is True
        assert git(bench.project, "branch", "--list", "*-merged") == ""
        merged = bench.call("lithos_work_merge")
        assert merged["merged"] and merged["branch"] == f"lithos/{bench.session}-merged"
        assert merged["base_updated"] is False
        assert git(bench.project, "rev-parse", "main") == before
        assert git(bench.project, "status", "--porcelain") == ""
        git(bench.project, *merged["command"][1:])
        assert (bench.project / "new.py").read_text() == "x\n" and (bench.project / "person.py").exists()
        assert bench.call("lithos_work_merge")["reason"] == "nothing_to_merge"


def test_auto_moves_a_base_forward_only_where_it_is_checked_out_nowhere(tmp_path: Path) -> None:
    with Workbench(tmp_path, merge="auto") as bench:
        git(bench.project, "branch", "develop")
        bench.open(base_branch="develop")
        bench.call("lithos_work_write", path="new.py", content="x\n")
        bench.call("lithos_work_commit", message="Add new")
        merged = bench.call("lithos_work_merge")
        assert merged["base_updated"] is True and "command" not in merged
        assert git(bench.project, "rev-parse", "develop") == merged["commit"]
        git(bench.project, "switch", "--quiet", "develop")
        bench.call("lithos_work_write", path="new2.py", content="x\n")
        bench.call("lithos_work_commit", message="Add new2")
        again = bench.call("lithos_work_merge")
        assert again["base_updated"] is False and again["command"][-2:] == ["--ff-only", again["branch"]]
        assert git(bench.project, "rev-parse", "develop") == merged["commit"]


def test_two_sessions_change_one_line_and_both_sides_stay(tmp_path: Path) -> None:
    with Workbench(tmp_path, merge="auto") as bench:
        git(bench.project, "switch", "--quiet", "-c", "elsewhere")
        sessions = {
            "ann": bench.begin("First", base_branch="main"),
            "bob": bench.begin("Second", by="bob", base_branch="main"),
        }
        for agent, session in sessions.items():
            bench.call("lithos_worktree_open", by=agent, session_id=session)
            bench.call(
                "lithos_work_edit", by=agent, session_id=session, path="a.py", old_content="two", new_content=agent
            )
            bench.call("lithos_work_commit", by=agent, session_id=session, message=f"Change by {agent}")
        assert bench.call("lithos_work_merge", session_id=sessions["ann"])["base_updated"] is True
        base = git(bench.project, "rev-parse", "main")
        report = bench.call("lithos_work_merge", by="bob", session_id=sessions["bob"])
        assert report["merged"] is False and report["reason"] == "conflict"
        (conflict,) = report["conflicts"]
        assert (conflict["path"], conflict["ours"], conflict["theirs"]) == (
            "a.py",
            "one\nann\nthree\n",
            "one\nbob\nthree\n",
        )
        task = bench.call("lithos_task_status", task_id=report["task_id"])["tasks"][0]
        assert "conflict" in task["title"]
        assert bench.call("lithos_work_merge", by="bob", session_id=sessions["bob"])["task_id"] == report["task_id"]
        assert git(bench.project, "rev-parse", "main") == base
        branches = git(
            bench.project, "for-each-ref", "--format=%(refname:short)", f"refs/heads/lithos/{sessions['bob']}-second"
        )
        assert git(bench.project, "show", f"{branches}:a.py") == "one\nbob\nthree"


def test_pipelines_are_merged_in_the_order_of_their_dag(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        for name, after in (("parser", []), ("lexer", []), ("join", ["parser", "lexer"])):
            bench.call("lithos_worktree_open", pipeline=name, after=after)
            bench.call("lithos_work_write", pipeline=name, path=f"{name}.py", content=f"{name}\n")
            bench.call("lithos_work_commit", pipeline=name, message=f"Add {name}")
        merged = bench.call("lithos_work_merge")
        assert merged["merged"] is True
        subjects = git(bench.project, "log", "--first-parent", "--format=%s", opened["branch"]).splitlines()
        prefix = f"lithos/{bench.session}-"
        assert [each.split()[1].removeprefix(prefix) for each in subjects[:3]] == ["join", "lexer", "parser"]
        assert {each.name for each in Path(opened["path"]).glob("*.py")} == {"a.py", "parser.py", "lexer.py", "join.py"}
        assert bench.lithos.workshop.worktrees.uncommitted(bench.worktree()) == []


def test_a_conflict_between_pipelines_moves_nothing(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        for name in ("first", "second"):
            bench.call("lithos_worktree_open", pipeline=name)
            bench.call("lithos_work_edit", pipeline=name, path="a.py", old_content="two", new_content=name)
            bench.call("lithos_work_commit", pipeline=name, message=f"Change {name}")
        before = git(bench.project, "for-each-ref")
        report = bench.call("lithos_work_merge")
        assert report["reason"] == "conflict" and report["into"] == opened["branch"]
        assert git(bench.project, "for-each-ref") == before


def test_a_base_that_moves_meanwhile_is_tried_once_more_then_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workbench(tmp_path, merge="auto") as bench:
        git(bench.project, "switch", "--quiet", "-c", "elsewhere")
        bench.open(base_branch="main")
        bench.call("lithos_work_write", path="new.py", content="x\n")
        bench.call("lithos_work_commit", message="Add new")
        real, moves = merging.move_refs, []

        def moving(repository: object, wanted: object) -> None:
            if len(moves) < left:
                tree = git(bench.project, "rev-parse", "main^{tree}")
                moves.append(git(bench.project, "commit-tree", tree, "-p", "main", "-m", f"person {len(moves)}"))
                git(bench.project, "update-ref", "refs/heads/main", moves[-1])
            real(repository, wanted)  # type: ignore[arg-type]

        monkeypatch.setattr(merging, "move_refs", moving)
        left = 2
        with pytest.raises(Conflict, match="main moved"):
            bench.call("lithos_work_merge")
        assert git(bench.project, "rev-parse", "main") == moves[-1]
        left = 3
        merged = bench.call("lithos_work_merge")
        assert merged["base_updated"] and git(bench.project, "rev-parse", "main~1") == moves[-1]
        assert bench.worktree().path.is_dir()


def test_branches_that_are_checked_out_and_merge_drivers_are_refused(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        bench.call("lithos_work_write", path="new.py", content="x\n")
        bench.call("lithos_work_commit", message="Add new")
        merged = bench.call("lithos_work_merge")
        git(bench.project, "switch", "--quiet", merged["branch"])
        bench.call("lithos_work_write", path="new2.py", content="x\n")
        bench.call("lithos_work_commit", message="Add new2")
        with pytest.raises(Conflict, match="checked out"):
            bench.call("lithos_work_merge")
        git(bench.project, "config", "merge.ours.driver", "true")
        with pytest.raises(Unsupported, match=r"merge\.ours\.driver"):
            bench.call("lithos_work_merge")
