"""Refusals that a later attack found misleading: points 15 and 19 of issue 15."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.app import Lithos
from lithos.cli.root import run as run_command
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse


def test_a_note_that_is_there_is_not_missing_from_the_trash(call: CallTool, refused: Refuse) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")
    refusal = refused("lithos_note_restore", agent="a", note=note["id"])
    assert refusal["code"] == "conflict" and "not deleted" in refusal["message"]


def test_a_hint_names_the_nearest_only_where_there_are_some(call: CallTool, refused: Refuse) -> None:
    assert "nearest" not in refused("lithos_note_diff", id="zzz")["hint"]
    call("lithos_write", agent="a", title="Mountain", content="x")
    near = refused("lithos_note_diff", id="Mountian")
    assert "nearest" in near["hint"] and near["nearest"]


def test_stats_prints_every_answer_of_its_tool(
    lithos: Lithos, call: CallTool, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("lithos_write", agent="a", title="T", content="x")
    lithos.close()
    assert run_command(["stats", "--data-dir", str(data_dir)]) == 0
    assert "documents" in capsys.readouterr().out
