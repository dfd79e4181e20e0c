"""Git as history: commits are entries, joined to the code of today; rewritten, shallow and missing history."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.errors import InvalidInput, NotFound
from lithos.graph.knowledge.follow_commits import FEW
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, StorageSettings
from tests.conftest import PATIENT
from tests.flows.test_history import Desk
from tests.support.code_repos import git, repository, write

JWT = "def check(token):\n    return decode(token)\n\n\ndef decode(token):\n    return token.split('.')\n"
FIXED = JWT.replace(
    "    return decode(token)\n", "    if not token:\n        raise ValueError('empty')\n    return decode(token)\n"
)
REFRESH = "def refresh(token):\n    return token\n"


@pytest.fixture
def auth(tmp_path: Path) -> Path:
    folder = repository(
        tmp_path / "auth", {"auth/jwt.py": JWT, "auth/old.py": "class Sessions:\n    def drop(self): pass\n"}
    )
    write(folder, {"auth/jwt.py": FIXED})
    git(folder, "commit", "-qam", "Fixed #12 -- Refused empty tokens.\n\nThey bypassed the expiry check.")
    write(folder, {"auth/refresh.py": REFRESH})
    git(folder, "rm", "-q", "auth/old.py")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add refresh tokens, drop sessions")
    return folder


@pytest.fixture
def desk(tmp_path: Path, auth: Path) -> Iterator[Desk]:
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=tmp_path / "data"),
            code=CodeSettings(roots=(CodeRoot(name="auth", path=auth),)),
            search=PATIENT,
        )
    )
    made = Desk(lithos)
    look(made)
    yield made
    lithos.close()


def look(desk: Desk) -> None:
    for root in desk.lithos.code.roots():
        root.index.reconcile()


def titles(answer: dict[str, Any]) -> list[str]:
    return [each.get("title", each["content"]) for each in answer["results"]]


def test_the_history_of_a_function_says_when_why_and_which_was_a_bug(desk: Desk) -> None:
    found = desk("get_history_for_code", symbol_id="check")
    assert titles(found) == ["Fixed #12 -- Refused empty tokens.", "first"]
    assert [each["was_bug"] for each in found["results"]] == [True, False]
    assert (found["results"][0]["issues"], found["results"][0]["edge"], found["bugs"]) == (["12"], "modified", 1)
    assert found["results"][1]["edge"] == "created"
    assert titles(desk("get_history_for_code", symbol_id="decode")) == ["first"]
    assert titles(desk("get_history_for_code", symbol_id="auth/jwt.py")) == [
        "Fixed #12 -- Refused empty tokens.",
        "first",
    ]
    desk("record_failure", approach="skip the check", reason="no expiry", code_references=["check"])
    again = desk("get_history_for_code", symbol_id="check")
    assert (again["total"], again["bugs"]) == (3, 2)


def test_a_commit_is_found_and_leads_to_its_code_also_to_what_is_gone(desk: Desk) -> None:
    commit = next(each for each in desk("search_history", query="refresh tokens")["results"] if each["source"] == "git")
    assert (commit["summary_type"], commit["agent"]) == ("feature", "ann")
    code = desk("get_code_for_history", history_id=commit["id"])["results"]
    assert {(each["id"], each["edge"], each.get("removed", False)) for each in code} == {
        ("auth:auth/refresh.py", "created", False),
        ("auth:auth/refresh.py#refresh", "created", False),
        ("auth:auth/old.py", "deleted", True),
        ("auth:auth/old.py#Sessions", "deleted", True),
        ("auth:auth/old.py#Sessions.drop", "deleted", True),
    }
    assert titles(desk("get_history_for_code", symbol_id="auth:auth/old.py#Sessions"))[0] == commit["title"]
    rows = desk("search_all", query="refresh tokens, drop sessions", domains=["history"])["history"]
    related = next(each["related"]["code"] for each in rows if each["id"] == commit["id"])
    assert [each["title"] for each in related[:2]] == ["refresh", "refresh.py"] and related[2]["removed"]
    fixes = desk("find_failures", query="empty tokens bypassed the expiry check")["results"]
    assert fixes[0]["title"] == "Fixed #12 -- Refused empty tokens." and fixes[0]["resolved"]
    assert desk("search_history", query="refresh tokens", sources=["thoughts"])["results"] == []


def test_new_rewritten_and_uncommitted_changes_converge(desk: Desk, auth: Path) -> None:
    assert len(titles(desk("get_history_for_code", symbol_id="refresh"))) == 1
    write(auth, {"auth/refresh.py": f"# a line before\n{REFRESH}"})
    look(desk)
    assert titles(desk("get_history_for_code", symbol_id="refresh")) == ["Add refresh tokens, drop sessions"]
    write(auth, {"auth/refresh.py": REFRESH.replace("return token", "return token * 2")})
    git(auth, "commit", "-qam", "Double tokens")
    look(desk)
    assert titles(desk("get_history_for_code", symbol_id="refresh"))[0] == "Double tokens"
    git(auth, "commit", "-q", "--amend", "-m", "Double every token")
    assert titles(desk("get_history_for_code", symbol_id="refresh"))[0] == "Double every token"
    assert not any(each == "Double tokens" for each in titles(desk("search_history", query="double tokens")))
    reverted = git(auth, "rev-parse", "HEAD").strip()
    git(auth, "revert", "--no-edit", "HEAD")
    look(desk)
    head = git(auth, "rev-parse", "HEAD").strip()
    edges = desk("get_edges", id=f"commit:auth:{head}")["edges"]
    assert ("supersedes", f"commit:auth:{reverted}") in {(each["edge"], each["other_id"]) for each in edges}


def test_removed_code_is_found_by_name_until_its_removal_is_undone(desk: Desk, auth: Path) -> None:
    for name in ("Sessions", "Sessions.drop", "drop()", "auth/old.py#Sessions", "auth/old.py", "old.py"):
        found = desk("get_history_for_code", symbol_id=name)
        assert found["of"]["removed"] and titles(found) == ["Add refresh tokens, drop sessions"], name
    git(auth, "reset", "-q", "--hard", "HEAD~1")
    look(desk)
    assert "removed" not in desk("get_history_for_code", symbol_id="Sessions")["of"]
    git(auth, "rm", "-q", "auth/old.py")
    look(desk)  # gone from the disk, and no commit removed it
    with pytest.raises(NotFound):
        desk("get_history_for_code", symbol_id="Sessions")
    git(auth, "reset", "-q", "--hard", "HEAD")


def test_a_commit_is_named_by_its_sha_and_an_unknown_entry_is_refused(desk: Desk, auth: Path) -> None:
    sha = git(auth, "rev-parse", "HEAD").strip()
    for given in (sha, sha[:7], f"commit:auth:{sha[:9]}"):
        assert desk("get_code_for_history", history_id=given)["of"]["id"] == f"commit:auth:{sha}"
    for given, error in (("deadbeef", NotFound), ("nothing", NotFound), ("refresh", NotFound)):
        with pytest.raises(error) as refused:
            desk("get_code_for_history", history_id=given)
        assert "entry of history" in refused.value.message and "lithos_search_history" in refused.value.hint
        with pytest.raises(error) as refused:
            desk("get_code_for_academic", academic_id=given)
        assert "lithos_research" in refused.value.hint
    with pytest.raises(InvalidInput):
        desk("get_code_for_history", history_id="auth:auth/jwt.py#check")


def test_a_shallow_clone_has_no_invented_changes_and_deepens(tmp_path: Path, auth: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{auth}", "shallow")
    folder = tmp_path / "shallow"
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=tmp_path / "data2"),
            code=CodeSettings(roots=(CodeRoot(name="auth", path=folder),)),
        )
    )
    desk = Desk(lithos)
    try:
        look(desk)
        assert titles(desk("get_history_for_code", symbol_id="check")) == []
        git(folder, "fetch", "-q", "--unshallow")
        assert titles(desk("get_history_for_code", symbol_id="check")) == [
            "Fixed #12 -- Refused empty tokens.",
            "first",
        ]
    finally:
        lithos.close()


def test_without_git_the_answer_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch, auth: Path) -> None:
    from lithos.graph import git as runner

    monkeypatch.setitem(runner._ENVIRONMENT, "PATH", "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")
    found = desk("get_history_for_code", symbol_id="check")
    assert found["results"] == [] and "git is not installed" in found["degraded_reason"]
    assert "git is not installed" in desk("search_history", query="check")["degraded_reason"]


@pytest.mark.parametrize(
    "lost", [(".tantivy",), (".vectors",), (".catalogue",), (".tantivy", ".vectors", ".catalogue")]
)
def test_commits_are_found_again_after_the_index_was_deleted(tmp_path: Path, auth: Path, lost: list[str]) -> None:
    config = LithosConfig(
        storage=StorageSettings(data_dir=tmp_path / "data"),
        code=CodeSettings(roots=(CodeRoot(name="auth", path=auth),)),
        search=PATIENT,
    )
    for _ in range(2):
        desk = Desk(open_lithos(config))
        look(desk)
        found = desk("search_history", query="refused empty tokens", limit=1)
        desk.lithos.close()
        assert titles(found) == ["Fixed #12 -- Refused empty tokens."]
        for name in lost:
            shutil.rmtree(tmp_path / "data" / name)


def test_a_merge_and_what_it_merged_are_one_piece_that_names_both(desk: Desk, auth: Path) -> None:
    git(auth, "checkout", "-q", "-b", "work")
    git(auth, "commit", "-q", "--allow-empty", "-m", "Widen the zebra crossing\n\nTrucks did not fit on it.")
    git(auth, "checkout", "-q", "-")
    git(auth, "merge", "-q", "--no-ff", "work", "-m", "Widen the zebra crossing (#7)")
    look(desk)
    answer = desk("ask", query="why did we widen the zebra crossing")
    merge, made = (git(auth, "rev-parse", each).strip()[:8] for each in ("HEAD", "work"))
    assert answer["answer"].count("zebra crossing") == 1
    assert "Trucks did not fit" in answer["answer"]
    assert f"{made} also {merge}" in answer["sources"][0]


def test_a_commit_of_what_was_indexed_already_is_followed_where_a_question_cannot_wait(desk: Desk, auth: Path) -> None:
    """More files than a question tracks: the background job does it, and until then the answer is not complete."""
    write(auth, {f"auth/part{number}.py": f"def part{number}():\n    return 1\n" for number in range(FEW + 1)})
    look(desk)
    assert titles(desk("get_history_for_code", symbol_id="part1")) == []
    git(auth, "add", "-A")
    git(auth, "commit", "-qm", "Add parts")  # no file changes: the index has read them
    commits, now = desk.lithos.graph.commits, time.monotonic()
    assert [commits.follow(now), commits.follow(now), commits.follow(now + 600)] == [False, False, True]
    assert titles(desk("get_history_for_code", symbol_id="part1")) == ["Add parts"]


def test_a_worktree_whose_repository_is_gone_is_named_and_stops_no_other_root(tmp_path: Path, auth: Path) -> None:
    git(auth, "worktree", "add", "-q", str(tmp_path / "tree"), "HEAD")
    shop = repository(tmp_path / "shop", {"shop.py": "def sell():\n    return 1\n"})
    roots = (CodeRoot(name="tree", path=tmp_path / "tree"), CodeRoot(name="shop", path=shop))
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=tmp_path / "data3"), code=CodeSettings(roots=roots), search=PATIENT
        )
    )
    desk = Desk(lithos)
    try:
        look(desk)
        assert titles(desk("get_history_for_code", symbol_id="refresh")) == ["Add refresh tokens, drop sessions"]
        (auth / ".git").rename(auth / ".moved")
        found = desk("get_history_for_code", symbol_id="refresh")
        assert "commits of tree are not read" in found["degraded_reason"]
        assert titles(desk("get_history_for_code", symbol_id="sell")) == ["first"]
        (auth / ".moved").rename(auth / ".git")
        assert desk("get_history_for_code", symbol_id="refresh").get("degraded_reason") is None
    finally:
        lithos.close()
