"""The board's tools as a client sees them: answers, refusals and errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from lithos.errors import ClaimLost, Conflict, InvalidInput, LithosError, NotFound, TooLarge
from tests.conftest import CallTool, Connect
from tests.support.waiting import until_async

pytestmark = pytest.mark.both_databases

SOON = 20


def test_the_answers_have_the_fields_of_the_specification(call: CallTool) -> None:
    made = call("lithos_task_create", title="Research", agent="ann", description="why", tags=["a"])
    assert set(made) == {"task_id"}
    task = made["task_id"]
    claimed = call("lithos_task_claim", task_id=task, aspect="review", agent="ann")
    assert (claimed["success"], claimed["expires_at"]) == (True, "2026-01-01T01:00:00Z")
    renewed = call("lithos_task_renew", task_id=task, aspect="review", agent="ann", ttl_minutes=120)
    assert (renewed["success"], renewed["new_expires_at"]) == (True, "2026-01-01T02:00:00Z")
    (shown,) = call("lithos_task_status", task_id=task)["tasks"]
    assert {key: shown[key] for key in ("id", "title", "status")} == {
        "id": task,
        "title": "Research",
        "status": "open",
    }
    assert shown["claims"] == [{"agent": "ann", "aspect": "review", "expires_at": "2026-01-01T02:00:00Z"}]
    posted = call("lithos_finding_post", task_id=task, agent="ann", summary="It works.")
    assert set(posted) == {"finding_id"}
    (finding,) = call("lithos_finding_list", task_id=task)["findings"]
    assert (finding["id"], finding["agent"], finding["knowledge_id"]) == (posted["finding_id"], "ann", None)
    assert call("lithos_task_release", task_id=task, aspect="review", agent="ann") == {"success": True}
    assert call("lithos_task_complete", task_id=task, agent="ann") == {"success": True}


REFUSALS: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown task": ("lithos_task_claim", {"task_id": "nowhere", "aspect": "a", "agent": "ann"}),
    "unknown task completed": ("lithos_task_complete", {"task_id": "nowhere", "agent": "ann"}),
    "unknown task cancelled": ("lithos_task_cancel", {"task_id": "nowhere", "agent": "ann"}),
    "unknown task updated": ("lithos_task_update", {"task_id": "nowhere", "agent": "ann", "title": "x"}),
    "unknown task renewed": ("lithos_task_renew", {"task_id": "nowhere", "aspect": "a", "agent": "ann"}),
    "unknown task released": ("lithos_task_release", {"task_id": "nowhere", "aspect": "a", "agent": "ann"}),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_an_unknown_task_is_a_refusal_and_no_tool_error(call: CallTool, what: str) -> None:
    name, arguments = REFUSALS[what]
    answer = call(name, **arguments)
    assert (answer["success"], answer["reason"]) == (False, "unknown_task")


WRONG: dict[str, tuple[str, dict[str, Any], type[LithosError]]] = {
    "minutes as words": ("lithos_task_claim", {"ttl_minutes": "an hour"}, InvalidInput),
    "minutes as a truth value": ("lithos_task_claim", {"ttl_minutes": True}, InvalidInput),
    "no minutes": ("lithos_task_claim", {"ttl_minutes": 0}, InvalidInput),
    "minutes below none": ("lithos_task_claim", {"ttl_minutes": -5}, InvalidInput),
    "aspect as number": ("lithos_task_claim", {"aspect": 7}, InvalidInput),
    "empty agent": ("lithos_task_claim", {"agent": ""}, InvalidInput),
    "agent of 10 kB": ("lithos_task_claim", {"agent": "a" * 10_000}, TooLarge),
    "agent with control characters": ("lithos_task_claim", {"agent": "a\x1bb"}, InvalidInput),
    "unknown argument": ("lithos_task_claim", {"asspect": "x"}, InvalidInput),
    "token as text": ("lithos_task_renew", {"claim_token": "1"}, InvalidInput),
    "page of none": ("lithos_task_status", {"limit": 0}, InvalidInput),
    "page of too many": ("lithos_task_status", {"limit": 501}, InvalidInput),
}


@pytest.mark.sqlite_only("refused before the database is asked")
@pytest.mark.parametrize("what", WRONG)
def test_wrong_types_and_values_are_tool_errors(call: CallTool, what: str) -> None:
    name, changed, kind = WRONG[what]
    task = call("lithos_task_create", title="x", agent="ann")["task_id"]
    usual = {"task_id": task} if name == "lithos_task_status" else {"task_id": task, "aspect": "a", "agent": "ann"}
    with pytest.raises(kind):
        call(name, **{**usual, **changed})
    assert call("lithos_task_status", task_id=task)["tasks"][0]["claims"] == []


def test_refused_findings_are_tool_errors(call: CallTool, clock: FakeClock) -> None:
    task = call("lithos_task_create", title="x", agent="ann")["task_id"]
    token = call("lithos_task_claim", task_id=task, aspect="a", agent="ann", ttl_minutes=1)["token"]
    with pytest.raises(NotFound):
        call("lithos_finding_post", task_id="nowhere", agent="ann", summary="x")
    clock.advance(61)
    with pytest.raises(ClaimLost):
        call("lithos_finding_post", task_id=task, agent="ann", summary="x", claim_token=token)
    call("lithos_task_cancel", task_id=task, agent="ann")
    with pytest.raises(Conflict):
        call("lithos_finding_post", task_id=task, agent="ann", summary="x")
    assert call("lithos_finding_list", task_id=task)["findings"] == []


def test_self_dependency_is_a_tool_error(call: CallTool) -> None:
    task = call("lithos_task_create", title="x", agent="ann")["task_id"]
    with pytest.raises(InvalidInput, match="itself"):
        call("lithos_task_update", task_id=task, agent="ann", depends_on=[task])


def test_the_board_counts_in_the_statistics(call: CallTool) -> None:
    task = call("lithos_task_create", title="x", agent="ann")["task_id"]
    call("lithos_task_claim", task_id=task, aspect="a", agent="ann")
    stats = call("lithos_stats")
    assert (stats["active_tasks"], stats["open_claims"]) == (1, 1)


def test_the_same_key_claims_once_and_the_retry_gets_the_first_answer(call: CallTool, clock: FakeClock) -> None:
    task = call("lithos_task_create", title="x", agent="ann")["task_id"]
    wish = {"task_id": task, "aspect": "a", "agent": "ann", "ttl_minutes": 1, "idempotency_key": "k"}
    first = call("lithos_task_claim", **wish)
    clock.advance(30)
    assert call("lithos_task_claim", **wish) == first
    clock.advance(31)
    assert call("lithos_task_status", task_id=task)["tasks"][0]["claims"] == []


@pytest.mark.anyio
async def test_a_refusal_is_an_ordinary_answer_over_mcp(connect: Connect) -> None:
    async with connect() as client:
        arguments = {"task_id": "nowhere", "aspect": "a", "agent": "ann"}
        refused = await client.call_tool("lithos_task_claim", arguments)
        wrong = await client.call_tool("lithos_task_claim", {**arguments, "ttl_minutes": 0})
    assert not refused.is_error and refused.structured_content["reason"] == "unknown_task"
    assert wrong.is_error and wrong.structured_content["error"]["code"] == "invalid_input"


@pytest.mark.anyio
async def test_a_client_waits_while_another_call_changes_the_board(lithos: Lithos, connect: Connect) -> None:
    async with connect() as client:
        waiting = asyncio.create_task(client.call_tool("lithos_board_wait", {"timeout": SOON}))
        await until_async(lambda: len(lithos.board.followers), "a waiting client")
        made = await client.call_tool("lithos_task_create", {"title": "x", "agent": "ann"})
        seen = (await waiting).structured_content
    assert [each["task_id"] for each in seen["changes"]] == [made.structured_content["task_id"]]
    assert seen["cursor"] == seen["changes"][-1]["seq"]
