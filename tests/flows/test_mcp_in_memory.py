"""The registry over MCP, in both eras of the protocol, through the official client in memory."""

from __future__ import annotations

import json
import logging
from contextlib import AbstractAsyncContextManager
from typing import Any

import mcp
import pytest

from lithos.app import Lithos
from lithos.errors import Busy
from lithos.serving import build_server
from lithos.tools.registry import Tool
from tests.conftest import Connect

pytestmark = pytest.mark.anyio


async def test_the_default_list_shows_core_and_the_way_to_the_rest(connect: Connect) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools
    names = {tool.name for tool in tools}
    assert {"lithos_recall", "lithos_md_patch_section", "lithos_tool_find", "lithos_tool_call"} <= names
    assert not names & {"lithos_stats", "lithos_token_new"}
    assert all(tool.title for tool in tools)


async def test_a_connection_that_only_reads_lists_reading_tools(connect: Connect) -> None:
    async with connect(read_only=True, toolsets=("all",)) as client:
        tools = (await client.list_tools()).tools
        assert all(tool.annotations.read_only_hint for tool in tools)
        assert "lithos_tool_call" in {tool.name for tool in tools}
        written = {"title": "t", "content": "c", "agent": "a"}
        result = await client.call_tool("lithos_tool_call", {"name": "lithos_write", "arguments": written})
    assert result.structured_content["error"]["code"] == "forbidden"


async def test_instructions_and_hints_name_only_what_the_connection_lists(connect: Connect) -> None:
    async with connect(toolsets=("ledger",)) as client:
        assert "lithos_recall (through lithos_tool_call)" in (client.instructions or "")
        result = await client.call_tool("lithos_read", {"path": "nowhere.md"})
        assert "(through lithos_tool_call)" in result.structured_content["error"]["hint"]
    async with connect() as client:
        assert "(through lithos_tool_call)" not in (client.instructions or "")


async def test_a_retry_key_in_meta_counts_as_one_among_the_arguments(connect: Connect) -> None:
    new = {"title": "once", "agent": "a"}
    async with connect() as client:
        first, again = [
            (await client.call_tool("lithos_task_create", new, meta=meta)).structured_content
            for meta in ({"idempotency_key": "k"}, {"lithos/idempotency_key": "k"})
        ]
        same = (await client.call_tool("lithos_task_create", {**new, "idempotency_key": "k"})).structured_content
        other = {**new, "idempotency_key": "k"}
        both = await client.call_tool("lithos_task_create", other, meta={"idempotency_key": "z"})
    assert first == again == same
    assert both.structured_content["error"]["code"] == "invalid_input"


async def test_no_schema_requires_the_agent_that_the_connection_has(connect: Connect) -> None:
    async with connect(agent="anna") as client:
        for each in (await client.list_tools()).tools:
            assert "agent" not in each.input_schema.get("required", [])
        made = await client.call_tool("lithos_task_create", {"title": "t"})
        shown = await client.call_tool("lithos_task_status", {"task_id": made.structured_content["task_id"]})
    assert shown.structured_content["tasks"][0]["created_by"] == "anna"


async def test_an_answer_is_the_same_json_as_text_and_as_structure(connect: Connect) -> None:
    async with connect() as client:
        await client.call_tool("lithos_agent_register", {"id": "a", "metadata": {"none": None}})
        result = await client.call_tool("lithos_agent_info", {"id": "a"})
    assert result.structured_content["name"] is None
    assert result.structured_content["metadata"] == {"none": None}
    assert json.loads(result.content[0].text) == result.structured_content
    assert not result.is_error


async def test_a_refusal_is_a_tool_error_with_code_message_hint_and_retryable(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call_tool("lithos_agent_info", {"id": "nobody"})
    assert result.is_error
    error = result.structured_content["error"]
    assert error["code"] == "not_found"
    assert error["retryable"] is False
    assert error["message"] and error["hint"]


async def test_a_line_of_the_log_stays_one_line(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lithos.calls"):
        async with connect() as client:
            await client.call_tool("no\ntool \u202e", {})
    assert caplog.messages[-1].startswith(r"tool='no\ntool \u202e' agent=- ms=")


async def test_a_call_that_the_gate_turns_away_is_a_whole_answer(lithos: Lithos, era: str) -> None:
    def full(request: Any, tool: Tool) -> AbstractAsyncContextManager[object]:
        raise Busy(f"no room for {tool.name}", retry_after_ms=50)

    async with mcp.Client(build_server(lithos, gate=full), mode=era) as client:
        inner = {"name": "lithos_stats", "arguments": {}}
        result = await client.call_tool("lithos_tool_call", inner)
    assert result.is_error and result.result_type == "complete"
    assert result.structured_content["error"]["message"] == "no room for lithos_stats"


IDS = {"lithos/tool_call_id": "call-7", "lithos/transaction_id": "tx-7", "lithos/agent_action_id": "act-7"}


async def test_ids_in_meta_tie_a_change_to_the_trace_of_a_client_that_validates(connect: Connect) -> None:
    async with connect() as client:
        schema = next(tool.input_schema for tool in (await client.list_tools()).tools if tool.name == "lithos_write")
        assert "additionalProperties" not in schema and "tool_call_id" not in schema["properties"]
        await client.call_tool("lithos_agent_register", {"id": "a"}, meta=IDS)
        found = await client.call_tool("lithos_events_query", {"transaction_id": "tx-7", "detail": True})
    (row,) = found.structured_content["rows"]
    assert (row["tool_call_id"], row["agent_action_id"], row["agent"]) == ("call-7", "act-7", "a")


async def test_an_id_in_meta_that_is_no_short_text_is_refused(connect: Connect) -> None:
    async with connect() as client:
        for wrong in (7, "x" * 201, ["a"]):
            result = await client.call_tool("lithos_agent_register", {"id": "a"}, meta={"lithos/tool_call_id": wrong})
            assert result.structured_content["error"]["code"] == "invalid_input"
            assert "tool_call_id" in result.structured_content["error"]["message"]
