"""The short form of `make torture`, and the proof that its judge bites."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.crash import campaign, judge, report


def test_every_acknowledged_operation_survives_kills_and_is_found(tmp_path: Path) -> None:
    told, kills = campaign(tmp_path / "data", seed=16, kills=6)
    print(report(16, told, kills))
    assert kills == 6 and told.notes
    judge(tmp_path / "data", told)


def test_the_judge_notices_a_lost_write(tmp_path: Path) -> None:
    told, _ = campaign(tmp_path / "data", seed=17, kills=1)
    lost = next(note for note, content in told.notes.items() if content and note not in told.unsure)
    told.notes[lost] = "a text that was never written"
    with pytest.raises(AssertionError):
        judge(tmp_path / "data", told)
