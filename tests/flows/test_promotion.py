"""Procedures: a promotion approves a text, can be proved and not forged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Forbidden, InvalidInput
from lithos.settings import LifecycleSettings, LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from tests.support.note_calls import CallTool, caller, found

OPERATOR = Caller(operator=True)


def promote(call: CallTool, **more: Any) -> dict[str, Any]:
    """Approves the text that `write` gives its notes, unless a source is named."""
    if "source_entry_id" not in more:
        draft = {"title": "Draft", "content": "Retry three times.", "agent": "ann"}
        more["source_entry_id"] = call("lithos_write", **draft)["id"]
    wish = {"evidence_refs": [" b ", "a", "b", " "], "approved_by": "eve", "actor": "ann"}
    return call("lithos_promote", **{**wish, "reason": "It holds.", **more})


def test_a_procedure_needs_a_promotion(call: CallTool, write: CallTool) -> None:
    with pytest.raises(InvalidInput, match="promotion"):
        write(path="procedural")
    with pytest.raises(InvalidInput, match="promotion"):
        write(path="procedural", provenance="event:01ARZ3NDEKTSV4RRFFQ69G5FAV")
    promoted = promote(call)
    assert promoted["evidence_refs"] == ["a", "b"] and promoted["target_class"] == "procedural"
    note = write(path="procedural/net", provenance=f"event:{promoted['event_id']}")
    assert note["path"] == "procedural/net/retries.md"
    assert found(call, path_prefix="procedural/") == {"Retries"}


def test_a_note_cannot_be_moved_among_the_procedures_without_a_promotion(call: CallTool, write: CallTool) -> None:
    plain = write()
    with pytest.raises(InvalidInput, match="promotion"):
        call("lithos_move", id=plain["id"], to="procedural", agent="ann")
    event = promote(call)["event_id"]
    call("lithos_write", id=plain["id"], agent="ann", provenance=f"event:{event}")
    assert call("lithos_move", id=plain["id"], to="procedural", agent="ann")["path"] == "procedural/retries.md"


def test_a_promotion_is_a_thought_that_can_be_proved_and_not_forged(call: CallTool, write: CallTool) -> None:
    promoted = promote(call)
    thought = call("mentisdb_get_thought", chain_key="promotions", thought_id=promoted["thought_id"])["thought"]
    assert promoted["event_id"] in thought["content"]
    forged = thought["content"].replace(promoted["event_id"], "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    call("mentisdb_append", thought_type="Decision", content=forged, chain_key="promotions", agent_id="mallory")
    with pytest.raises(InvalidInput, match="promotion"):
        write(path="procedural", provenance="event:01ARZ3NDEKTSV4RRFFQ69G5FAV")


@pytest.mark.parametrize(
    "wrong",
    [
        {"approved_by": "ann"},
        {"approved_by": " "},
        {"reason": ""},
        {"actor": ""},
        {"evidence_refs": []},
        {"evidence_refs": [" "]},
        {"source_entry_id": " "},
    ],
    ids=str,
)
def test_a_promotion_without_all_its_parts_is_refused(call: CallTool, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        promote(call, **wrong)


def test_with_approvers_their_name_must_not_merely_be_typed(data_dir: Path, clock: FakeClock) -> None:
    settings = LifecycleSettings(approvers=("eve",))
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), lifecycle=settings), clock=clock)
    try:
        call = caller(lithos)
        draft = call("lithos_write", title="T", content="x", agent="ann")["id"]
        with pytest.raises(Forbidden):
            promote(call, agent="ann")
        with pytest.raises(InvalidInput):
            promote(call, agent="bob", approved_by="bob")
        with pytest.raises(Forbidden):
            promote(call, agent="eve")
        assert promote(call, _caller=Caller(agent="eve", bound=True), source_entry_id=draft)["event_id"]
        assert promote(call, _caller=OPERATOR)["event_id"]
    finally:
        lithos.close()


def test_a_hand_made_procedure_is_reported_and_not_served_as_one(
    call: CallTool, data_dir: Path, lithos: Lithos
) -> None:
    folder = data_dir / "knowledge" / "procedural"
    folder.mkdir(parents=True)
    (folder / "rule.md").write_text("# Rule\n\nAlways retry.\n")
    lithos.notes.reindex()
    assert found(call, query="retry") == set()
    assert found(call, query="retry", status="unapproved") == {"Rule"}
    read = call("lithos_read", path="procedural/rule.md")
    assert "promotion" in read["problem"] and read["content"] == "Always retry."
    assert call("lithos_validate")["counts"]["unapproved_procedures"] == 1
