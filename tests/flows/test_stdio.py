"""`lithos serve` over stdin and stdout: a real process, both eras, and input that is no protocol."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support import fork_server
from tests.support.guests import LITHOS, light_lithos

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


def command(data_dir: Path, *more: str) -> list[str]:
    return [*light_lithos(), "serve", "--data-dir", str(data_dir), *more]


@pytest.fixture(autouse=True)
def stopped_host(data_dir: Path) -> Iterator[None]:
    yield
    fork_server.run([*LITHOS, "stop", "--data-dir", str(data_dir)], timeout=60)


@pytest.mark.anyio
async def test_the_official_client_lists_and_calls_over_a_real_process(data_dir: Path, era: str) -> None:
    program, *arguments = [*LITHOS, "serve", "--data-dir", str(data_dir), "--toolsets", "find", "--agent", "anna"]
    async with mcp.Client(stdio_client(StdioServerParameters(command=program, args=arguments)), mode=era) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["lithos_tool_find", "lithos_tool_call"]
        await client.call_tool("lithos_stats", {})
        info = await client.call_tool("lithos_agent_info", {"id": "anna"})
        assert info.structured_content["id"] == "anna"


def talk(data_dir: Path, lines: list[bytes], until: int) -> list[dict[str, Any]]:
    """Sends everything, reads until the request `until` is answered; every line of stdout must be JSON-RPC."""
    answers: list[dict[str, Any]] = []
    with subprocess.Popen(command(data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        server.stdin.write(b"".join(lines))
        server.stdin.flush()
        while not any(answer.get("id") == until for answer in answers):
            answers.append(json.loads(server.stdout.readline()))
        rest, _ = server.communicate(timeout=60)
    answers += map(json.loads, rest.splitlines())
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    return answers


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def test_lines_that_are_no_protocol_are_answered_or_ignored_and_the_rest_is_served(data_dir: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "lithos_stats", "arguments": {}}}
    answers = talk(
        data_dir,
        [
            _line(INITIALIZE),
            _line({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            b"{not json\n",
            b"\xff\xfe\xfa\n",
            b"[]\n",
            b"\n",
            _line(call),
        ],
        until=2,
    )
    by_id = {answer.get("id"): answer for answer in answers}
    assert by_id[2]["result"]["structuredContent"]["documents"] == 0
    assert by_id[None]["error"]["code"] in (-32700, -32600)


def test_an_argument_of_ten_megabytes_is_refused_as_too_large(data_dir: Path) -> None:
    huge = {"name": "lithos_stats", "arguments": {"agent": "x" * 10_000_000}}
    answers = talk(
        data_dir,
        [
            _line(INITIALIZE),
            _line({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            _line({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": huge}),
        ],
        until=2,
    )
    [answer] = [answer for answer in answers if answer.get("id") == 2]
    assert answer["result"]["structuredContent"]["error"]["code"] == "too_large"


@pytest.mark.anyio
async def test_two_windows_without_an_agent_are_two_authors_and_share_no_claim(data_dir: Path, era: str) -> None:
    program, *arguments = command(data_dir)
    authors = []
    for _ in range(2):
        parameters = StdioServerParameters(command=program, args=arguments)
        async with mcp.Client(stdio_client(parameters), mode=era) as client:
            made = await client.call_tool("lithos_task_create", {"title": "whose"})
            task = made.structured_content["task_id"]
            shown = await client.call_tool("lithos_task_status", {"task_id": task})
            authors.append(shown.structured_content["tasks"][0]["created_by"])
            claim = await client.call_tool("lithos_task_claim", {"task_id": task, "aspect": "work"})
            assert "'agent' is missing" in claim.structured_content["error"]["message"]
    assert authors[0] != authors[1]
    assert all(author.startswith("mcp-") for author in authors)
