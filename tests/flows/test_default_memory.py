"""One default memory, recognised by its id; only verbs that write make one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from lithos.cli.root import run
from tests.support.shell import mark_memory

NOT_FOUND = 3


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


READING = [
    ["stats"],
    ["search", "x"],
    ["note", "show", "a.md"],
    ["log"],
    ["brief"],
    ["task", "list"],
    ["events", "list"],
    ["token", "list"],
    ["validate"],
    ["reindex"],
    ["decay", "--dry-run"],
    ["board", "--once"],
    ["code", "list"],
    ["call", "lithos_stats"],
]


@pytest.mark.parametrize("verb", READING, ids=" ".join)
def test_a_reading_verb_says_that_there_is_no_memory_and_makes_nothing(
    home: Path, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--data-dir", str(home / "typo")]):
        assert run([*verb, *more]) == NOT_FOUND
        told = "".join(capsys.readouterr())
        assert f"there is no memory in {home / ('typo' if more else 'lithos')}" in told
    assert [*home.iterdir()] == [] and [*Path.cwd().iterdir()] == []


def test_doctor_ps_and_stop_make_nothing_either(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert any("there is no memory" in each["message"] for each in findings)
    assert run(["doctor", "--data-dir", str(home / "typo")]) == 1
    assert run(["ps"]) == run(["stop"]) == 0
    assert [*home.iterdir()] == []


def test_a_memory_in_the_folder_one_is_in_is_offered_and_not_used(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark_memory(Path("data").absolute())
    assert run(["stats"]) == NOT_FOUND
    told = capsys.readouterr().err
    assert f"LITHOS_DATA_DIR={Path('data').absolute()}" in told
    assert run(["note", "write", "--title", "A", "--content", "b"]) == 0
    assert "is a memory of yours" in capsys.readouterr().err
    assert (home / "lithos/knowledge/a.md").is_file()
    assert run(["stats"]) == 0
    assert capsys.readouterr().err == ""


def test_a_folder_that_only_looks_like_a_memory_is_not_offered(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a cloned repository may contain one: the id is a link, or another user's."""
    mark_memory(Path("data").absolute())
    real = Path("data/.lithos/store-id").rename("elsewhere")
    os.symlink(real.absolute(), "data/.lithos/store-id")
    assert run(["stats"]) == NOT_FOUND
    assert "LITHOS_DATA_DIR" not in capsys.readouterr().err
    shutil.rmtree("data")
    if os.getuid() == 0:
        mark_memory(Path("data").absolute())
        os.chown("data/.lithos/store-id", 12345, 12345)
        assert run(["stats"]) == NOT_FOUND
        assert "LITHOS_DATA_DIR" not in capsys.readouterr().err


def test_a_vault_that_does_not_exist_is_refused_and_not_made(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LITHOS_KNOWLEDGE_DIR", str(home / "typo"))
    assert run(["note", "write", "--title", "A", "--content", "b"]) != 0
    assert f"there is no folder {home / 'typo'}" in capsys.readouterr().err
    assert not (home / "typo").exists()
