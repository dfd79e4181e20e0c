"""Forgetting: the text is gone from every byte of the data directory, and every proof still holds."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import orjson
import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Damaged, InvalidInput, KeyReused, NotFound, StorageFull
from lithos.ledger import Filter, Verification, bundle_lines, verify_bundle
from lithos.ledger.registry.agent_activity import AgentActivity
from lithos.settings import LedgerSettings, LithosConfig, StorageSettings
from lithos.storage import Crash, PlannedFaults
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.support.ledgers import CALL, append, fill, independent_check, open_ledger, verify

SECRET = "Zanzibar-Quokka-Marmalade"
OPERATOR = Caller(operator=True)


def traces(folder: Path, *needles: str) -> list[str]:
    """Files in which the raw bytes of any of these occur."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            found += [path.name for needle in needles if needle.encode() in data or needle.lower().encode() in data]
    return found


@pytest.mark.parametrize("adapter", ["jsonl", "binary"])
def test_no_byte_of_a_forgotten_thought_stays_and_all_proofs_hold(data_dir: Path, adapter: Any) -> None:
    config = LithosConfig(storage=StorageSettings(data_dir=data_dir), ledger=LedgerSettings(default_adapter=adapter))
    lithos = open_lithos(config, clock=FakeClock())

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(lithos, name, arguments, OPERATOR)

    call("mentisdb_append", thought_type="Plan", content="before", tags=["kept"])
    given = {
        "thought_type": "FactLearned",
        "content": f"The patient is called {SECRET}.",
        "tags": ["kept", "tag-marmoset"],
        "concepts": ["concept-wombat"],
        "agent_id": "agent-numbat",
        "agent_name": "name-dingo",
        "agent_owner": "owner-quoll",
        "session_id": "session-bilby",
        "idempotency_key": "k",
    }
    told = call("mentisdb_append", **given)
    kept = call("mentisdb_append", thought_type="Plan", content="after", refs=[1])["checkpoint"]
    call("mentisdb_search", text=SECRET)
    needles = (SECRET, "tag-marmoset", "concept-wombat", "numbat", "dingo", "quoll", "bilby")
    assert traces(data_dir, *needles)
    answer = call("lithos_ledger_forget", thought_id=told["thought"]["id"], reason="a person asked")
    assert traces(data_dir, *needles) == []
    assert (answer["index"], answer["recorded_as"]) == (1, 3)
    thought = call("mentisdb_get_thought", thought_index=1)["thought"]
    assert thought["forgotten"] and thought["content"] == "" and thought["tags"] == []
    assert [thought[name] for name in ("agent_id", "agent_name", "agent_owner", "session_id")] == ["", "", None, None]
    assert thought["hash"] == told["thought"]["hash"]
    record = call("mentisdb_get_thought", thought_index=3)["thought"]
    assert record["role"] == "Audit" and "a person asked" in record["content"] and record["refs"] == [1]
    assert call("mentisdb_head", last_checkpoint=kept)["integrity_ok"]
    assert call("mentisdb_search", text=SECRET)["thoughts"] == []
    assert [one["index"] for one in call("mentisdb_search", tags_any=["kept"])["thoughts"]] == [0]
    assert "(forgotten)" in call("mentisdb_memory_markdown")["markdown"]
    with pytest.raises(KeyReused):
        call("mentisdb_append", **{**given, "content": "anything"})
    again = call("mentisdb_append", **given)
    assert again["thought"] == thought, "a late retry does not write it again"
    proof = call("lithos_ledger_prove", thought_index=1)
    assert "only its hash is proved" in verify_bundle.check(orjson.dumps(proof).decode())
    assert call("lithos_ledger_forget", thought_index=1, reason="again")["recorded_as"] == 3
    lithos.close()
    assert traces(data_dir, *needles) == ["coordination.db"], "the agent called again just now"
    chain = next((data_dir / ".lithos" / "ledger").iterdir())
    checked = Verification(chain, data_dir / ".lithos" / "checkpoints", full=True, against=kept).run()
    assert (checked.findings, checked.forgotten) == ([], 1)
    assert independent_check(chain)[0] == 4
    reopened = open_lithos(config, clock=FakeClock())
    assert catalogue().call(reopened, "mentisdb_head", {}, OPERATOR)["integrity_ok"]
    reopened.close()


def test_the_last_thought_of_an_agent_takes_its_id_along_also_from_those_forgotten_before(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, default_adapter="jsonl")
    fill(ledger, 3)
    for content in ("one", "two"):
        append(ledger, thought_type="Plan", content=content, agent_id="agent-numbat", agent_name="name-dingo")
    ledger.forget(CALL, None, thought_id=None, thought_index=3, reason="r")
    shown = ledger.thought(thought_index=3)["thought"]
    assert shown is not None and (shown["agent_id"], shown["agent_name"]) == ("agent-numbat", "agent-numbat")
    ledger.forget(CALL, None, thought_id=None, thought_index=4, reason="r")
    assert traces(tmp_path, "numbat", "dingo") == []
    assert verify(tmp_path, full=True) == []
    ledger.close()
    again = open_ledger(tmp_path, seed=2)
    assert again.head()["integrity_ok"] and again.chain(None).size == 8
    assert {agent["agent_id"] for agent in AgentActivity(again.chain(None)).identities()} == {
        *("agent-0", "agent-1", "agent-2", "operator")
    }
    assert independent_check(again.chain(None).folder)[0] == 8
    lines = "".join(line.decode() for line in bundle_lines(again.chain(None).folder, again.head()["checkpoint"]))
    assert "2 forgotten" in verify_bundle.check(lines)
    redacted = lines.replace('"prev_hash":"', '"timestamp_":1,"prev_hash":"', 4)
    with pytest.raises(verify_bundle.Wrong):
        verify_bundle.check(redacted)


def test_what_cannot_be_forgotten_is_refused(call: CallTool) -> None:
    call("mentisdb_append", thought_type="Plan", content="x")
    with pytest.raises(NotFound):
        call("lithos_ledger_forget", _caller=OPERATOR, thought_index=9, reason="y")
    with pytest.raises(InvalidInput):
        call("lithos_ledger_forget", _caller=OPERATOR, thought_index=0, reason=" ")
    call("lithos_ledger_forget", _caller=OPERATOR, thought_index=0, reason="y")
    with pytest.raises(InvalidInput):
        call("lithos_ledger_forget", _caller=OPERATOR, thought_index=1, reason="z")


@pytest.mark.parametrize("point", ["ledger.write", "ledger.flush", "ledger.written", "ledger.erase"])
@pytest.mark.parametrize("adapter", ["jsonl", "binary"])
def test_a_forgetting_cut_short_is_finished_at_the_next_opening(tmp_path: Path, point: str, adapter: Any) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults, default_adapter=adapter)
    fill(ledger, 4)
    append(ledger, thought_type="Plan", content=SECRET)
    ledger.close()
    ledger = open_ledger(tmp_path, seed=2, faults=faults)
    faults.plan(point, "crash", visit=faults.seen.count(point) + 1)
    with pytest.raises(Crash):
        ledger.forget(CALL, None, thought_id=None, thought_index=4, reason="r")
    again = open_ledger(tmp_path, seed=3)
    found = again.thought(thought_index=4)["thought"]
    assert found is not None and found.get("forgotten")
    again.close()
    assert traces(tmp_path, SECRET) == [] and verify(tmp_path, full=True) == []
    assert list(again.folder.rglob("forgetting.json*")) == []


def test_forgetting_in_one_of_many_segments_leaves_the_others_alone(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, segment_bytes=4000)
    fill(ledger, 40)
    before = [ledger.thought(thought_index=index) for index in range(40)]
    ledger.forget(CALL, None, thought_id=None, thought_index=11, reason="r")
    fill(ledger, 3)
    after = [ledger.thought(thought_index=index) for index in range(40)]
    assert [one for place, one in enumerate(before) if place != 11] == [
        one for place, one in enumerate(after) if place != 11
    ]
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_answers_remembered_for_retries_forget_too(lithos: Lithos, call: CallTool, data_dir: Path) -> None:
    """Whoever stores a thought inside an answer of its own: the answer goes with the thought."""
    from lithos.core.call import Call
    from lithos.storage import Outcome

    told = call("mentisdb_append", thought_type="Plan", content=SECRET)["thought"]
    answer = {"copied": told}
    lithos.storage.effects.commit(
        Call("other_tool", "a", idempotency_key="k", arguments_hash="h"), lambda tx: Outcome(answer)
    )
    assert traces(data_dir, SECRET)
    call("lithos_ledger_forget", _caller=OPERATOR, thought_index=0, reason="r")
    assert traces(data_dir, SECRET) == []


@pytest.mark.parametrize("adapter", ["jsonl", "binary"])
def test_forgetting_in_any_order_leaves_the_index_of_a_rebuild(tmp_path: Path, adapter: Any) -> None:
    ledger = open_ledger(tmp_path, default_adapter=adapter, segment_bytes=4000)
    fill(ledger, 20)
    for index in (0, 19, 7, 6, 13):
        ledger.forget(CALL, None, thought_id=None, thought_index=index, reason="test")
        append(ledger, thought_type="Plan", content=f"after {index}", tags=["ops", f"new {index}"])
        ledger.chain(None).write_checkpoint()
        assert verify(tmp_path, full=True, live=True) == []
    assert [one["index"] for one in ledger.search(None, Filter(tags_any=("t3",)))["thoughts"]] == [3, 11, 15]
    ledger.close()
    assert verify(tmp_path, full=True) == []


def test_a_disk_that_is_full_while_forgetting_stops_the_chain_until_it_is_finished(tmp_path: Path) -> None:
    faults = PlannedFaults()
    ledger = open_ledger(tmp_path, faults=faults)
    fill(ledger, 4)
    append(ledger, thought_type="Plan", content=SECRET)
    faults.plan("ledger.erase", OSError(errno.ENOSPC, "full"))
    with pytest.raises(StorageFull):
        ledger.forget(CALL, None, thought_id=None, thought_index=4, reason="r")
    with pytest.raises(Damaged):
        append(ledger, thought_type="Plan", content="not now")
    again = open_ledger(tmp_path, seed=3)
    assert again.chain(None).entry(4).body is None
    again.close()
    assert traces(tmp_path, SECRET) == [] and verify(tmp_path, full=True) == []
