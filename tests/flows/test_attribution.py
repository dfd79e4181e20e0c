"""Calls that name no agent over HTTP: attributed to the client and its connection, and never a right."""

from __future__ import annotations

from typing import Any

import mcp
import mcp_types as types
import pytest

from lithos.app import Lithos
from tests.conftest import CallTool
from tests.support.wire import serving

pytestmark = pytest.mark.anyio


async def author_of_a_write(address: str, era: str, name: str, call: CallTool) -> str:
    info = types.Implementation(name=name, version="1")
    async with mcp.Client(f"{address}/mcp", mode=era, client_info=info) as client:
        required = {each.name: each.input_schema.get("required", []) for each in (await client.list_tools()).tools}
        assert "agent" not in required["lithos_write"] and "agent" in required["lithos_task_claim"]
        written = await client.call_tool("lithos_write", {"title": f"By {name}", "content": "x"})
        assert not written.is_error, written.structured_content
        return str(call("lithos_read", id=written.structured_content["id"])["metadata"]["author"])


async def test_a_write_without_an_agent_is_the_clients(lithos: Lithos, call: CallTool, era: str) -> None:
    with serving(lithos) as (address, _):
        first = await author_of_a_write(address, era, "editor", call)
        other = await author_of_a_write(address, era, "terminal", call)
        again = await author_of_a_write(address, era, "editor", call)
    assert first.startswith("editor-") and other.startswith("terminal-")
    if era == "auto":  # without sessions, a reconnect is the same connection
        assert again == first


async def test_two_windows_of_one_client_share_no_claim(lithos: Lithos, call: CallTool, era: str) -> None:
    task = call("lithos_task_create", title="t", agent="ann")["task_id"]
    with serving(lithos) as (address, _):
        async with mcp.Client(f"{address}/mcp", mode=era) as one, mcp.Client(f"{address}/mcp", mode=era) as two:
            for window in (one, two):
                refused = await window.call_tool("lithos_task_claim", {"task_id": task, "aspect": "work"})
                assert refused.is_error and "'agent' is missing" in error(refused)["message"]
            undone = await one.call_tool("lithos_undo", {})
            assert undone.is_error and "agent" in error(undone)["message"]
    assert call("lithos_task_status", task_id=task)["tasks"][0]["claims"] == []


def error(result: Any) -> dict[str, Any]:
    return dict(result.structured_content["error"])
