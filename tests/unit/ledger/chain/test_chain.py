"""One chain: durable, ordered, exactly once, and honest about damage."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from lithos.core.call import Call, Delivery
from lithos.errors import Conflict, Damaged, Forbidden, InvalidInput, KeyReused, LedgerFork, SecretRefused, StorageFull
from lithos.ledger import Ledger, Verification
from lithos.ledger.chain import admission
from lithos.ledger.chain.segments import Frames, Lines
from lithos.ledger.proofs import merkle
from lithos.ledger.registry.keys import signing_key
from lithos.ledger.thoughts import sign_arguments
from lithos.storage import Crash, PlannedFaults
from tests.support.ledgers import CALL, fill, independent_check, open_ledger, verify
from tests.support.ledgers import append as append_draft
from tests.support.waiting import until

ADAPTERS = ("jsonl", "binary")


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def one_chain(folder: Path) -> Path:
    return next((folder / "ledger").iterdir())


def last_segment(folder: Path) -> Path:
    return max(path for path in one_chain(folder).iterdir() if path.stem.isdigit())


def append(ledger: Ledger, content: str, call: Call = CALL, **more: Any) -> dict[str, Any]:
    return dict(append_draft(ledger, call, thought_type="FactLearned", content=content, **more))


def test_a_chain_reads_the_same_after_reopening_and_both_verifiers_agree(tmp_path: Path, adapter: Any) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter, segment_bytes=6000)
    fill(ledger, 60)
    before = [ledger.thought(thought_index=index) for index in range(60)]
    ledger.close()
    assert len(list(one_chain(tmp_path).glob("0*"))) > 3
    again = open_ledger(tmp_path, seed=2)
    assert [again.thought(thought_index=index) for index in range(60)] == before
    assert again.chain(None).problem is None
    checkpoint = again.head()["checkpoint"]
    again.close()
    assert verify(tmp_path, full=True) == []
    report = Verification(one_chain(tmp_path), tmp_path / "checkpoints").run()
    assert independent_check(one_chain(tmp_path)) == (report.thoughts, report.root) == (60, checkpoint["root"])


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, segment_bytes=6000)
    fill(ledger, 60)
    ledger.close()
    alone = Verification(one_chain(tmp_path), tmp_path / "checkpoints").run()
    shared = Verification(one_chain(tmp_path), tmp_path / "checkpoints", workers=2).run()
    assert alone == shared and alone.ok


def test_both_adapters_hold_the_same_hashes(tmp_path: Path) -> None:
    roots = []
    for adapter in ADAPTERS:
        ledger = open_ledger(tmp_path / adapter, default_adapter=adapter)
        fill(ledger, 20)
        roots.append(ledger.head()["checkpoint"]["root"])
        ledger.close()
    assert roots[0] == roots[1]


def test_converting_changes_no_hash_and_survives_a_second_conversion(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, default_adapter="jsonl", segment_bytes=4000)
    fill(ledger, 40)
    before = ledger.head()
    assert ledger.convert(None, "binary")["storage_adapter"] == "binary"
    after = ledger.head(last_checkpoint=before["checkpoint"])
    assert (after["head_hash"], after["thought_count"]) == (before["head_hash"], 40)
    assert not list(one_chain(tmp_path).glob("*.jsonl.*")) and list(one_chain(tmp_path).glob("*.bin"))
    ledger.convert(None, "jsonl")
    append(ledger, "after")
    ledger.close()
    assert verify(tmp_path, full=True) == [] and independent_check(one_chain(tmp_path))[0] == 41


def test_appends_of_many_threads_are_all_there_in_order(tmp_path: Path, adapter: Any) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter)
    append(ledger, "first")
    answers: list[dict[str, Any]] = []

    def work(worker: int) -> None:
        for number in range(20):
            answers.append(append(ledger, f"{worker}/{number}", agent_id=f"w{worker}"))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer["thought"]["index"] for answer in answers) == list(range(1, 241))
    stored = [ledger.thought(thought_index=index)["thought"] for index in range(241)]
    for worker in range(12):
        mine = [one["content"] for one in stored if one and one["agent_id"] == f"w{worker}"]
        assert mine == [f"{worker}/{number}" for number in range(20)]
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_appends_that_wait_share_the_next_flush_and_its_checkpoint(tmp_path: Path) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults)
    kept = append(ledger, "first")["checkpoint"]
    chain = ledger.chain(None)
    keyed = Call("mentisdb_append", "a", arguments_hash="h", idempotency_key="k")
    answers: dict[str, dict[str, Any]] = {}

    def work(content: str, call: Call) -> None:
        answers[content] = append(ledger, content, call, last_checkpoint=kept)

    def meanwhile() -> None:
        for number, call in enumerate((CALL, keyed, CALL, CALL)):
            threading.Thread(target=work, args=(str(number), call)).start()
            until(lambda wanted=number + 2: len(chain._pending) == wanted)  # type: ignore[misc]

    faults.plan("ledger.flush", meanwhile, visit=2)
    append(ledger, "second")
    until(lambda: len(answers) == 4)
    assert faults.seen.count("ledger.flush") == 3
    assert {answers[content]["checkpoint"]["size"] for content in "023"} == {6}
    assert answers["0"]["checkpoint"] == answers["3"]["checkpoint"]
    assert answers["1"]["checkpoint"]["size"] == answers["1"]["thought"]["index"] + 1
    assert append(ledger, "1", keyed, last_checkpoint=kept) == answers["1"]
    for answer in answers.values():
        steps = [bytes.fromhex(step) for step in answer["consistency"]["proof"]]
        roots = [bytes.fromhex(one["root"]) for one in (kept, answer["checkpoint"])]
        assert merkle.consistent(1, answer["checkpoint"]["size"], *roots, steps)
        assert ledger.head(last_checkpoint=answer["checkpoint"])["consistency"]["to_size"] == 6


def test_a_chain_that_was_never_closed_is_whole_and_knows_what_it_acknowledged(tmp_path: Path, adapter: Any) -> None:
    """As a killed host leaves it: the derived files end with the last checkpoint, the mark does not."""
    ledger = open_ledger(tmp_path / "a", default_adapter=adapter)
    fill(ledger, 5)
    ledger.chain(None).write_checkpoint()
    fill(ledger, 3)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert verify(tmp_path / "b", full=True) == []
    segment = last_segment(tmp_path / "b")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-3])
    assert verify(tmp_path / "b") == ["malformed"]
    assert not open_ledger(tmp_path / "b", seed=2).head()["integrity_ok"]
    segment.write_bytes(whole)
    again = open_ledger(tmp_path / "b", seed=3)
    assert again.head()["thought_count"] == 8 and again.head()["integrity_ok"]
    again.close()
    assert verify(tmp_path / "b", full=True) == []


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_a_torn_tail_that_was_never_acknowledged_is_cut(tmp_path: Path, adapter: Any, cut: int) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults, default_adapter=adapter)
    fill(ledger, 5)
    faults.plan("ledger.flush", "crash", visit=6)
    with pytest.raises(Crash):
        append(ledger, "never acknowledged")
    path = last_segment(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    assert verify(tmp_path) == ["torn_tail"]
    size = path.stat().st_size
    assert path.stat().st_size == size, "verify never cuts"
    again = open_ledger(tmp_path, seed=2)
    assert again.head()["thought_count"] == 5 and again.head()["integrity_ok"]
    assert append(again, "next")["thought"]["index"] == 5
    again.close()
    assert verify(tmp_path, full=True) == []


def test_a_whole_write_whose_flush_was_lost_is_kept_and_found_by_the_retry(tmp_path: Path, adapter: Any) -> None:
    faults = PlannedFaults({"ledger.written": "crash"})
    ledger = open_ledger(tmp_path, faults=faults, default_adapter=adapter)
    call = Call(tool="mentisdb_append", agent="a", idempotency_key="k", arguments_hash="h")
    with pytest.raises(Crash):
        append(ledger, "once", call)
    again = open_ledger(tmp_path, seed=2)
    answer = append(again, "once", call)
    assert answer["thought"]["index"] == 0 and again.head()["thought_count"] == 1


@pytest.mark.parametrize("cut", [1, 300])
def test_an_acknowledged_thought_is_never_cut_away(tmp_path: Path, adapter: Any, cut: int) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter)
    fill(ledger, 5)
    del ledger  # as a kill would: no checkpoint was written
    path = last_segment(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    size = path.stat().st_size
    again = open_ledger(tmp_path, seed=2)
    head = again.head()
    assert (head["integrity_ok"], head["thought_count"]) == (False, 4)
    assert head["problem"]["index"] == 4
    with pytest.raises(Damaged):
        append(again, "no")
    assert again.thought(thought_index=3)["thought"] is not None
    again.close()
    assert path.stat().st_size == size
    third = open_ledger(tmp_path, seed=3)
    assert not third.head()["integrity_ok"], "the evidence outlives a restart"


def test_a_missing_tail_of_whole_entries_is_damage_too(tmp_path: Path, adapter: Any) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter)
    fill(ledger, 5)
    size = last_segment(tmp_path).stat().st_size
    append(ledger, "the sixth")
    ledger.close()
    os.truncate(last_segment(tmp_path), size)
    again = open_ledger(tmp_path, seed=2)
    assert again.head()["problem"]["finding"] == "tail_missing"
    assert "tail_missing" in verify(tmp_path)


def test_a_full_disk_refuses_the_thought_and_the_next_one_goes_on(tmp_path: Path, adapter: Any) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults, default_adapter=adapter)
    fill(ledger, 3)
    faults.plan("ledger.flush", OSError(errno.ENOSPC, "full"), visit=4)
    with pytest.raises(StorageFull):
        append(ledger, "does not fit")
    assert append(ledger, "fits")["thought"]["index"] == 3
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_derived_files_are_rebuilt_when_they_are_gone(tmp_path: Path, adapter: Any) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter)
    fill(ledger, 30)
    ledger.close()
    before = {path.name: path.read_bytes() for path in one_chain(tmp_path).iterdir()}
    for name in ("rows.bin", "terms.bin", "names.jsonl", "merkle.bin"):
        (one_chain(tmp_path) / name).unlink()
    again = open_ledger(tmp_path, seed=2)
    assert again.head()["integrity_ok"]
    again.close()
    assert {path.name: path.read_bytes() for path in one_chain(tmp_path).iterdir()} == before


def test_damage_before_the_checkpoint_is_found_in_passing(tmp_path: Path, adapter: Any) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter)
    fill(ledger, 30)
    ledger.close()
    path = last_segment(tmp_path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    again = open_ledger(tmp_path, seed=2)
    assert again.chain(None).integrity is None, "opening took it on trust"
    again.verify_some()
    assert again.chain(None).integrity is False
    head = open_ledger(tmp_path, seed=3).head()
    assert head["integrity_ok"] is False and 5 < head["problem"]["index"] < 15
    with pytest.raises(Damaged):
        append(again, "no")
    assert verify(tmp_path) != []


def test_a_head_that_cannot_hash_everything_in_time_says_neither_yes_nor_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(tmp_path)
    fill(ledger, 3)
    assert ledger.head()["verified_through"] == 2
    ledger.close()
    monkeypatch.setattr("lithos.ledger.ledger.HEAD_SECONDS", 0.0)
    again = open_ledger(tmp_path, seed=2)
    assert (again.head()["integrity_ok"], again.head()["verified_through"]) == (None, None)
    again.verify_some()
    assert (again.head()["integrity_ok"], again.head()["verified_through"]) == (True, 2)
    append(again, "more")
    assert (again.head()["integrity_ok"], again.head()["verified_through"]) == (True, 3)


def test_a_checkpoint_handed_back_proves_growth_or_a_fork(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "one")
    fill(ledger, 3)
    old = ledger.head()["checkpoint"]
    answer = append(ledger, "more", last_checkpoint=old)
    assert answer["consistency"]["from_size"] == 3 and answer["consistency"]["to_size"] == 4
    from lithos.ledger.proofs import merkle

    proof = [bytes.fromhex(step) for step in answer["consistency"]["proof"]]
    new = answer["checkpoint"]
    assert merkle.consistent(3, 4, bytes.fromhex(old["root"]), bytes.fromhex(new["root"]), proof)
    other = open_ledger(tmp_path / "two", seed=5)
    fill(other, 9)
    for call in (lambda: other.head(last_checkpoint=old), lambda: append(other, "x", last_checkpoint=old)):
        with pytest.raises(LedgerFork):
            call()
    assert other.head()["thought_count"] == 9
    with pytest.raises(InvalidInput):
        ledger.head(last_checkpoint={**old, "size": 2})


def test_a_rolled_back_copy_is_a_fork_to_holders_of_a_checkpoint(tmp_path: Path) -> None:
    import shutil

    ledger = open_ledger(tmp_path / "live")
    fill(ledger, 5)
    ledger.close()
    shutil.copytree(tmp_path / "live", tmp_path / "copy")
    ledger = open_ledger(tmp_path / "live", seed=2)
    kept = append(ledger, "after the copy")["checkpoint"]
    rolled_back = open_ledger(tmp_path / "copy", seed=3)
    assert rolled_back.head()["integrity_ok"], "nothing is visible without a checkpoint"
    with pytest.raises(LedgerFork):
        rolled_back.head(last_checkpoint=kept)


def signed(ledger: Ledger, seed: int, key_id: str, **arguments: Any) -> dict[str, Any]:
    given = {"agent_id": "astro", "thought_type": "Decision", "content": "signed", **arguments}
    return sign_arguments(signing_key(bytes([seed]) * 32), key_id, given, "lithos")


def register(ledger: Ledger, seed: int, key_id: str = "k1") -> None:
    public = signing_key(bytes([seed]) * 32).public
    details = {"key_id": key_id, "algorithm": "ed25519", "public_key": public.hex()}
    ledger.chain_to_write(None).record_change("key_added", "astro", details, "operator")


def test_a_signed_thought_is_accepted_once_and_wrong_ones_never(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, "zero", agent_id="astro")
    register(ledger, 3)
    right = signed(ledger, 3, "k1", importance=1, confidence=0.3, tags=["x"], refs=[0])
    answer = append_draft(ledger, **right)
    assert answer["thought"]["thought_signature"] == right["thought_signature"]
    with pytest.raises(Conflict):
        append_draft(ledger, **right)
    for wrong in (
        signed(ledger, 4, "k1", content="forged"),
        signed(ledger, 3, "k2", content="unknown key"),
        {**signed(ledger, 3, "k1", content="altered"), "content": "altered!"},
        {**signed(ledger, 3, "k1", content="other agent"), "agent_id": "other"},
        {**signed(ledger, 3, "k1", content="other chain"), "importance": 0.9},
    ):
        with pytest.raises(Forbidden):
            append_draft(ledger, **wrong)
    assert ledger.head()["thought_count"] == 2
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_what_was_signed_before_a_revocation_or_rotation_stays_valid(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, "zero", agent_id="astro")
    register(ledger, 3)
    append_draft(ledger, **signed(ledger, 3, "k1", content="one"))
    register(ledger, 4)  # the same key id, other bytes
    with pytest.raises(Forbidden):
        append_draft(ledger, **signed(ledger, 3, "k1", content="with the old key"))
    append_draft(ledger, **signed(ledger, 4, "k1", content="two"))
    ledger.chain(None).record_change("key_revoked", "astro", {"key_id": "k1"}, "operator")
    with pytest.raises(Forbidden):
        append_draft(ledger, **signed(ledger, 4, "k1", content="three"))
    append(ledger, "unsigned", agent_id="astro")
    ledger.close()
    report = Verification(one_chain(tmp_path), tmp_path / "checkpoints", full=True).run()
    assert (report.findings, report.signatures) == ([], 2)


def test_a_rewritten_registry_is_found_through_the_thoughts_bound_to_it(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, "zero", agent_id="astro")
    register(ledger, 3)
    append_draft(ledger, **signed(ledger, 3, "k1"))
    ledger.close()
    (one_chain(tmp_path) / "registry.jsonl").write_bytes(b"")
    assert "registry_damaged" in verify(tmp_path, full=True)


def test_a_resent_delivery_finds_its_thought_and_a_reused_id_does_not(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)

    def call(resent: bool, arguments: str) -> Call:
        return Call("mentisdb_append", arguments_hash=arguments, delivery=Delivery("g", "7", resent))

    first = append(ledger, "one", call(False, "a"))
    assert append(ledger, "one", call(True, "a")) == first
    assert append(ledger, "two", call(False, "b"))["thought"]["index"] == 1
    assert append(ledger, "three", call(True, "c"))["thought"]["index"] == 2


def test_keys_are_remembered_48_hours_and_across_a_restart(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    call = Call("mentisdb_append", "a", arguments_hash="h", idempotency_key="k")
    first = append(ledger, "one", call)
    ledger.close()
    again = open_ledger(tmp_path, seed=2)
    assert append(again, "one", call) == first
    with pytest.raises(KeyReused):
        append(again, "two", Call("mentisdb_append", "a", arguments_hash="x", idempotency_key="k"))
    assert append(again, "one", Call("mentisdb_append", "b", arguments_hash="h", idempotency_key="k")) != first
    again.environment.clock.advance(49 * 3600)  # type: ignore[attr-defined]
    assert append(again, "one", call)["thought"]["index"] == 2


def test_a_second_call_with_a_key_waits_for_the_first(tmp_path: Path) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults)
    append(ledger, "zero")
    call = Call("mentisdb_append", "a", arguments_hash="h", idempotency_key="k")
    answers: list[dict[str, Any]] = []
    second = threading.Thread(target=lambda: answers.append(append(ledger, "one", call)))
    faults.plan("ledger.flush", second.start, visit=2)
    answers.append(append(ledger, "one", call))
    second.join()
    assert answers[0] == answers[1] and ledger.head()["thought_count"] == 2


def test_secrets_are_refused_with_kind_and_place_unless_the_settings_allow_them(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "a")
    text = "line one\nghp_" + "a1" * 20
    with pytest.raises(SecretRefused) as refused:
        append(ledger, text)
    assert (refused.value.details["kind"], refused.value.details["line"]) == ("GitHub token", 2)
    assert "a1a1" not in refused.value.message and not ledger.keys()
    with pytest.raises(SecretRefused):
        append(ledger, "x", tags=["AKIA" + "A1" * 8])
    allowed = open_ledger(tmp_path / "b", allow_secret=True)
    assert append(allowed, text)["thought"]["index"] == 0


def test_hashes_written_in_other_spellings_are_not_taken(tmp_path: Path) -> None:
    """A bit flip turns `a` into `A`: bytes.fromhex would not see it."""
    ledger = open_ledger(tmp_path, default_adapter="jsonl")
    fill(ledger, 2)
    ledger.close()
    path = last_segment(tmp_path)
    data = path.read_bytes()
    place = data.rfind(b'"hash":"') + 8
    letter = next(at for at in range(place, place + 64) if data[at : at + 1].isalpha())
    path.write_bytes(data[:letter] + data[letter : letter + 1].upper() + data[letter + 1 :])
    assert verify(tmp_path) == ["hash_mismatch"]


def test_an_entry_is_the_same_from_line_and_frame() -> None:
    raw = (b'{"a":1}', b'{"content":"x"}', b"ab" * 16, b"cd" * 32)
    gone = (b'{"a":1}', b"", b"", b"cd" * 32)
    for adapter in (Lines(), Frames()):
        for entry in (raw, gone):
            assert adapter.decode(adapter.encode(entry)) == entry
        assert adapter.split(adapter.encode(raw) * 3 + b"\0") == (
            [adapter.encode(raw)] * 3,
            3 * len(adapter.encode(raw)),
        )


def test_a_line_of_the_jsonl_adapter_is_json_with_the_thought_in_it(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, default_adapter="jsonl")
    append(ledger, "readable", tags=["x"])
    line = orjson.loads(last_segment(tmp_path).read_bytes())
    assert line["body"] == {"content": "readable", "tags": ["x"]}
    assert line["record"]["thought_type"] == "FactLearned"


def test_a_signature_that_occurs_twice_is_found_although_the_server_would_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, "zero", agent_id="astro")
    register(ledger, 3)
    twice = signed(ledger, 3, "k1")
    append_draft(ledger, **twice)
    monkeypatch.setattr(admission, "_may_sign", lambda *given: None)  # a server that does not look
    append_draft(ledger, **twice)
    ledger.close()
    assert verify(tmp_path, full=True) == ["signature_wrong"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"importance":0.5', b'"importance":0.50'),
        (b'"importance":0.5', b'"importance":5e-1'),
        (b'"index":0', b'"index":0.0'),
        (b'"role":"Memory"', b'"role":"\\u004demory"'),
        (b'"role":"Memory"', b'"role": "Memory"'),
        (b'"agent_id":"lithos"', b'"agent_id":5.0'),
        (b'"importance":0.5', b'"importance":"0.5"'),
        (b'"thought_type":"FactLearned"', b'"thought_type":"Invented"'),
        (b'{"agent_id"', b'{"role":"Memory","agent_id"'),
    ],
)
def test_another_spelling_of_the_same_record_is_found_even_with_a_hash_that_fits(
    tmp_path: Path, adapter: Any, before: bytes, after: bytes
) -> None:
    import hashlib

    from lithos.ledger.chain.segments import list_segments, read_blocks

    ledger = open_ledger(tmp_path, default_adapter=adapter)
    append(ledger, "one")
    folder = ledger.chain(None).folder
    del ledger
    assert verify(tmp_path) == [], "from here on, entries of this form are checked together"
    [segment] = list_segments(folder)
    [block] = read_blocks(segment)
    record, body, salt, _ = segment.adapter.decode(block.entries[0])  # type: ignore[union-attr]
    changed = record.replace(before, after)
    assert changed != record
    digest = hashlib.sha256(b"lithos.thought.v1\n" + changed).hexdigest().encode()
    segment.path.write_bytes(segment.adapter.magic + segment.adapter.encode((changed, body, salt, digest)))
    assert verify(tmp_path)[0] in ("not_canonical", "malformed")


def test_an_append_is_flushed_before_it_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, "zero")
    path = last_segment(tmp_path)
    flushed: list[int] = []
    real = os.fdatasync

    def watched(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            flushed.append(os.fstat(descriptor).st_size)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", watched)
    append(ledger, "one")
    assert flushed == [path.stat().st_size]
