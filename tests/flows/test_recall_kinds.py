"""One recall over everything: notes, tasks, findings, thoughts and skills."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig
from lithos.storage.journal.journal import MOST_ENTRIES
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases

SKILL = "---\nname: rotate-keys\ndescription: How to rotate the signing keys\n---\nFirst revoke, then mint.\n"


def kinds(answer: dict[str, Any]) -> list[str]:
    return [hit["kind"] for hit in answer["results"]]


@pytest.fixture
def filled(call: CallTool) -> str:
    call("lithos_write", title="Canary rollout", content="We roll out to one percent first.", agent="ann")
    task = call("lithos_task_create", title="Rotate the signing keys", description="Before June.", agent="ann")[
        "task_id"
    ]
    call("lithos_finding_post", task_id=task, summary="The mint endpoint returns 429 under load.", agent="ben")
    call("mentisdb_append", thought_type="Decision", content="Sessions expire after nine hours.", agent_id="cleo")
    call("mentisdb_upsert_agent", agent_id="cleo")
    call("mentisdb_upload_skill", agent_id="cleo", content=SKILL)
    return task


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("canary rollout percent", "note"),
        ("mint endpoint 429 under load", "finding"),
        ("sessions expire nine hours", "thought"),
    ],
)
def test_each_kind_is_found_by_one_question(call: CallTool, filled: str, query: str, kind: str) -> None:
    found = call("lithos_recall", query=query)
    assert found["relevant"] is True
    assert kinds(found)[0] == kind


def test_tasks_and_skills_are_found_and_kinds_narrow(call: CallTool, filled: str) -> None:
    found = call("lithos_recall", query="rotate the signing keys")
    assert {"task", "skill"} <= set(kinds(found))
    (task,) = call("lithos_recall", query="rotate the signing keys", kinds=["task"])["results"]
    assert task["id"] == filled and task["status"] == "open"
    (finding,) = call("lithos_recall", query="mint endpoint", kinds="finding")["results"]
    assert finding["task_id"] == filled


def test_a_change_is_found_by_the_next_question(call: CallTool, filled: str) -> None:
    call("lithos_recall", query="anything")
    call("lithos_task_update", task_id=filled, title="Replace the zeppelin", agent="ann")
    assert kinds(call("lithos_recall", query="zeppelin"))[0] == "task"
    call("lithos_finding_post", task_id=filled, summary="A quokka sat on the keyboard.", agent="ben")
    assert kinds(call("lithos_recall", query="quokka keyboard"))[0] == "finding"


def test_many_changes_between_two_questions_are_all_found(call: CallTool, filled: str) -> None:
    call("lithos_recall", query="anything", kinds=["task"])
    for number in range(MOST_ENTRIES + 30):  # more than one page of the journal
        call("lithos_task_create", title=f"Errand {number}", agent="ann")
    call("lithos_task_create", title="Feed the axolotl", agent="ann")
    assert call("lithos_recall", query="axolotl", kinds=["task"])["results"][0]["title"] == "Feed the axolotl"


def test_a_filter_for_notes_asks_notes_alone(call: CallTool, filled: str) -> None:
    assert set(kinds(call("lithos_recall", query="signing keys rollout", path_prefix="x/"))) == set()


def test_what_a_lost_index_lacks_is_found_again_after_a_start(
    config: LithosConfig, clock: FakeClock, call: CallTool, lithos: Lithos, filled: str
) -> None:
    import shutil

    call("lithos_recall", query="signing keys")
    lithos.close()
    for folder in (".tantivy", ".vectors"):
        shutil.rmtree(lithos.storage.data_dir / folder / "work", ignore_errors=True)
    again = open_lithos(config, clock=clock)
    try:
        found = catalogue().call(again, "lithos_recall", {"query": "mint endpoint 429"})
        assert kinds(found)[0] == "finding"
    finally:
        again.close()


def test_unrelated_work_does_not_push_an_answering_note_down(call: CallTool) -> None:
    call(
        "lithos_write", title="Backup schedule", content="Backups of the ledger run at three in the morning.", agent="a"
    )
    for number in range(60):
        call("lithos_task_create", title=f"Paint fence {number}", description="Use the green paint.", agent="b")
        call("mentisdb_append", thought_type="Idea", content=f"Fences number {number} are green.", agent_id="b")
    found = call("lithos_recall", query="when do backups of the ledger run")
    assert kinds(found)[0] == "note"
    assert all(hit["score"] > 0 for hit in found["results"])
