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


async def test_the_default_list_shows_core_and_nothing_else(connect: Connect) -> None:
    async with connect() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert "lithos_stats" in names
    assert not names & {"lithos_tool_find", "lithos_tool_call", "lithos_token_new"}


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
        assert schema["additionalProperties"] is False and "tool_call_id" not in schema["properties"]
        await client.call_tool("lithos_agent_register", {"id": "a"}, meta=IDS)
        found = await client.call_tool("lithos_events_query", {"transaction_id": "tx-7"})
    (row,) = found.structured_content["rows"]
    assert (row["tool_call_id"], row["agent_action_id"], row["agent"]) == ("call-7", "act-7", "a")


async def test_an_id_in_meta_that_is_no_short_text_is_refused(connect: Connect) -> None:
    async with connect() as client:
        for wrong in (7, "x" * 201, ["a"]):
            result = await client.call_tool("lithos_agent_register", {"id": "a"}, meta={"lithos/tool_call_id": wrong})
            assert result.structured_content["error"]["code"] == "invalid_input"
            assert "lithos/tool_call_id" in result.structured_content["error"]["message"]
