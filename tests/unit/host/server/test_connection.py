"""One guest at the host's end: what the SDK's streams, hooks and `ctx.request` must keep doing for us."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop

from lithos.host.server import connection as connection_module
from lithos.host.server.connection import MOST_OPEN, Connection, Hello
from lithos.host.server.handshake import Refusal, Replace, Welcome, answer_hello
from lithos.host.server.pipe import ENOUGH, Pipe
from lithos.tools.caller import Caller
from tests.support.waiting import until_async

pytestmark = pytest.mark.anyio
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
Work = Callable[[Any, str], Awaitable[None]]


class Far:
    """The guest's end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    def send(self, method: str, key: int | str | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if key is None else {"id": key})
        self.writer.write(json.dumps(message).encode() + b"\n")

    def call(self, key: int | str, tool: str = "work") -> None:
        self.send("tools/call", key, name=tool, arguments={})

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            found: dict[str, Any] = json.loads(await self._reader.readline())
        return found

    async def begin(self) -> None:
        self.send("initialize", 0, **INITIALIZE)
        assert (await self.receive())["id"] == 0
        self.send("notifications/initialized")


@asynccontextmanager
async def connected(work: Work, resent: list[int | str] | None = None) -> AsyncIterator[tuple[Far, Connection]]:
    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        await work(ctx, params.name)
        return types.CallToolResult(content=[])

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    server: Server[Any] = Server("test", on_call_tool=call_tool, on_list_tools=list_tools)
    near, far = socket.socketpair()
    pipe = Pipe(1 << 20)
    near.setblocking(False)
    await asyncio.get_running_loop().connect_accepted_socket(lambda: pipe, near)
    hello = Hello(pipe=1, version="1", id="guest-id", pid=1, agent="ann", resent=resent or [])
    guest = Connection(pipe, hello, Caller(), (), lambda name: name == "wait")
    serving = asyncio.create_task(
        serve_dual_era_loop(
            server, guest, guest, lifespan_state=None, init_options=server.create_initialization_options()
        )
    )
    reader, writer = await asyncio.open_unix_connection(sock=far)
    try:
        yield Far(reader, writer), guest
    finally:
        writer.close()
        async with asyncio.timeout(10):
            await serving
        await pipe.close(1)


async def test_a_handler_learns_who_asks_and_whether_the_call_comes_again() -> None:
    seen = []

    async def work(ctx: Any, name: str) -> None:
        seen.append(ctx.request.caller(ctx.request_id))

    async with connected(work, resent=[7, "7"]) as (far, _):
        await far.begin()
        for key in (7, 7, "7", 8):
            far.call(key)
            await far.receive()
    assert [(caller.delivery.request, caller.delivery.resent) for caller in seen] == [
        ("7", True),
        ("7", False),
        ('"7"', True),
        ("8", False),
    ]
    assert {(caller.agent, caller.delivery.guest) for caller in seen} == {("ann", "guest-id")}


async def test_the_end_of_a_guest_does_not_cancel_what_it_began() -> None:
    finished = asyncio.Event()
    go_on = asyncio.Event()

    async def work(ctx: Any, name: str) -> None:
        await go_on.wait()
        finished.set()

    async with connected(work) as (far, guest):
        await far.begin()
        far.call(1)
        far.writer.write_eof()
        await until_async(lambda: guest.open == 1)
        go_on.set()
        async with asyncio.timeout(10):
            await finished.wait()


async def test_a_goodbye_follows_the_answers_and_leaves_unread_requests_unread() -> None:
    go_on = asyncio.Event()
    ran = []

    async def work(ctx: Any, name: str) -> None:
        ran.append(ctx.request_id)
        await go_on.wait()

    async with connected(work) as (far, guest):
        await far.begin()
        far.call(1)
        await until_async(lambda: guest.open == 1)
        guest.drain("handover", 10)
        far.call(2)
        go_on.set()
        assert (await far.receive())["id"] == 1
        assert await far.receive() == {"lithos": "bye", "why": "handover"}
    assert ran == [1]


async def test_a_call_that_waits_is_cut_short_by_a_goodbye_without_an_answer() -> None:
    async def work(ctx: Any, name: str) -> None:
        await asyncio.Event().wait()

    async with connected(work) as (far, guest):
        await far.begin()
        far.call(1, "wait")
        await until_async(lambda: guest.open == 1)
        guest.drain("stop", 10)
        assert await far.receive() == {"lithos": "bye", "why": "stop"}


async def test_a_cancelled_request_is_no_longer_open() -> None:
    async def work(ctx: Any, name: str) -> None:
        await asyncio.Event().wait()

    async with connected(work) as (far, guest):
        await far.begin()
        far.call(1)
        await until_async(lambda: guest.open == 1)
        far.send("notifications/cancelled", requestId=1)
        await until_async(lambda: guest.open == 0)


async def test_a_line_that_is_no_message_is_answered() -> None:
    async def work(ctx: Any, name: str) -> None:
        return

    async with connected(work) as (far, _):
        await far.begin()
        far.writer.write(b'{"jsonrpc": "2.0", "id": 1}\nnonsense\n')
        for key, code in ((1, -32600), (None, -32700)):
            told = await far.receive()
            assert (told["id"], told["error"]["code"]) == (key, code)
        far.send("ping", 5)
        assert (await far.receive())["id"] == 5


async def test_half_a_character_reaches_the_tool_which_refuses_it_by_name() -> None:
    """As "\\ud83d", which many clients send of an emoji that was cut in two; pydantic calls it no JSON at all."""
    heard: list[str] = []

    async def work(ctx: Any, name: str) -> None:
        heard.append(name)

    async with connected(work) as (far, _):
        await far.begin()
        far.call(1, "half \ud83d")
        assert (await far.receive())["id"] == 1
        far.call("\ud83d")
        assert (await far.receive())["id"] is None
        far.send("ping", 5)
        assert (await far.receive())["id"] == 5
    assert heard == ["half \ud83d"]


async def test_a_short_line_before_half_a_long_one_does_not_stop_the_pipe() -> None:
    """What is read ahead is bounded, but a line that is longer than the bound must still come in whole."""

    async def work(ctx: Any, name: str) -> None:
        return

    async with connected(work) as (far, _):
        await far.begin()
        long = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s"}}' % ("x" * (4 * ENOUGH))
        far.writer.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' + long.encode() + b"\n")
        assert {(await far.receive())["id"] for _ in range(2)} == {1, 2}


async def test_a_flood_waits_in_the_pipe_and_not_in_memory() -> None:
    go_on = asyncio.Event()
    most = 0

    async def work(ctx: Any, name: str) -> None:
        nonlocal most
        most = max(most, ctx.request.open)
        await go_on.wait()

    async with connected(work) as (far, guest):
        await far.begin()
        for key in range(1, 3 * MOST_OPEN):
            far.call(key)
        await until_async(lambda: guest.open == MOST_OPEN)
        go_on.set()
        answered = {(await far.receive())["id"] for _ in range(1, 3 * MOST_OPEN)}
    assert len(answered) == 3 * MOST_OPEN - 1
    assert most <= MOST_OPEN


async def test_a_guest_that_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "WRITE_SECONDS", 0.05)

    async def work(ctx: Any, name: str) -> None:
        await ctx.request._write(b"x" * (8 << 20))

    async with connected(work) as (far, guest):
        await far.begin()
        far.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a read transport as well
        far.call(1)
        await until_async(lambda: guest.calls == 2 and guest.open == 0)


# ---------------------------------------------------------------------- what a host answers to the first line


def greeted(version: str, *, pipe: int = 1, guests: int = 0, replaceable: bool = True, **hello: Any) -> Any:
    said = Hello(pipe=pipe, version=version, id="guest-id", pid=1, **hello)
    return answer_hello(
        said,
        pid=4,
        guests=guests,
        replaceable=replaceable,
        options={"LITHOS_A": "1"},
        check_toolsets=lambda names: None,
    )


async def test_versions_decide_between_welcome_warning_replacement_and_refusal() -> None:
    from lithos import __version__

    assert greeted(__version__, guests=3) == Welcome(())
    assert greeted("99.0.0") == Replace()
    assert greeted("99.0.0", pipe=2) == Replace()
    for kept in (greeted("99.0.0", guests=1), greeted("99.0.0", replaceable=False)):
        assert isinstance(kept, Welcome) and "99.0.0" in kept.warnings[0]
    older = greeted("0.0.1")
    assert isinstance(older, Welcome) and "newer Lithos" in older.warnings[0]
    assert isinstance(greeted("0.0.1", pipe=0), Refusal)
    assert isinstance(greeted("99.0.0", pipe=2, guests=1), Refusal)


async def test_an_option_of_the_guest_that_the_host_lacks_is_named_without_its_value() -> None:
    from lithos import __version__

    told = greeted(__version__, options={"LITHOS_A": "1", "LITHOS_B": "secret value"})
    assert isinstance(told, Welcome)
    assert "LITHOS_B" in told.warnings[0] and "LITHOS_A" not in told.warnings[0]
    assert "secret value" not in told.warnings[0]


@pytest.mark.parametrize(
    ("one", "other"), [("0.2.0", "0.1.9"), ("0.10.0", "0.9.9"), ("1.0.0", "0.99"), ("2.0", "1.9.9rc1")]
)
async def test_versions_are_compared_as_numbers(one: str, other: str) -> None:
    from lithos.host.wire import is_newer

    assert is_newer(one, other) and not is_newer(other, one)
