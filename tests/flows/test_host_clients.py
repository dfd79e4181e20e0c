"""Foreign clients over the guest, in both eras of the protocol; and many of them at once."""

from __future__ import annotations

from pathlib import Path

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.guests import Household, light_lithos, structured

pytestmark = pytest.mark.anyio


def guest_command(data_dir: Path) -> StdioServerParameters:
    command, *arguments = [*light_lithos(), "serve", "--data-dir", str(data_dir), "--toolsets", "core,board"]
    return StdioServerParameters(command=command, args=arguments)


async def test_the_official_client_works_over_a_guest_and_goes_on_when_the_host_is_killed(
    house: Household, era: str
) -> None:
    async with mcp.Client(stdio_client(guest_command(house.data_dir)), mode=era) as client:
        before = await client.list_tools()
        made = await client.call_tool("lithos_task_create", {"title": f"in {era}", "agent": "ann"})
        assert made.structured_content is not None and not made.is_error
        house.kill_host()
        found = await client.call_tool("lithos_task_status", {"task_id": made.structured_content["task_id"]})
        assert not found.is_error
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in before.tools]
    assert len(house.hosts()) == 1


async def test_one_guest_that_floods_starves_no_other_and_must_wait(house: Household) -> None:
    flood, quiet = house.guest(), house.guest()
    flood.initialize()
    quiet.initialize()
    task = quiet.call("lithos_task_create", title="held", agent="ann")["task_id"]
    token = quiet.call("lithos_task_claim", task_id=task, aspect="all", agent="ann")["token"]
    asked = [
        flood.ask("tools/call", {"name": "lithos_task_create", "arguments": {"title": f"{number}", "agent": "bob"}})
        for number in range(250)
    ]
    renewals = [
        flood.ask(
            "tools/call",
            {
                "name": "lithos_task_renew",
                "arguments": {"task_id": task, "aspect": "all", "agent": "ann", "claim_token": token},
            },
        )
    ]
    assert "agents" in quiet.call("lithos_stats")
    for key in renewals:
        assert structured(flood.answer(key))["success"] is True
    outcomes = [flood.answer(key)["result"] for key in asked]
    refused = [each["structuredContent"]["error"] for each in outcomes if each["isError"]]
    assert {each["code"] for each in refused} <= {"busy"}  # how many depends on the machine; test_host_turns knows when
    assert all(each["retryable"] and each["retry_after_ms"] >= 50 for each in refused)
    assert len(refused) < len(asked)


async def test_a_question_of_many_socket_buffers_is_answered(house: Household) -> None:
    guest = house.guest()
    guest.initialize()
    made = guest.call("lithos_task_create", title="large", agent="ann", description="ä" * 1_000_000)
    assert made["error"]["code"] in ("too_large", "invalid_input")
    assert structured(guest.request("tools/call", {"name": "lithos_task_status", "arguments": {}}))["tasks"] is not None
