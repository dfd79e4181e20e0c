"""`lithos ledger`, as a person types it; and the single file that checks a bundle without Lithos."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.cli.root import run
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.ledgers import DERIVED

VERIFIER = Path(__file__).parents[2] / "src" / "lithos" / "ledger" / "proofs" / "verify_bundle.py"
Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Typed:
    """`typed("verify", "--all")` → exit code and what was printed."""

    def type_it(*words: str, plain: bool = False) -> tuple[int, str]:
        where = [] if plain else ["--data-dir", str(data_dir)]
        code = run(["ledger", *words, *where])
        return code, capsys.readouterr().out

    return type_it


@pytest.fixture
def filled(config: LithosConfig) -> dict[str, Any]:
    """A chain with a signed thought, closed again; returns the last checkpoint."""
    lithos = open_lithos(config, clock=FakeClock())

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(lithos, name, arguments, Caller())

    call("mentisdb_bootstrap", content="what it is for")
    for number in range(6):
        call("mentisdb_append", thought_type="Decision", content=f"decision {number}", agent_id="astro", importance=1)
    answer = call("mentisdb_append", thought_type="Correction", content="not so", refs=[2], agent_id="astro")
    lithos.close()
    return dict(answer["checkpoint"])


def standalone(*files: Path) -> tuple[int, str]:
    """In a folder without Lithos, with an interpreter that sees no packages at all."""
    words = [str(files[0])] + (["--against", str(files[1])] if len(files) > 1 else [])
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(VERIFIER), *words], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout


def test_verify_says_what_holds_and_what_does_not(typed: Typed, filled: dict[str, Any], data_dir: Path) -> None:
    code, out = typed("verify")
    assert (code, "8 thoughts" in out) == (0, True)
    assert typed("verify", "--all", "--full")[0] == 0
    segment = next((data_dir / ".lithos" / "ledger").glob("*/0*.bin"))
    data = bytearray(segment.read_bytes())
    data[data.find(b"decision 3")] ^= 1
    segment.write_bytes(data)
    code, out = typed("verify", "--json")
    finding = json.loads(out)[0]["findings"][0]
    assert (code, finding["code"], finding["index"]) == (15, "commitment_mismatch", 4)
    assert typed("verify", "nobody")[0] != 0


def test_verify_against_a_kept_checkpoint_finds_a_cut_tail(
    typed: Typed, filled: dict[str, Any], data_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "kept.json").write_text(json.dumps(filled))
    assert typed("verify", "--against", str(tmp_path / "kept.json"))[0] == 0
    chain = next((data_dir / ".lithos" / "ledger").iterdir())
    for path in [chain / name for name in DERIVED]:
        path.unlink()
    for path in (data_dir / ".lithos" / "checkpoints").iterdir():
        path.unlink()
    segment = next(chain.glob("0*.bin"))
    data = segment.read_bytes()
    place = data.rfind(b"Correction")
    start = max(at for at in _frames(data) if at < place)
    segment.write_bytes(data[:start])
    assert typed("verify")[0] == 0, "without a checkpoint nobody can tell"
    code, out = typed("verify", "--against", str(tmp_path / "kept.json"))
    assert code == 20 and "8 thoughts, 7 are there" in out


def _frames(data: bytes) -> list[int]:
    starts, place = [], 8
    while place < len(data):
        starts.append(place)
        place += 4 + int.from_bytes(data[place : place + 4], "big")
    return starts


def test_verify_asks_a_checkpoint_of_the_same_chain_and_misses_chains_that_are_gone(
    typed: Typed, filled: dict[str, Any], config: LithosConfig, data_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "kept.json").write_text(json.dumps(filled))
    lithos = open_lithos(config, clock=FakeClock())
    catalogue().call(lithos, "mentisdb_append", {"thought_type": "Plan", "content": "x", "chain_key": "b"}, Caller())
    gone = lithos.ledger.chain("b").folder
    lithos.close()
    assert typed("verify", "--all", "--against", str(tmp_path / "kept.json"))[0] == 0
    shutil.rmtree(gone)
    assert typed("verify", "--all")[0] == typed("verify", "b")[0] == 10


def test_a_bundle_is_checked_by_the_single_file_without_lithos(
    typed: Typed, filled: dict[str, Any], tmp_path: Path
) -> None:
    bundle, kept = tmp_path / "bundle.jsonl", tmp_path / "kept.json"
    assert typed("export", "--out", str(bundle))[0] == 0
    kept.write_text(json.dumps(filled))
    assert standalone(bundle) == (0, standalone(bundle)[1])
    assert standalone(bundle, kept)[0] == 0 and "8 thoughts" in standalone(bundle, kept)[1]
    assert typed("verify-bundle", str(bundle), plain=True)[0] == 0
    text = bundle.read_text(encoding="utf-8")
    for before, after, complaint in (
        ("decision 2", "decision 9", "thought 3: the content"),
        ('"importance":1,', '"importance":0,', "thought 0: the hash"),
        ('"size":8', '"size":7', "not rightly signed"),
    ):
        wrong = tmp_path / "wrong.jsonl"
        wrong.write_text(text.replace(before, after, 1), encoding="utf-8")
        code, out = standalone(wrong)
        assert code == 1 and complaint in out
    lines = text.splitlines(keepends=True)
    (tmp_path / "short.jsonl").write_text("".join([*lines[:7], *lines[8:]]), encoding="utf-8")
    assert standalone(tmp_path / "short.jsonl")[0] == 1
    assert standalone(tmp_path / "missing")[0] == 2


def test_a_proof_of_one_thought_is_checked_by_the_single_file(
    typed: Typed, filled: dict[str, Any], tmp_path: Path
) -> None:
    proof = tmp_path / "proof.json"
    assert typed("prove", "3", "--out", str(proof))[0] == 0
    code, out = standalone(proof)
    assert code == 0 and "thought 3 of 'lithos'" in out
    value = json.loads(proof.read_text())
    value["inclusion"][0] = value["inclusion"][1]
    proof.write_text(json.dumps(value))
    assert standalone(proof)[0] == 1


def test_keygen_and_sign_make_a_thought_that_is_accepted_and_verified(
    typed: Typed, filled: dict[str, Any], config: LithosConfig, tmp_path: Path
) -> None:
    code, out = typed("keygen", "--out", str(tmp_path / "key"), plain=True)
    public = json.loads(out)
    assert code == 0 and (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert typed("keygen", "--out", str(tmp_path / "key"), plain=True)[0] != 0
    wish = {"agent_id": "astro", "thought_type": "Decision", "content": "signed", "tags": ["x"], "confidence": 0.5}
    (tmp_path / "wish.json").write_text(json.dumps(wish))
    words = ("sign", "--key", str(tmp_path / "key"), "--key-id", "k1", str(tmp_path / "wish.json"))
    signed = json.loads(typed(*words)[1])
    lithos = open_lithos(config, clock=FakeClock())
    catalogue().call(lithos, "mentisdb_add_agent_key", {"agent_id": "astro", "key_id": "k1", **public}, Caller())
    answer = catalogue().call(lithos, "mentisdb_append", signed, Caller())
    assert answer["thought"]["signing_key_id"] == "k1"
    lithos.close()
    assert json.loads(typed("verify", "--full", "--json")[1])[0]["signatures"] == 1
    assert typed("export", "--out", str(tmp_path / "b"))[0] == 0
    assert "1 signatures" in standalone(tmp_path / "b")[1]


def test_forget_convert_and_checkpoint_through_the_command_line(
    typed: Typed, filled: dict[str, Any], tmp_path: Path
) -> None:
    code, out = typed("forget", "2", "--reason", "asked")
    assert code == 0 and "thought 8 says so" in out
    assert typed("convert", "--to", "jsonl")[0] == 0
    assert typed("checkpoint", "--out", str(tmp_path / "cp.json"))[0] == 0
    assert typed("verify", "--full", "--against", str(tmp_path / "cp.json"))[0] == 0
    assert typed("convert", "--to", "jsonl")[0] != 0
    assert typed("convert", "--to", "xml")[0] != 0
    assert typed("export", "--out", str(tmp_path / "b"))[0] == 0
    assert "1 forgotten" in standalone(tmp_path / "b")[1]


def test_a_memory_file_is_brought_in_once_and_our_own_export_round_trips(
    typed: Typed, filled: dict[str, Any], config: LithosConfig, tmp_path: Path
) -> None:
    memory = tmp_path / "MEMORY.md"
    memory.write_text("# Project\n\nA paragraph.\n\n## Decisions\n\n- Use SQLite\n  with WAL\n- Ship weekly\n")
    code, out = typed("import", str(memory), "--chain", "other", "--agent", "me")
    assert code == 0 and "3 of 3" in out
    assert "0 of 3" in typed("import", str(memory), "--chain", "other")[1]
    lithos = open_lithos(config, clock=FakeClock())
    found = catalogue().call(lithos, "mentisdb_search", {"chain_key": "other"}, Caller())["thoughts"]
    text = catalogue().call(lithos, "mentisdb_memory_markdown", {}, Caller())["markdown"]
    lithos.close()
    assert [(one["thought_type"], one["content"]) for one in found] == [
        ("FactLearned", "A paragraph."),
        ("Decision", "Use SQLite\nwith WAL"),
        ("Decision", "Ship weekly"),
    ]
    assert {one["agent_id"] for one in found} == {"me"}
    memory.write_text(text)
    assert typed("import", str(memory), "--chain", "back")[0] == 0
    lithos = open_lithos(config, clock=FakeClock())
    back = catalogue().call(lithos, "mentisdb_search", {"chain_key": "back"}, Caller())["thoughts"]
    lithos.close()
    correction = next(one for one in back if one["thought_type"] == "Correction")
    assert back[correction["refs"][0]]["content"] == "decision 1"
    assert {one["agent_id"] for one in back} >= {"astro", "system"}
