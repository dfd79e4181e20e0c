"""`lithos doctor`: green on a sound memory, red on each planted fault, and repairs what is derived alone."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.support.damage import a_segment_gone, fill, half_malformed
from tests.support.served import lithos


def examined(data_dir: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    ended = lithos(data_dir, "doctor", "--json", *flags)
    return ended.returncode, json.loads(ended.stdout)


def errors(answer: dict[str, Any]) -> set[str]:
    return {each["part"] for each in answer["findings"] if each["severity"] == "error"}


def test_a_sound_memory_is_green_and_every_part_was_looked_at(data_dir: Path) -> None:
    fill(data_dir, 3)
    code, answer = examined(data_dir, "--full")
    assert (code, errors(answer)) == (0, set())
    looked_at = {each["part"] for each in answer["findings"]}
    assert looked_at >= {"versions", "permissions", "space", "lock", "parts", "coordination", "events", "ledger"}
    assert looked_at >= {"search", "clock", "write"}


def test_a_cut_chain_is_named_and_not_repaired(data_dir: Path) -> None:
    thought = {"thought_type": "Insight", "content": "c", "agent_id": "ann"}
    with closing(open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))) as opened:
        for _ in range(3):
            catalogue().call(opened, "mentisdb_append", thought)
    for segment in (data_dir / ".lithos" / "ledger").glob("*/0*.*"):
        segment.write_bytes(segment.read_bytes()[:100])
        before = segment.read_bytes()
    code, answer = examined(data_dir, "--repair")
    assert code == 1 and "ledger" in errors(answer)
    assert segment.read_bytes() == before
    assert all(each["todo"] for each in answer["findings"] if each["severity"] == "error")


def test_a_folder_open_to_others_is_named(data_dir: Path) -> None:
    fill(data_dir, 1)
    (data_dir / ".lithos").chmod(0o755)
    code, answer = examined(data_dir)
    assert code == 1 and "permissions" in errors(answer)


def test_a_folder_of_notes_that_is_gone_is_named(data_dir: Path) -> None:
    fill(data_dir, 1)
    shutil.rmtree(data_dir / "knowledge")
    code, answer = examined(data_dir)
    assert code == 1 and errors(answer) == {"notes"}


@pytest.mark.parametrize("damage", [a_segment_gone, half_malformed], ids=lambda damage: damage.__name__)
def test_repair_leaves_derived_state_whole(data_dir: Path, damage: Any) -> None:
    fill(data_dir, 12)
    damage(data_dir)
    examined(data_dir, "--repair")
    code, answer = examined(data_dir, "--full")
    assert (code, errors(answer)) == (0, set())
