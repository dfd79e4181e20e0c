"""Discovery, check and test as an agent uses them: real tools, in the sandbox, on a real repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound
from lithos.settings import LithosConfig, StorageSettings, WorkshopSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support import planted
from tests.support.shell import Shell

Ask = Callable[..., dict[str, Any]]
OLD = "import json\n"
PROGRAMS = ("ruff", "mypy", "pytest", "coverage", "python")


def git(repo: Path, *arguments: str) -> None:
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=repo, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A Python project whose environment is this test's own."""
    kept = {"pyproject.toml": planted.PYTHON["pyproject.toml"], "old.py": OLD, ".gitignore": ".venv\n"}
    repo = planted.plant(tmp_path / "repo", kept)
    venv = repo / ".venv"
    (venv / "bin").mkdir(parents=True)
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", venv)
    for name in PROGRAMS:
        (venv / "bin" / name).symlink_to(Path(sys.prefix) / "bin" / name)
    git(repo, "init", "-qb", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    return repo


@pytest.fixture
def lithos(tmp_path: Path, repo: Path) -> Iterator[Lithos]:
    workshop = WorkshopSettings(enabled=True, projects={"site": repo}, toolchains=(sys.prefix,))
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path / "data"), workshop=workshop))
    yield opened
    opened.close()


@pytest.fixture
def ask(lithos: Lithos) -> Ask:
    def asked(tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = catalogue().call(lithos, tool, {"agent": "ann", **arguments}, Caller())
        while answer.get("pending"):
            answer = catalogue().call(
                lithos, "lithos_work_result", {"run_id": answer["run_id"], "agent": "ann"}, Caller()
            )
        return answer

    return asked


@pytest.fixture
def top(ask: Ask) -> Path:
    """The top of the session's worktree."""
    session = ask("lithos_session_create", name="lint")
    session_id = session.get("session_id") or session["session"]["id"]
    ask("lithos_session_switch", session_id=session_id)
    return Path(ask("lithos_worktree_open")["path"])


def places(issues: list[dict[str, Any]]) -> set[tuple[str, int | None, str]]:
    return {(each["file"], each.get("line"), each["category"]) for each in issues}


def test_planted_faults_are_found_at_their_lines_and_none_after_fixing(ask: Ask, top: Path, lithos: Lithos) -> None:
    planted.plant(top, {name: planted.PYTHON[name] for name in ("app.py", "test_app.py")})
    (top / "old.py").write_text(f"# a comment moves what was there\n{OLD}")
    found = ask("lithos_work_check")
    assert found["passed"] is False and found["confined"] is True and found["compared"] == "base"
    assert {("app.py", 1, "lint"), ("app.py", 10, "type"), ("app.py", 14, "format")} <= places(found["issues"])
    assert places(found["before"]) == {("old.py", 2, "lint")}
    assert lithos.workshop.worktrees.leftovers() == []
    tested = ask("lithos_work_test")
    assert (tested["passed"], tested["tests_run"], tested["tests_passed"]) == (False, 5, 2)
    assert {("test_app.py", 11), ("test_app.py", 17)} <= {
        (each["file"], each.get("line")) for each in tested["failures"]
    }
    assert not any(each.get("flaky") for each in tested["failures"])
    planted.plant(top, planted.PYTHON_FIXED)
    fixed = ask("lithos_work_check")
    assert (fixed["passed"], fixed["issues"]) == (True, [])
    tested = ask("lithos_work_test", coverage=True)
    assert (tested["passed"], tested["tests_run"], tested["failures"]) == (True, 1, [])
    assert tested["uncovered"] == {"app.py": [9], "old.py": [1]}  # no test loads old.py
    assert subprocess.run(["git", "status", "--short"], cwd=top, capture_output=True, text=True).stdout.split() == [
        *("M", "old.py", "??", "app.py", "??", "test_app.py")
    ]


def test_a_check_counts_no_staged_file_of_an_edit(ask: Ask, top: Path) -> None:
    for text in ("a = 1\n", "a = 2\n"):
        ask("lithos_work_write", path="inner/a.py", content=text)
    found = ask("lithos_work_check", categories=["linter"])
    assert (found["files"], found["tools"][0]["files"]) == (1, 1)
    assert [each.name for each in (top / "inner").iterdir()] == ["a.py"]


def test_a_tool_that_is_only_recommended_and_missing_fails_neither_check_nor_tests(ask: Ask, top: Path) -> None:
    planted.plant(top, {"a.py": "A = 1\n", "a.nix": "{ }\n"})
    found = ask("lithos_work_check", categories=["linter"])
    missing = [each["tool"] for each in found["tools"] if each.get("not_installed")]
    assert (found["passed"], found["issues"]) == (True, []) and missing and "ruff" not in missing
    alone = ask("lithos_work_check", categories=["linter"], paths=["a.nix"])
    assert alone["passed"] is False  # nothing looked at it
    planted.plant(top, {"test_a.py": "def test_a():\n    pass\n", "a.zig": "const a = 1;\n"})
    tested = ask("lithos_work_test", scope="all")
    assert [each["tool"] for each in tested["suites"] if each.get("not_installed")] == ["zig test"]
    assert (tested["passed"], tested["tests_run"]) == (True, 1)


@pytest.mark.parametrize("tool", ["lithos_work_check", "lithos_work_test"])
def test_paths_without_a_file_are_refused_rather_than_passed(ask: Ask, top: Path, tool: str) -> None:
    os.mkfifo(top / "pipe")
    (top / ".venv").mkdir(exist_ok=True)  # ignored by git
    for path in ("pipe", ".venv"):
        with pytest.raises(InvalidInput, match="no file to look at"):
            ask(tool, paths=[path])


def test_a_test_that_passes_alone_is_flaky_and_no_failure(ask: Ask, top: Path) -> None:
    text = (
        "from pathlib import Path\n\n\ndef test_sometimes():\n    seen = Path('seen')\n    known = seen.exists()\n"
        "    seen.touch()\n    assert known\n"
    )
    planted.plant(top, {"test_once.py": text, "test_none.py": ""})
    found = ask("lithos_work_test", paths=["test_once.py"])
    assert (found["passed"], found["flaky"], found["failures"][0]["flaky"]) == (True, 1, True)
    empty = ask("lithos_work_test", paths=["test_none.py"])
    assert (empty["passed"], empty["tests_run"]) == (False, 0)
    assert empty["suites"][0]["problem"] == "no test was collected"
    untouched = ask("lithos_work_test", paths=["old.py"])
    assert untouched["passed"] is False and "No test touches" in untouched["note"]


def test_a_link_in_the_place_of_the_coverage_folder_costs_nothing(ask: Ask, top: Path, tmp_path: Path) -> None:
    """A run owns its private home: what it leaves there must not lead the host elsewhere."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/coverage.json").write_text("{}")
    planted.plant(top, {"test_a.py": "def test_a():\n    pass\n"})
    made = ask("lithos_work_run", argv=["sh", "-c", f"ln -s {tmp_path}/kept $HOME/coverage; mkdir $HOME/report"])
    assert made["exit_code"] == 0
    assert ask("lithos_work_test", coverage=True)["passed"] is True
    assert (tmp_path / "kept/coverage.json").read_text() == "{}"


def test_discovery_is_cached_until_a_file_changes(ask: Ask, top: Path) -> None:
    first = ask("lithos_tools_discover", category="linter")
    assert (first["tier"], first["confidence"], first["cached"]) == (1, "high", False)
    assert [(each["name"], each["is_installed"]) for each in first["tools"]] == [("ruff", True)]
    assert ask("lithos_tools_discover", category="type_checker")["cached"] is True
    assert ask("lithos_tools_discover", category="linter", force_refresh=True)["cached"] is False
    (top / ".flake8").write_text("[flake8]\n")
    again = ask("lithos_tools_discover", category="linter")
    assert again["cached"] is False and [each["name"] for each in again["tools"]] == ["flake8", "ruff"]
    entries = ask("lithos_search_history", query="tools of the project", categories=["tool_discovery"])["results"]
    assert len(entries) == 2 and {each["category"] for each in entries} == {"tool_discovery"}
    assert ask("lithos_search_history", query="tools of the project", categories=["insight"])["results"] == []


def test_a_kept_discovery_outlives_the_host(ask: Ask, top: Path, lithos: Lithos) -> None:
    ask("lithos_tools_discover", category="linter")
    cache = lithos.workshop.inspection.discovery.cache
    cache._held.clear()
    assert ask("lithos_tools_discover", category="linter")["cached"] is True
    row = lithos.storage.database.read(lambda tx: tx.one("SELECT count(*) AS n FROM discovered_tools"))
    assert row == {"n": 1}


def test_the_users_choice_is_kept_and_wins(ask: Ask, top: Path) -> None:
    (top / "a.ts").write_text("export const a = 1;\n")
    asked = ask("lithos_tools_discover", category="linter", path="a.ts")
    assert (asked["tier"], asked["requires_user"], asked["tools"]) == (3, True, [])
    assert "lithos_tools_choose" in asked["note"]
    checked = ask("lithos_work_check", paths=["a.ts"], categories=["linter"])
    assert checked["undecided"][0]["recommended"] == "oxlint"
    chosen = ask("lithos_tools_choose", category="linter", language="typescript", tool="biome")
    assert chosen["preference"] == "tools.linter.typescript.site"
    again = ask("lithos_tools_discover", category="linter", path="a.ts")
    assert [(each["name"], each["source"]) for each in again["tools"]] == [("biome", "user_choice")]
    missing = ask("lithos_work_check", paths=["a.ts"], categories=["linter"])
    assert missing["passed"] is False
    assert missing["tools"][0]["not_installed"] is True
    assert missing["tools"][0]["install_cmd"] == ["npm", "install", "--save-dev", "@biomejs/biome"]
    ask("lithos_tools_choose", category="linter", language="typescript", tool="python -c 'print(1)'")
    custom = ask("lithos_work_check", paths=["a.ts"], categories=["linter"])["tools"][0]
    assert (custom["parsed"], custom["exit_code"], custom["tail"]) == (False, 0, "1")


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("lithos_tools_discover", {"category": "linter", "path": "../x"}, "invalid_input", "outside"),
    ("lithos_tools_discover", {"category": "linter", "path": ".git/config"}, "invalid_input", "outside"),
    ("lithos_tools_discover", {"category": "linter", "path": "none"}, "not_found", "no 'none'"),
    ("lithos_tools_discover", {"category": "linter", "languages": ["pithon"]}, "invalid_input", "pithon"),
    (
        "lithos_tools_choose",
        {"category": "linter", "language": "go", "tool": "eslint"},
        "invalid_input",
        "no linter",
    ),
    ("lithos_tools_choose", {"category": "linter", "language": "go", "tool": "a; b"}, "invalid_input", "shell"),
    ("lithos_tools_choose", {"category": "linter", "language": "go", "tool": "a 'b"}, "invalid_input", "command"),
    ("lithos_work_check", {"paths": ["/etc/passwd"]}, "invalid_input", "outside"),
    ("lithos_work_check", {"paths": ["out/x"]}, "invalid_input", "leads outside"),
    ("lithos_work_test", {"paths": ["nothing.py"]}, "not_found", "nothing.py"),
]


def test_bad_input_is_refused(ask: Ask, top: Path) -> None:
    (top / "out").symlink_to("/etc")
    for tool, arguments, code, word in BAD:
        with pytest.raises(LithosError) as refused:
            ask(tool, **arguments)
        assert refused.value.code == code and word in refused.value.message and refused.value.hint


def test_a_known_tool_that_is_not_installed_comes_with_the_command_for_the_person(ask: Ask, top: Path) -> None:
    planted.plant(top, {"pnpm-lock.yaml": ""})
    with pytest.raises(NotFound) as refused:
        ask("lithos_work_run", argv=["biome", "check"])
    assert refused.value.details["reason"] == "not_installed"
    assert refused.value.details["install_cmd"] == ["pnpm", "add", "--save-dev", "@biomejs/biome"]
    assert "pnpm add --save-dev @biomejs/biome" in (refused.value.hint or "")


def test_commands_need_the_setting(lithos: Lithos, ask: Ask, top: Path) -> None:
    lithos.workshop.options = replace(lithos.workshop.options, enabled=False)
    for tool in ("lithos_work_check", "lithos_work_test"):
        with pytest.raises(Forbidden):
            ask(tool)
    assert ask("lithos_tools_discover", category="linter")["tools"]


def test_a_person_asks_the_same_on_the_command_line(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    settings = {"enabled": True, "projects": {"site": str(repo)}, "toolchains": [sys.prefix]}
    (data / "config.yaml").write_text(json.dumps({"workshop": settings}))
    shell = Shell(data, capsys)
    shell("session", "switch", shell("session", "new", "lint"))
    top = Path(shell("work", "open"))
    planted.plant(
        top, {"pyproject.toml": "[tool.ruff]\n", "app.py": "import os\n", "test_a.py": "def test_a(): pass\n"}
    )
    assert "ruff" in shell("work", "discover", "linter")
    assert "option: mypy for python (recommended)" in shell("work", "discover", "type_checker")
    assert shell("work", "choose", "linter", "python", "ruff") == "ruff for python in site"
    found = shell.json("work", "check", "app.py", code=1)
    assert ("app.py", 1, "lint") in places(found["issues"])
    (top / "app.py").write_text("")
    assert shell("work", "check", "app.py").startswith("0 new in 1 files")
    assert shell("work", "test").startswith("1 of 1 passed")
