"""`lithos garden`, `lithos history`, `lithos fs`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lithos.cli.root import run

NOTES = "users/ana/notes.md"


def lithos(data_dir: Path, *words: str) -> int:
    return run([*words, "--data-dir", str(data_dir)])


@pytest.fixture
def told(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The id of the event of a line that an agent appended."""
    given = {"path": NOTES, "text": "one", "rationale": "captured theme", "user_id": "ana", "agent": "me"}
    assert lithos(data_dir, "call", "lithos_fs_append", "--json", json.dumps(given)) == 0
    assert lithos(data_dir, "history", NOTES, "--json") == 0
    return str(json.loads(capsys.readouterr().out.partition("\n}\n")[2])["changes"][0]["event_id"])


def test_history_tells_who_when_why_and_what(data_dir: Path, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lithos(data_dir, "history", NOTES) == 0
    shown = capsys.readouterr().out
    assert told in shown and "captured theme" in shown and "    +one" in shown
    assert lithos(data_dir, "history", NOTES, "--no-diff") == 0
    assert "+one" not in capsys.readouterr().out
    assert lithos(data_dir, "history", "users/ana/overview.md") == 3


def test_a_change_is_undone_once(data_dir: Path, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lithos(data_dir, "garden", "undo", told, "--why", "wrong person") == 0
    assert capsys.readouterr().out == f"Undone: {NOTES}\n"
    assert not (data_dir / "garden" / NOTES).exists()
    assert lithos(data_dir, "garden", "undo", told) != 0
    assert lithos(data_dir, "history", NOTES) == 0
    assert "wrong person" in capsys.readouterr().out


def test_a_file_is_moved(data_dir: Path, told: str) -> None:
    assert lithos(data_dir, "fs", "move", NOTES, "users/ana/overview.md") == 0
    assert (data_dir / "garden/users/ana/overview.md").read_text() == "one\n"


def test_check_explains_and_its_exit_code_says_no(
    data_dir: Path, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lithos(data_dir, "garden", "check", NOTES, "--op", "append") == 0
    assert "allowed (notes)" in capsys.readouterr().out
    assert lithos(data_dir, "garden", "check", NOTES, "--op", "delete") == 1
    assert lithos(data_dir, "garden", "check", "users/bob/notes.md", "--user", "ana") == 1
    assert "outside the files of user 'ana'" in capsys.readouterr().out
