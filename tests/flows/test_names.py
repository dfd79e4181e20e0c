"""Names instead of ids: wherever a note, a task or a thought is named."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.errors import Ambiguous, NotFound
from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases


@pytest.fixture
def note(call: CallTool) -> dict[str, Any]:
    text = "# Guide\n\n## Rules\n\none\n"
    return call("lithos_write", title="Deploy Guide", content=text, path="ops", agent="ann")


def test_a_note_is_read_by_every_name_it_has(call: CallTool, note: dict[str, Any]) -> None:
    whole = note["id"]
    for name in ("ops/deploy-guide.md", "ops/deploy-guide", "Deploy Guide", "deploy guide", "[[Deploy Guide#Rules|x]]"):
        assert call("lithos_read", id=name)["id"] == whole, name
    for part in (whole[:8], whole[-6:], whole[-12:], whole.upper()[:9]):
        assert call("lithos_read", id=part)["id"] == whole, part
    assert call("lithos_links", id="Deploy Guide")["resolved"]["id"]["id"] == whole


def test_writes_take_an_exact_name_and_say_what_it_was(call: CallTool, note: dict[str, Any]) -> None:
    changed = call("lithos_write", id="Deploy Guide", content="two", append=True, agent="ann")
    assert changed["resolved"]["id"] == {"id": note["id"], "title": "Deploy Guide"}
    with pytest.raises(NotFound) as refused:
        call("lithos_write", id="deploy GUIDE", content="no", agent="ann")
    assert refused.value.details["nearest"][0]["id"] == note["id"]
    change = {"section_anchor": "Rules", "change": {"append": "more"}, "rationale": "r", "agent": "ann"}
    assert call("lithos_md_patch_section", id="ops/deploy-guide", **change)["resolved"]
    assert call("lithos_move", id=note["id"][-8:], to="archive", agent="ann")["path"] == "archive/deploy-guide.md"
    assert call("lithos_delete", id="Deploy Guide", agent="ann")["success"] is True


def test_a_name_of_two_notes_is_refused_with_both(call: CallTool, note: dict[str, Any]) -> None:
    call("lithos_write", title="Deploy Guide", content="another", path="dev", agent="ann")
    for tool, more in (("lithos_read", {}), ("lithos_delete", {"agent": "ann"})):
        with pytest.raises(Ambiguous) as refused:
            call(tool, id="Deploy Guide", **more)
        assert {each["path"] for each in refused.value.details["nearest"]} == {
            "ops/deploy-guide.md",
            "dev/deploy-guide.md",
        }
        offered = refused.value.details["nearest"][0]["id"]
        assert call("lithos_read", id=offered)["id"] == offered


def test_an_unknown_name_is_answered_with_the_nearest(call: CallTool, note: dict[str, Any]) -> None:
    with pytest.raises(NotFound) as refused:
        call("lithos_read", id="Deploi Gide")
    assert refused.value.details["nearest"][0]["title"] == "Deploy Guide"
    gone = call("lithos_delete", id="Deploi Gide", agent="ann")
    assert gone["success"] is False and gone["nearest"][0]["id"] == note["id"]


def test_a_deleted_note_says_how_to_restore_it(call: CallTool, note: dict[str, Any]) -> None:
    call("lithos_delete", id=note["id"], agent="ann")
    for name in (note["id"], "ops/deploy-guide.md"):
        with pytest.raises(NotFound, match="was deleted") as refused:
            call("lithos_read", id=name)
        assert note["id"] in refused.value.hint and "lithos_note_restore" in refused.value.hint
    assert call("lithos_note_history", id=note["id"])["versions"]
    call("lithos_note_restore", note=note["id"], agent="ann")
    assert call("lithos_read", id="Deploy Guide")["id"] == note["id"]


def test_a_deleted_note_is_known_by_its_title_and_path_too(call: CallTool, note: dict[str, Any]) -> None:
    call("lithos_delete", id=note["id"], agent="ann")
    for name in ({"id": "Deploy Guide"}, {"id": "[[Deploy Guide]]"}, {"path": "ops/deploy-guide.md"}):
        with pytest.raises(NotFound, match="was deleted") as gone:
            call("lithos_read", **name)
        assert note["id"] in gone.value.hint
    assert call("lithos_note_restore", note="Deploy Guide", agent="ann")["id"] == note["id"]


def test_waiting_for_a_task_takes_its_title(call: CallTool) -> None:
    call("lithos_task_create", title="Fix it", agent="ann")
    call("lithos_task_create", title="Other", agent="ann")
    seen = call("lithos_board_wait", task_id="Fix it", since=0, timeout=0)["changes"]
    assert len(seen) == 1


def test_a_task_goes_by_its_title_or_the_end_of_its_id(call: CallTool) -> None:
    task = call("lithos_task_create", title="Fix the build", agent="ann")["task_id"]
    for name in ("Fix the build", "fix the BUILD", task[-6:], task):
        assert call("lithos_task_status", task_id=name)["tasks"][0]["id"] == task, name
    assert (
        call("lithos_task_claim", task_id="Fix the build", aspect="a", agent="ann")["resolved"]["task_id"]["id"] == task
    )
    unknown = call("lithos_task_status", task_id="Fix the built")
    assert unknown["tasks"] == [] and unknown["nearest"][0]["id"] == task
    call("lithos_task_create", title="Fix the build", agent="ben")
    with pytest.raises(Ambiguous):
        call("lithos_task_complete", task_id="Fix the build", agent="ann")


def test_a_thought_goes_by_the_end_of_its_id(call: CallTool) -> None:
    thought = call("mentisdb_append", thought_type="Idea", content="x", agent_id="a")["thought"]
    assert call("mentisdb_get_thought", thought_id=thought["id"][-8:])["thought"]["index"] == thought["index"]


def test_a_retry_of_a_deletion_by_title_gets_the_first_answer(call: CallTool, note: dict[str, Any]) -> None:
    again = [call("lithos_delete", id="Deploy Guide", agent="ann", idempotency_key="k") for _ in range(2)]
    assert [each["success"] for each in again] == [True, True]
