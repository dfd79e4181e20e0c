"""Appendix A of the specification, call by call, with its placeholders filled."""

from __future__ import annotations

import pytest

from lithos.core.clock import FakeClock
from lithos.errors import NotFound
from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases

PARAGRAPH = (
    "To run several async tasks concurrently in Python, hand the coroutines to asyncio.gather and await them together. "
    "It returns their results in order.\n\n"
)


def test_the_example_session_goes_as_the_specification_tells(call: CallTool, clock: FakeClock) -> None:
    clock.set_wall("2026-02-03T21:00:00Z")
    stats = call("lithos_stats")
    counted = ("documents", "chunks", "agents", "active_tasks", "open_claims", "tags")
    assert {name: stats[name] for name in counted} == dict.fromkeys(counted, 0)

    registered = call("lithos_agent_register", id="agent-zero", name="Agent Zero", type="agent-zero")
    assert registered == {"success": True, "created": True}

    written = call(
        "lithos_write",
        title="Python asyncio.gather patterns",
        content=PARAGRAPH * 12,
        tags=["python", "async"],
        agent="agent-zero",
    )
    assert written["path"] == "python-asyncio-gather-patterns.md"

    found = call("lithos_semantic", query="how to run async tasks concurrently in python", agent="openclaw")
    (hit,) = found["results"]
    assert (hit["id"], hit["title"]) == (written["id"], "Python asyncio.gather patterns")
    assert 0.3 < hit["similarity"] <= 1 and "asyncio.gather" in hit["snippet"]

    read = call("lithos_read", id=written["id"], max_length=1000)
    assert read["truncated"] and len(read["content"]) <= 1000 and read["content"].endswith(".")

    task = call("lithos_task_create", title="Research async patterns", agent="agent-zero")["task_id"]
    claimed = call("lithos_task_claim", task_id=task, aspect="literature review", agent="agent-zero")
    assert (claimed["success"], claimed["expires_at"]) == (True, "2026-02-03T22:00:00Z")

    renewed = call("lithos_task_renew", task_id=task, aspect="literature review", agent="agent-zero", ttl_minutes=180)
    assert (renewed["success"], renewed["new_expires_at"]) == (True, "2026-02-04T00:00:00Z")

    (shown,) = call("lithos_task_status", task_id=task)["tasks"]
    assert (shown["id"], shown["status"]) == (task, "open")
    claim = {"agent": "agent-zero", "aspect": "literature review", "expires_at": "2026-02-04T00:00:00Z"}
    assert shown["claims"] == [claim]

    assert call("lithos_task_complete", task_id=task, agent="agent-zero") == {"success": True}

    agents = call("lithos_agent_list")["agents"]
    assert {each["id"] for each in agents} == {"agent-zero", "openclaw"}
    assert next(each["name"] for each in agents if each["id"] == "agent-zero") == "Agent Zero"

    stats = call("lithos_stats")
    assert stats["chunks"] >= 3
    expected = {"documents": 1, "agents": 2, "active_tasks": 0, "open_claims": 0, "tags": 2}
    assert {name: stats[name] for name in expected} == expected


def test_a_note_leads_to_its_task_and_findings_and_they_lead_back(call: CallTool) -> None:
    task = call("lithos_task_create", title="Research", agent="ann")["task_id"]
    note = call("lithos_write", title="Result", content="Text.", agent="ann", source_task=task)["id"]
    finding = call("lithos_finding_post", task_id=task, agent="ann", summary="See the note.", knowledge_id=note)
    read = call("lithos_read", id=note)
    assert read["task"] == {"id": task, "title": "Research", "status": "open"}
    assert [each["id"] for each in read["findings"]] == [finding["finding_id"]]
    (shown,) = call("lithos_task_status", task_id=task)["tasks"]
    assert shown["notes"] == [{"id": note, "title": "Result", "path": "result.md"}]


def test_a_finding_needs_a_note_that_exists_and_outlives_it(call: CallTool) -> None:
    task = call("lithos_task_create", title="Research", agent="ann")["task_id"]
    with pytest.raises(NotFound):
        call("lithos_finding_post", task_id=task, agent="ann", summary="x", knowledge_id="no-such-note")
    note = call("lithos_write", title="Result", content="Text.", agent="ann")["id"]
    call("lithos_finding_post", task_id=task, agent="ann", summary="x", knowledge_id=note)
    call("lithos_delete", id=note, agent="ann")
    (finding,) = call("lithos_finding_list", task_id=task)["findings"]
    assert finding["knowledge_id"] == note


def test_a_source_that_is_no_task_is_left_as_it_is(call: CallTool) -> None:
    note = call("lithos_write", title="Result", content="Text.", agent="ann", source_task="a conversation")["id"]
    read = call("lithos_read", id=note)
    assert read["metadata"]["source"] == "a conversation" and "task" not in read


def test_a_note_is_not_written_with_a_token_that_was_lost(call: CallTool, clock: FakeClock) -> None:
    from lithos.errors import ClaimLost

    task = call("lithos_task_create", title="Research", agent="ann")["task_id"]
    token = call("lithos_task_claim", task_id=task, aspect="a", agent="ann", ttl_minutes=1)["token"]
    note = call("lithos_write", title="Result", content="One.", agent="ann", claim_token=token)["id"]
    clock.advance(61)
    call("lithos_task_claim", task_id=task, aspect="a", agent="bob")
    with pytest.raises(ClaimLost) as lost:
        call("lithos_write", id=note, content="Two.", agent="ann", claim_token=token)
    assert lost.value.details["holder"] == "bob"
    assert call("lithos_read", id=note)["content"] == "One."
    with pytest.raises(ClaimLost):
        call("lithos_write", title="Another", content="Two.", agent="ann", claim_token=token)
    assert call("lithos_list")["total"] == 1
