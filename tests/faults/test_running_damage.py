"""Every kind of file is damaged while the memory is open: answers stay right, or are refused or shown by an instrument;
what is acknowledged afterwards is there after the next start, or that start says what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lithos.app import Lithos
from tests.faults import running_damage
from tests.faults.data import everything
from tests.faults.running_damage import Running
from tests.support import fork_server

SHARES = 44  # of about 330 cases, half a second of CPU each


def run(share: int, of: int) -> str:
    command = [sys.executable, "-m", "tests.faults.running_damage", "", str(share), str(of)]
    return fork_server.run(command, timeout=3600).stdout


def test_damage_under_a_running_memory_is_never_silent() -> None:
    said = run(5, SHARES)
    assert len(said.splitlines()) >= 5 and "!" not in said, said


@pytest.mark.torture
@pytest.mark.parametrize("share", range(8))
def test_no_damage_of_any_kind_under_a_running_memory_is_silent(share: int) -> None:
    said = run(share, 8)
    assert len(said.splitlines()) >= 30 and "!" not in said, said


@pytest.mark.parametrize("bug", ["a note is lost", "a write is lost"])
def test_a_silent_loss_turns_the_damage_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    everything(tmp_path / "pristine")

    def lose(path: Path) -> None:
        if bug == "a note is lost":
            (tmp_path / "case/data/knowledge/note-1.md").unlink()

    def forget(memory: Lithos) -> list[str]:
        return ["lithos_write", "lithos_task_create", "mentisdb_append", "lithos_fs_append"]  # and writes nothing

    if bug == "a write is lost":
        monkeypatch.setattr(running_damage, "acknowledged", forget)
    derived = Path(".lithos/coordination.db.reserve")
    with pytest.raises(AssertionError, match="silent while running" if "note" in bug else "lost without a word"):
        Running(tmp_path / "pristine", tmp_path / "case", derived, lose).judge()
