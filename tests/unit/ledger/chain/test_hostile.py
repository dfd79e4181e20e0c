"""What a hostile or unlucky world does to a ledger: odd keys, odd files, full disks, clocks that run back."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from lithos.core.call import Call
from lithos.errors import Damaged, InvalidInput, NotFound, StorageFull
from lithos.ledger import Ledger, Verification, chain_folders
from lithos.ledger.chain.format import canonical_bytes
from lithos.ledger.proofs.checkpoints import CHECKPOINT
from lithos.ledger.registry.keys import signing_key
from lithos.storage import PlannedFaults
from tests.support.ledgers import CALL, fill, open_ledger, verify
from tests.support.ledgers import append as append_draft

KEYS = ("../../etc", ".new-x", "a/b", "CON", "é", "e\u0301", " atlas", "atlas", "\u202eatlas", "🙂" * 200, "x" * 200)


def say(ledger: Ledger, content: str, call: Call = CALL, **more: Any) -> dict[str, Any]:
    return dict(append_draft(ledger, call, thought_type="Plan", content=content, **more))


def test_every_text_is_a_separate_chain_inside_the_ledgers_folder(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    for key in KEYS:
        say(ledger, f"on {key}", chain_key=key)
    assert ledger.keys() == sorted(KEYS)
    ledger.close()
    again = open_ledger(tmp_path, seed=2)
    for key in KEYS:
        assert again.thought(key, thought_index=0)["thought"]["content"] == f"on {key}"  # type: ignore[index]
    again.close()
    assert {path.parent for path in chain_folders(tmp_path / "ledger")} == {tmp_path / "ledger"}
    assert verify(tmp_path, full=True) == []


@pytest.mark.parametrize("key", ["", "   ", "x" * 201, "a\nb", "a\x00b", "\ud800", "\x7f"])
def test_a_key_that_no_file_or_page_could_hold_is_refused(tmp_path: Path, key: str) -> None:
    ledger = open_ledger(tmp_path)
    with pytest.raises(InvalidInput):
        say(ledger, "no", chain_key=key)
    assert ledger.keys() == []


def test_a_disk_that_is_full_when_a_segment_begins_harms_only_that_append(tmp_path: Path) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults, segment_bytes=100)
    say(ledger, "zero")
    faults.plan("ledger.segment", OSError(errno.ENOSPC, "full"), visit=faults.seen.count("ledger.segment") + 1)
    with pytest.raises(StorageFull):
        say(ledger, "does not fit")
    assert say(ledger, "one")["thought"]["index"] == 1
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_a_checkpoint_that_cannot_be_written_fails_no_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(tmp_path)
    chain = ledger.chain_to_write(None)

    def full(checkpoint: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(chain.checkpoint_file, "append", full)
        patch.setattr("lithos.ledger.chain.chain.CHECKPOINT_EVERY", 1)
        assert say(ledger, "zero")["thought"]["index"] == 0
    assert chain.needs_checkpoint
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_a_clock_that_runs_back_changes_no_order_and_no_proof(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    keyed = Call("mentisdb_append", "a", arguments_hash="h", idempotency_key="k")
    first = say(ledger, "noon", keyed)
    ledger.environment.clock.set_wall("1999-12-31T00:00:00Z")  # type: ignore[attr-defined]
    assert say(ledger, "much earlier")["thought"]["index"] == 1
    assert say(ledger, "noon", keyed) == first
    assert ledger.head(last_checkpoint=first["checkpoint"])["integrity_ok"]
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_files_that_are_no_segments_are_no_segments(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    fill(ledger, 3)
    folder = ledger.chain(None).folder
    ledger.close()
    for name in ("²²²²²²²²²²²².jsonl", "notes.jsonl", "1.bin", "000000000003.txt"):
        (folder / name).write_bytes(b"anything")
    assert verify(tmp_path, full=True) == []
    assert open_ledger(tmp_path, seed=2).head()["integrity_ok"]


def test_a_segment_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, default_adapter="jsonl")
    fill(ledger, 3)
    folder = ledger.chain(None).folder
    ledger.close()
    (folder / "000000000003.jsonl").mkdir()
    assert verify(tmp_path) == ["malformed"]


def test_a_damaged_chain_gets_no_checkpoint_and_no_thought(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, default_adapter="jsonl")
    fill(ledger, 3)
    folder = ledger.chain(None).folder
    ledger.close()
    (folder / "000000000000.jsonl").write_bytes(b"")
    again = open_ledger(tmp_path, seed=2)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(Damaged):
        again.chain(None).write_checkpoint()
    with pytest.raises(Damaged):
        say(again, "no")
    again.close()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_chain_without_its_header_is_damaged_and_never_rebuilt(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    fill(ledger, 3)
    folder = ledger.chain(None).folder
    ledger.close()
    (folder / "chain.json").unlink()
    again = open_ledger(tmp_path, seed=2)
    for reach in (again.chain, again.chain_to_write):
        with pytest.raises(Damaged):
            reach(None)
    assert verify(tmp_path) == ["header_damaged"]


def test_a_chain_of_which_only_checkpoints_are_left_is_missed(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    fill(ledger, 3)
    folder = ledger.chain(None).folder
    ledger.close()
    shutil.rmtree(folder)
    with pytest.raises(NotFound):
        open_ledger(tmp_path, seed=2).chain(None)
    assert chain_folders(tmp_path / "ledger", tmp_path / "checkpoints") == [folder]
    [finding] = Verification(folder, tmp_path / "checkpoints").run().findings
    assert finding.code == "header_damaged"


@pytest.mark.parametrize("odd", [{"registry": []}, {"head_hash": 5}, {"size": 10**30}, {"size": -1}, {"root": None}])
def test_a_checkpoint_of_odd_values_is_refused_although_someone_signed_it(tmp_path: Path, odd: dict[str, Any]) -> None:
    ledger = open_ledger(tmp_path)
    fill(ledger, 2)
    key = signing_key(b"\x09" * 32)
    made = {**ledger.head()["checkpoint"], "public_key": key.public.hex(), **odd}
    del made["signature"]
    made["signature"] = key.sign(CHECKPOINT + canonical_bytes(made)).hex() if odd.get("size") != 10**30 else "00" * 64
    with pytest.raises(InvalidInput):
        ledger.head(last_checkpoint=made)
