"""A damaged chain (point 3 of issue 15): `mentisdb_head` never says that it is whole, and nothing is appended to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.errors import LithosError
from lithos.ledger import Ledger
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.ledgers import CALL, append, fill, open_ledger, verify

OPERATOR = Caller(operator=True)
THOUGHT = {"thought_type": "Insight", "content": "x", "agent_id": "a"}


def segments(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix in (".bin", ".jsonl") and file.stem.isdigit())


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_flipped_byte_of_the_magic_is_damage(data_dir: Path, place: int, checkpoint: bool) -> None:
    config = LithosConfig(storage=StorageSettings(data_dir=data_dir))
    opened = open_lithos(config)
    ask = catalogue().call
    for _ in range(3):
        ask(opened, "mentisdb_append", THOUGHT)
    if checkpoint:
        ask(opened, "lithos_ledger_checkpoint", {}, OPERATOR)
    opened.close()
    (segment,) = segments(data_dir / ".lithos/ledger")
    assert segment.read_bytes()[:7] == b"LITHOS1"
    flip(segment, place)
    damaged = segment.read_bytes()
    opened = open_lithos(config)
    try:
        assert ask(opened, "mentisdb_head", {})["integrity_ok"] is False
        with pytest.raises(LithosError) as refusal:
            ask(opened, "mentisdb_append", THOUGHT)
        assert refusal.value.code == "damaged"
    finally:
        opened.close()
    assert segment.read_bytes() == damaged


def judged(ledger: Ledger) -> Any:
    try:
        return ledger.head()["integrity_ok"]
    except LithosError as error:
        return error.code


def filled(folder: Path, adapter: str) -> Ledger:
    """Several segments, a forgotten thought, a registry that later thoughts are bound to, a checkpoint."""
    ledger = open_ledger(folder, segment_bytes=1500, default_adapter=adapter)
    fill(ledger, 7)
    ledger.forget(CALL, None, thought_id=None, thought_index=2, reason="asked")
    ledger.chain(None).record_change("upsert", "agent-0", {"display_name": "X"}, "me")
    fill(ledger, 2)
    return ledger


@pytest.mark.parametrize("adapter", ["binary", "jsonl"])
def test_wherever_verify_finds_damage_head_does_not_say_that_all_is_well(tmp_path: Path, adapter: str) -> None:
    folder = tmp_path / "l"
    filled(folder, adapter).close()
    assert verify(folder) == []
    kept = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    judges = [file for file in kept if file.stem.isdigit() or file.name in ("chain.json", "registry.jsonl")]
    judges += [file for file in kept if "checkpoints" in file.parts]
    tried = 0
    for file in judges:
        for place in [*range(8), *range(8, len(kept[file]) - 1, 41)]:
            flip(file, place)
            found = verify(folder)
            ledger = open_ledger(folder, segment_bytes=1500)
            assert found and judged(ledger) is not True, (file.name, place, found)
            ledger.close()
            tried += 1
            for each, data in kept.items():
                each.write_bytes(data)
    assert tried > 100


@pytest.mark.parametrize("adapter", ["binary", "jsonl"])
def test_a_chain_that_was_closed_is_hashed_again_when_it_is_next_asked(tmp_path: Path, adapter: str) -> None:
    """Also while a caller still holds it, so that it is never opened anew."""
    ledger = filled(tmp_path, adapter)
    held = ledger.chain(None)
    assert judged(ledger) is True
    for segment in segments(tmp_path / "ledger"):
        for place in (3, len(segment.read_bytes()) // 2):
            ledger.close_chain(held.key)
            flip(segment, place)
            fresh = open_ledger(tmp_path, segment_bytes=1500)
            assert judged(fresh) is not True
            fresh.close()
            assert judged(ledger) is not True, (segment.name, place)
            flip(segment, place)
            held.problem = None
            held.close()
            assert judged(ledger) is True
    ledger.close()


def test_the_lost_end_of_a_registry_is_damage_and_is_not_cut_away(tmp_path: Path) -> None:
    filled(tmp_path, "binary").close()
    (file,) = (tmp_path / "ledger").rglob("registry.jsonl")
    whole = file.read_bytes()
    flip(file, len(whole) - 1)
    damaged = file.read_bytes()
    ledger = open_ledger(tmp_path)
    assert judged(ledger) is False
    with pytest.raises(LithosError):
        append(ledger, thought_type="Insight", content="x", agent_id="a")
    ledger.close()
    assert file.read_bytes() == damaged
    file.write_bytes(whole)
    ledger = open_ledger(tmp_path)
    assert judged(ledger) is True
    ledger.close()


def test_a_folder_in_place_of_the_checkpoints_is_a_finding_and_stops_no_close(tmp_path: Path) -> None:
    ledger = filled(tmp_path, "binary")
    ledger.checkpoint_all()
    (file,) = (tmp_path / "checkpoints").glob("*.jsonl")
    file.unlink()
    file.mkdir()
    append(ledger, thought_type="Insight", content="x", agent_id="a")
    ledger.close()
    assert verify(tmp_path) == ["checkpoint_damaged"]


def test_a_link_in_place_of_a_segment_is_a_finding(tmp_path: Path) -> None:
    filled(tmp_path, "binary").close()
    segment = segments(tmp_path / "ledger")[0]
    segment.unlink()
    segment.symlink_to(tmp_path / "nothing")
    assert verify(tmp_path) == ["malformed"]
