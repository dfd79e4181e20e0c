"""Answers as a connection gets them: specified fields always, the rest where it says something, lists bounded."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from lithos.core.text import estimate_tokens
from lithos.tools.answers.lean import MOST_TOKENS
from tests.conftest import CallTool, Connect

pytestmark = pytest.mark.anyio


async def ask(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def test_a_short_version_guards_a_write_and_a_whole_one_still_does(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        note = await ask(client, "lithos_write", title="A", content="one")
        assert len(note["version"]) == 12
        assert "replaced_version" not in note and "superseded_ids" not in note
        await ask(client, "lithos_write", id=note["id"], content="two", if_match=note["version"])
        stale = await client.call_tool("lithos_write", {"id": note["id"], "content": "3", "if_match": note["version"]})
        assert stale.structured_content["error"]["code"] == "conflict"
        whole = await ask(client, "lithos_read", id=note["id"], detail=True)
        assert whole["version"].startswith("sha256:") and len(whole["version"]) == 71
        await ask(client, "lithos_write", id=note["id"], content="three", if_match=whole["version"])
        short = await client.call_tool("lithos_write", {"id": note["id"], "content": "4", "if_match": "ab"})
        assert short.structured_content["error"]["code"] == "conflict"


async def test_specified_fields_appear_even_when_they_are_empty(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        note = await ask(client, "lithos_write", title="Empty", content="")
        read = await ask(client, "lithos_read", id=note["id"])
        assert {"id", "title", "content", "metadata", "links", "truncated"} <= read.keys()
        task = await ask(client, "lithos_task_create", title="t")
        (shown,) = (await ask(client, "lithos_task_status", task_id=task["task_id"]))["tasks"]
        assert shown["claims"] == []
        await ask(client, "lithos_finding_post", task_id=task["task_id"], summary="s")
        (found,) = (await ask(client, "lithos_finding_list", task_id=task["task_id"]))["findings"]
        assert found["knowledge_id"] is None
        assert "." not in found["created_at"]
        assert (await ask(client, "lithos_list"))["items"][0]["tags"] == []
        assert (await ask(client, "lithos_agent_info", id="ann"))["metadata"] == {}


async def test_a_list_is_bounded_unless_its_limit_was_chosen(connect: Connect, call: CallTool) -> None:
    for number in range(60):
        call("lithos_task_create", title=f"{number} " + "long title " * 25, agent="a", tags=[f"t{number}" * 5])
    async with connect() as client:
        short = await ask(client, "lithos_task_list")
        assert short["truncated"] is True and len(short["tasks"]) < 60
        assert estimate_tokens(orjson.dumps(short).decode()) <= MOST_TOKENS * 1.1
        seen = len(short["tasks"])
        rest = await ask(client, "lithos_task_list", cursor=short["next_cursor"], limit=100)
        assert seen + len(rest["tasks"]) == 60
        assert len((await ask(client, "lithos_task_list", limit=60))["tasks"]) == 60


async def test_snippets_carry_no_markup_and_audit_rows_are_terse(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        await ask(client, "lithos_write", title="Pool", content="The connection_pool_size is 20. " * 5)
        (hit,) = (await ask(client, "lithos_search", query="connection_pool_size"))["results"]
        assert "connection_pool_size" in hit["snippet"] and "<b>" not in hit["snippet"]
        (row,) = (await ask(client, "lithos_events_query"))["rows"]
        assert set(row) <= {"id", "at", "agent", "user", "type", "op", "thing", "path", "rationale"}
        (row,) = (await ask(client, "lithos_events_query", detail=True))["rows"]
        assert row["after_hash"].startswith("sha256:")


async def test_an_append_can_leave_out_its_echo_and_its_checkpoint(connect: Connect) -> None:
    thought = {"thought_type": "Idea", "content": "x", "agent_id": "a"}
    async with connect() as client:
        whole = await ask(client, "mentisdb_append", **thought)
        assert whole["thought"]["prev_hash"] and "checkpoint" not in whole
        assert "checkpoint" in await ask(client, "mentisdb_append", detail=True, **thought)
        brief = await ask(client, "mentisdb_append", echo=False, **thought)
        assert set(brief["thought"]) == {"id", "index"} and brief["head_hash"]


async def test_nothing_irrelevant_is_passed_off_as_an_answer(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        for number in range(12):
            await ask(client, "lithos_write", title=f"Deploy {number}", content=f"The canary rollout number {number}.")
        found = await ask(client, "lithos_recall", query="sourdough bread with rye flour")
        assert found["relevant"] is False and len(found["results"]) <= 3
