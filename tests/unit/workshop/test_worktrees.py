"""Worktrees: a checkout and branch per session; what is refused is refused by name and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Damaged, Forbidden, InvalidInput, LithosError, NotFound, Unsupported
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.workbench import Workbench, change, git, make_project


def test_a_session_gets_a_branch_from_its_base_and_its_context_names_it(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        assert opened["branch"] == f"lithos/{bench.session}-fix-the-parser"
        assert opened["base_branch"] == "main"
        assert (Path(opened["path"]) / "a.py").read_text() == "one\ntwo\nthree\n"
        shown = bench.call("lithos_session_get")
        assert shown["branch_name"] == opened["branch"]
        assert shown["worktree"] == opened["path"]
        assert bench.open()["worktree_id"] == opened["worktree_id"]
        assert git(bench.project, "branch", "--show-current") == "main"


def test_the_base_of_one_project_is_not_asked_of_another(tmp_path: Path) -> None:
    other = make_project(tmp_path / "other")
    git(other, "branch", "--move", "main", "trunk")
    projects = {"project": str(make_project(tmp_path / "project")), "other": str(other)}
    with Workbench(tmp_path, projects=projects) as bench:
        assert bench.open(project="project")["base_branch"] == "main"
        with pytest.raises(NotFound, match="no worktree of the project 'other'"):
            bench.call("lithos_work_read", path="a.py", project="other")
        assert bench.open(project="other")["base_branch"] == "trunk"
        wished = bench.begin("wishes", base_branch="nowhere")
        with pytest.raises(NotFound, match="no branch 'nowhere'"):
            bench.open(project="other", session_id=wished)


def test_only_members_of_the_session_reach_its_worktree(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        for name, arguments in (
            ("lithos_worktree_list", {"session_id": bench.session}),
            ("lithos_worktree_close", {"worktree_id": opened["worktree_id"]}),
            ("lithos_work_read", {"session_id": bench.session, "path": "a.py"}),
            ("lithos_work_run", {"session_id": bench.session, "argv": ["true"]}),
        ):
            with pytest.raises(Forbidden):
                bench.call(name, by="eve", **arguments)


def test_a_fifo_in_place_of_the_worktrees_is_refused_by_name(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        folder = next(tmp_path.rglob(".lithos")) / "worktrees"
        shutil.rmtree(folder, ignore_errors=True)
        os.mkfifo(folder)
        with pytest.raises(Damaged, match="not a folder"):
            bench.open()
        folder.unlink()
        assert Path(bench.open()["path"]).is_dir()


def _bare(path: Path) -> None:
    git(path, "clone", "--quiet", "--bare", ".", str(path.parent / "bare"))
    shutil.rmtree(path)
    (path.parent / "bare").rename(path)


def _shallow(path: Path) -> None:
    change(path, {"a.py": "more\n"})
    git(path.parent, "clone", "--quiet", "--depth", "1", f"file://{path}", str(path.parent / "shallow"))
    shutil.rmtree(path)
    (path.parent / "shallow").rename(path)


def _submodule(path: Path) -> None:
    commit = git(path, "rev-parse", "HEAD")
    git(path, "update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
    git(path, "commit", "--quiet", "-m", "link")


def _linked(path: Path) -> None:
    path.rename(path.parent / "real")
    git(path.parent / "real", "worktree", "add", "--quiet", str(path))


def _empty(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()
    git(path, "init", "--quiet", "-b", "main")


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (_bare, "bare"),
        (_shallow, "shallow"),
        (_submodule, "submodule"),
        (_linked, "linked worktree"),
        (_empty, "no commit"),
        (lambda path: git(path, "config", "core.sparseCheckout", "true"), "sparse"),
        (lambda path: change(path, {"x/.gitattributes": "*.bin filter=lfs diff=lfs\n"}), "LFS"),
        (lambda path: shutil.rmtree(path / ".git"), "no git repository"),
    ],
    ids=["bare", "shallow", "submodule", "linked", "empty", "sparse", "lfs", "plain"],
)
def test_a_repository_that_cannot_be_right_is_refused_by_name(
    tmp_path: Path, spoil: Callable[[Path], object], named: str
) -> None:
    project = make_project(tmp_path / "project")
    spoil(project)
    with Workbench(tmp_path, project=project) as bench:
        with pytest.raises(Unsupported, match=named):
            bench.open()
        assert bench.call("lithos_worktree_list")["worktrees"] == []
        assert not any((tmp_path / "data/.lithos/worktrees").glob("0*"))


def test_a_dirty_checkout_is_left_alone_and_named(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        (bench.project / "a.py").write_text("unsaved\n")
        opened = bench.open()
        assert opened["dirty_project"] is True
        assert (Path(opened["path"]) / "a.py").read_text() == "one\ntwo\nthree\n"
        assert (bench.project / "a.py").read_text() == "unsaved\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"base_branch": "--upload-pack=x"}, InvalidInput),
        ({"base_branch": "a..b"}, InvalidInput),
        ({"base_branch": "mian"}, NotFound),
        ({"project": "other"}, NotFound),
        ({"pipeline": "p", "after": ["unknown"]}, NotFound),
    ],
)
def test_bad_names_are_refused_and_nothing_is_made(
    tmp_path: Path, arguments: dict[str, object], error: type[LithosError]
) -> None:
    with Workbench(tmp_path) as bench:
        with pytest.raises(error) as refused:
            bench.open(**arguments)
        assert refused.value.hint
        assert git(bench.project, "branch", "--format=%(refname:short)") == "main"


def test_a_suspended_session_keeps_its_worktree_and_lets_no_one_work_in_it(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        bench.call("lithos_work_write", path="new.py", content="x\n")
        bench.call("lithos_session_suspend", session_id=bench.session)
        with pytest.raises(Conflict, match="suspended"):
            bench.call("lithos_work_write", session_id=bench.session, path="new.py", content="y\n")
        assert (Path(opened["path"]) / "new.py").read_text() == "x\n"
        bench.call("lithos_session_resume", session_id=bench.session)
        assert bench.call("lithos_work_read", path="new.py")["content"] == "x\n"


def test_an_idle_worktree_is_removed_once_it_is_committed_and_made_again(tmp_path: Path) -> None:
    clock = FakeClock()
    with Workbench(tmp_path, clock=clock, idle_minutes=10) as bench:
        opened = bench.open()
        bench.call("lithos_work_write", path="new.py", content="x\n")
        clock.advance(3600)
        bench.lithos.workshop.tidy()
        assert Path(opened["path"]).is_dir()  # not committed: it stays
        bench.call("lithos_work_commit", message="Add new")
        clock.advance(3600)
        bench.lithos.workshop.tidy()
        assert not Path(opened["path"]).exists()
        assert bench.call("lithos_work_read", path="new.py")["content"] == "x\n"


def test_closing_keeps_the_branch_and_refuses_to_lose_work(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        bench.call("lithos_work_write", path="new.py", content="x\n")
        with pytest.raises(Conflict, match="not committed"):
            bench.call("lithos_worktree_close", worktree_id=opened["worktree_id"])
        assert Path(opened["path"]).is_dir()
        bench.call("lithos_work_commit", message="Add new")
        bench.call("lithos_worktree_close", worktree_id=opened["worktree_id"])
        assert not Path(opened["path"]).exists()
        assert git(bench.project, "show", f"{opened['branch']}:new.py") == "x"
        assert len(git(bench.project, "worktree", "list").splitlines()) == 1
        assert not any((tmp_path / "data/.lithos/history").glob("work-*"))


def test_a_worktree_is_closed_by_its_session(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        opened = bench.open()
        second = bench.open(pipeline="second")
        other = bench.begin("Other", by="bob")
        with pytest.raises(NotFound, match="no worktree"):
            bench.call("lithos_worktree_close", by="bob", session_id=other)
        with pytest.raises(NotFound, match=opened["worktree_id"]):  # not of that session
            bench.call("lithos_worktree_close", by="bob", worktree_id=opened["worktree_id"], session_id=other)
        with pytest.raises(Forbidden):
            bench.call("lithos_worktree_close", by="eve", session_id=bench.session)
        for pipeline, worktree in (("second", second), ("", opened)):
            place = {"session_id": bench.session, "pipeline": pipeline}
            assert bench.call("lithos_worktree_close", **place)["worktree_id"] == worktree["worktree_id"]
        assert bench.call("lithos_worktree_list")["worktrees"] == []


def test_a_session_works_from_one_base(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        for pipeline in ("", "second"):
            with pytest.raises(InvalidInput, match="from 'main' already"):
                bench.open(base_branch="no such..branch", pipeline=pipeline)
        assert bench.open(base_branch="main", pipeline="second")["base_branch"] == "main"


def test_every_tool_of_the_workshop_takes_a_session() -> None:
    tools = [each for each in catalogue() if each.toolset == "workshop"]
    assert len(tools) > 12
    assert [each.name for each in tools if "session_id" not in each.input_schema["properties"]] == []


def test_git_isolation_opens_the_worktree_with_the_first_work(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.begin(enable_git_isolation=True)
        with pytest.raises(NotFound):
            bench.call("lithos_work_read", path="a.py")  # reading makes nothing
        bench.call("lithos_work_write", path="new.py", content="x\n")
        assert len(bench.call("lithos_worktree_list")["worktrees"]) == 1


def test_the_number_of_worktrees_is_bounded(tmp_path: Path) -> None:
    with Workbench(tmp_path, most_worktrees=1) as bench:
        bench.open()
        with pytest.raises(Conflict, match="1 worktrees"):
            bench.open(pipeline="second")


def test_hooks_filters_and_config_of_the_repository_run_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    canary = tmp_path / "ran"
    for hook in ("post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        path = project / ".git/hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch {canary}\n")
        path.chmod(0o755)
    change_without_hooks = ["-c", "core.hooksPath=/dev/null"]
    git(project, *change_without_hooks, "config", "core.fsmonitor", f"touch {canary}")
    git(project, *change_without_hooks, "config", "gpg.program", f"touch {canary}")
    git(project, *change_without_hooks, "config", "commit.gpgSign", "true")
    canary.unlink(missing_ok=True)
    with Workbench(tmp_path, project=project) as bench:
        bench.open()
        bench.call("lithos_work_write", path="new.py", content="x\n")
        bench.call("lithos_work_diff")
        bench.call("lithos_work_commit", message="Add new")
        bench.call("lithos_work_merge")
    assert not canary.exists()


def test_commands_and_merges_need_the_setting_and_over_http_the_scope(tmp_path: Path) -> None:
    with Workbench(tmp_path, enabled=False) as bench:
        bench.open()
        for name, arguments in (("lithos_work_run", {"argv": ["true"]}), ("lithos_work_merge", {})):
            with pytest.raises(Forbidden, match="no commands"):
                bench.call(name, **arguments)
    with Workbench(tmp_path) as bench:
        bench.session = bench.call("lithos_session_list")["sessions"][0]["id"]
        http = Caller(agent="ann", workshop=False)
        for name, arguments in (("lithos_work_run", {"argv": ["true"]}), ("lithos_work_merge", {})):
            with pytest.raises(Forbidden, match="scope workshop"):
                bench.call(name, caller=http, session_id=bench.session, **arguments)
        assert bench.call("lithos_work_run", argv=["true"], session_id=bench.session)["exit_code"] == 0


def test_a_project_that_is_gone_does_not_keep_the_memory_from_opening(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        project = bench.project
    shutil.rmtree(project)
    with Workbench(tmp_path, project=project) as bench:
        session = bench.call("lithos_session_list")["sessions"][0]["id"]
        with pytest.raises(NotFound, match="gone"):
            bench.call("lithos_worktree_open", session_id=session, pipeline="x")
