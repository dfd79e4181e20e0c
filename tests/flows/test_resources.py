"""Prompts, resources, completion and subscriptions: in memory, over stdio and over HTTP, in both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcp
import mcp_types as types
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from lithos.app import Lithos
from lithos.serving.mcp.resources import MOST_SUBSCRIPTIONS
from lithos.tools.caller import Caller
from tests.conftest import CallTool, Connect
from tests.support import fork_server
from tests.support.guests import light_lithos
from tests.support.wire import serving

pytestmark = pytest.mark.anyio
ANN = Caller(agent="ann")
SECONDS = 30


@pytest.fixture
def note(call: CallTool) -> dict[str, Any]:
    return call("lithos_write", title="Guide", content="# Guide\n\nfirst\n", path="ops", agent="ann")


async def test_prompts_are_listed_and_rendered(connect: Connect, note: dict[str, Any]) -> None:
    async with connect() as client:
        names = {each.name for each in (await client.list_prompts()).prompts}
        assert names == {"briefing", "remember", "recall", "handoff", "standup"}
        told = await client.get_prompt("briefing")
        assert "Guide" in told.messages[0].content.text
        said = await client.get_prompt("recall", {"question": "who owns {braces}?"})
        assert "who owns {braces}?" in said.messages[0].content.text
        with pytest.raises(MCPError, match="did you mean 'briefing'"):
            await client.get_prompt("brifing")
        with pytest.raises(MCPError, match="unknown argument"):
            await client.get_prompt("recall", {"sudo": "x"})


async def test_resources_are_read_by_address(connect: Connect, call: CallTool, note: dict[str, Any]) -> None:
    task = call("lithos_task_create", title="t", agent="ann")["task_id"]
    call("lithos_finding_post", task_id=task, summary="found it", agent="ann")
    call("mentisdb_append", thought_type="Idea", content="a thought", agent_id="a", chain_key="main")
    async with connect() as client:
        assert [each.uri for each in (await client.list_resources()).resources] == ["lithos://briefing"]
        shown = {each.uri_template for each in (await client.list_resource_templates()).resource_templates}
        assert shown == {
            "lithos://note/{+path}",
            "lithos://task/{id}",
            "lithos://chain/{key}",
            "lithos://inbox/{agent}",
        }
        for uri, words in (
            ("lithos://briefing", "Guide"),
            ("lithos://note/ops/guide.md", "first"),
            (f"lithos://task/{task}", "found it"),
            ("lithos://chain/main", "a thought"),
        ):
            assert words in (await client.read_resource(uri)).contents[0].text, uri
        for wrong in ("lithos://note/nowhere.md", "lithos://task/x", "lithos://sky", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)


async def test_addresses_are_completed(connect: Connect, note: dict[str, Any]) -> None:
    async with connect() as client:
        reference = types.ResourceTemplateReference(uri="lithos://note/{+path}")
        found = await client.complete(reference, {"name": "path", "value": "op"})
    assert found.completion.values == ["ops/guide.md"]


@asynccontextmanager
async def following(client: mcp.Client, era: str, heard: asyncio.Queue[str], uris: list[str]) -> AsyncIterator[None]:
    """Follow these resources in the way of the era; `heard` gets the address of each that changed."""
    if era == "legacy":
        for uri in uris:
            await client.subscribe_resource(uri)
        yield
        return
    async with client.listen(resource_subscriptions=uris) as stream:

        async def pump() -> None:
            async for event in stream:
                heard.put_nowait(str(getattr(event, "uri", "")))

        pumping = asyncio.create_task(pump())
        try:
            yield
        finally:
            pumping.cancel()


def hearing(heard: asyncio.Queue[str]) -> Any:
    async def handler(message: Any) -> None:
        root = getattr(message, "root", message)
        if isinstance(root, types.ResourceUpdatedNotification):
            heard.put_nowait(str(root.params.uri))

    return handler


async def change_and_hear(client: mcp.Client, era: str, heard: asyncio.Queue[str]) -> None:
    made = await client.call_tool("lithos_write", {"title": "Guide", "content": "one", "agent": "ann"})
    other = await client.call_tool("lithos_write", {"title": "Other", "content": "one", "agent": "ann"})
    uri = f"lithos://note/{made.structured_content['path']}"
    async with following(client, era, heard, [uri]):
        for note in (other, made):
            change = {"id": note.structured_content["id"], "content": "two", "agent": "ben"}
            await client.call_tool("lithos_write", change)
        assert await asyncio.wait_for(heard.get(), SECONDS) == uri


async def test_an_inbox_is_followed_by_those_who_may_read_it(lithos: Lithos, call: CallTool) -> None:
    from lithos.serving import build_server

    call("lithos_inbox_list", agent="ben")
    server = build_server(lithos, default=Caller(agent="eve", bound=True))
    async with mcp.Client(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="belongs to the agent"):
            await client.subscribe_resource("lithos://inbox/ben")
        await client.subscribe_resource("lithos://inbox/eve")


@pytest.mark.parametrize("who", ["its name", "another's name", "another's token"])
async def test_mail_of_a_session_is_heard_by_its_receivers_token_alone(
    lithos: Lithos, call: CallTool, era: str, who: str
) -> None:
    """Neither through the inbox nor through the briefing."""
    from lithos.serving import build_server

    eve = Caller(agent="eve", bound=True)
    other = {"its name": Caller(agent="eve"), "another's name": ANN, "another's token": Caller(agent="ben", bound=True)}
    session = call("lithos_session_create", _caller=eve, name="s")["session_id"]
    call("lithos_session_activate", _caller=eve, session_id=session)
    own = asyncio.Queue[str](), "lithos://inbox/eve"
    others = asyncio.Queue[str](), f"lithos://inbox/{other[who].agent}"
    async with AsyncExitStack() as stack:
        for caller, (queue, inbox) in ((eve, own), (other[who], others)):
            server, handler = build_server(lithos, default=caller), hearing(queue) if era == "legacy" else None
            client = await stack.enter_async_context(mcp.Client(server, mode=era, message_handler=handler))
            await stack.enter_async_context(following(client, era, queue, ["lithos://briefing", inbox]))
        send = partial(call, "lithos_message_send", body="hello")
        for _ in range(2):
            await asyncio.to_thread(partial(send, _caller=eve, target="eve", session_id=session))
            assert {await asyncio.wait_for(own[0].get(), SECONDS) for _ in range(2)} == {"lithos://briefing", own[1]}
        await asyncio.to_thread(partial(send, _caller=ANN, target=other[who].agent))
        heard = [await asyncio.wait_for(others[0].get(), SECONDS)]
        while heard[-1] != others[1]:
            heard.append(await asyncio.wait_for(others[0].get(), SECONDS))
        assert heard == ["lithos://briefing", others[1]]
        assert others[0].empty()


@pytest.mark.both_databases
async def test_every_kind_of_change_is_heard_in_every_form(lithos: Lithos, call: CallTool, era: str) -> None:
    """A note by a tool and by a person's editor, a task, a claim, a finding, a thought, and the briefing."""
    from lithos.serving import build_server

    note = call("lithos_write", title="Guide", content="one", agent="ann")
    task = call("lithos_task_create", title="t", agent="ann")["task_id"]
    call("mentisdb_append", thought_type="Idea", content="a", agent_id="a", chain_key="main")
    file = lithos.storage.data_dir / "knowledge" / note["path"]

    def by_hand() -> None:
        file.write_text(file.read_text() + "\nby hand\n")
        lithos.notes.index.reconcile()

    about_task = {"task_id": task, "agent": "ben"}
    changes: list[tuple[str, Callable[[], Any]]] = [
        (f"lithos://note/{note['path']}", lambda: call("lithos_write", id=note["id"], content="two", agent="ben")),
        (f"lithos://note/{note['path']}", by_hand),
        (f"lithos://task/{task}", lambda: call("lithos_task_claim", aspect="work", **about_task)),
        (f"lithos://task/{task}", lambda: call("lithos_finding_post", summary="s", **about_task)),
        (
            "lithos://chain/main",
            lambda: call("mentisdb_append", thought_type="Idea", content="b", agent_id="a", chain_key="main"),
        ),
        ("lithos://briefing", lambda: call("lithos_task_create", title="u", agent="ann")),
        ("lithos://inbox/ben", lambda: call("lithos_message_send", _caller=ANN, body="hello", target="ben")),
    ]
    for uri, change in changes:
        heard: asyncio.Queue[str] = asyncio.Queue()
        server = build_server(lithos)
        async with (
            mcp.Client(server, mode=era, message_handler=hearing(heard)) as client,
            following(client, era, heard, [uri]),
        ):
            await asyncio.to_thread(change)
            assert await asyncio.wait_for(heard.get(), SECONDS) == uri


async def test_nothing_is_read_while_nothing_changes(
    lithos: Lithos, call: CallTool, era: str, note: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lithos.serving import build_server

    looks = 0
    read = type(lithos.changes).read

    def counted(*arguments: Any) -> Any:
        nonlocal looks
        looks += 1
        return read(*arguments)

    monkeypatch.setattr(type(lithos.changes), "read", counted)
    heard: asyncio.Queue[str] = asyncio.Queue()
    server = build_server(lithos)
    async with (
        mcp.Client(server, mode=era, message_handler=hearing(heard)) as client,
        following(client, era, heard, ["lithos://note/ops/guide.md"]),
    ):
        for _ in range(50):
            await client.call_tool("lithos_stats", {})
        assert looks == 1  # where to begin
        await asyncio.to_thread(lambda: call("lithos_write", id=note["id"], content="two", agent="b"))
        await asyncio.wait_for(heard.get(), SECONDS)
        assert looks > 1


@pytest.fixture
def stopped_host(data_dir: Path) -> Iterator[None]:
    yield
    stop = [sys.executable, "-m", "lithos.cli.entry", "stop", "--data-dir", str(data_dir)]
    fork_server.run(stop, timeout=60)


@pytest.mark.usefixtures("stopped_host")
async def test_a_subscription_over_stdio_fires_when_the_note_changes(data_dir: Path, era: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    command, *arguments = [*light_lithos(), "serve", "--data-dir", str(data_dir)]
    server = stdio_client(StdioServerParameters(command=command, args=arguments))
    async with mcp.Client(server, mode=era, message_handler=hearing(heard)) as client:
        await change_and_hear(client, era, heard)


async def test_a_subscription_over_http_fires_when_the_note_changes(lithos: Lithos, era: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    with serving(lithos) as (address, _):
        async with mcp.Client(f"{address}/mcp", mode=era, message_handler=hearing(heard)) as client:
            await change_and_hear(client, era, heard)


async def test_too_many_subscriptions_are_refused_and_nothing_is_kept(
    lithos: Lithos, call: CallTool, era: str, note: dict[str, Any]
) -> None:
    from lithos.serving import build_server

    async with mcp.Client(build_server(lithos), mode=era) as client:
        if era == "auto":
            uris = [f"lithos://task/{number}" for number in range(10_000)]
            with pytest.raises(MCPError, match=str(MOST_SUBSCRIPTIONS)):
                async with client.listen(resource_subscriptions=uris):
                    pass
            tasks = [call("lithos_task_create", title=f"t{number}", agent="a")["task_id"] for number in range(150)]
            uris = [f"lithos://task/{task}" for task in tasks]
            async with client.listen(resource_subscriptions=uris):
                with pytest.raises(MCPError, match=str(MOST_SUBSCRIPTIONS)):  # of all its streams together
                    async with client.listen(resource_subscriptions=uris):
                        pass
            return
        for number in range(MOST_SUBSCRIPTIONS):
            task = call("lithos_task_create", title=f"t{number}", agent="a")["task_id"]
            await client.subscribe_resource(f"lithos://task/{task}")
        with pytest.raises(MCPError, match=str(MOST_SUBSCRIPTIONS)):
            await client.subscribe_resource("lithos://note/ops/guide.md")
        await client.unsubscribe_resource(f"lithos://task/{task}")
        await client.subscribe_resource("lithos://note/ops/guide.md")
        await client.unsubscribe_resource("lithos://note/ops/guide.md")
        with pytest.raises(MCPError, match="no note"):
            await client.subscribe_resource("lithos://note/nowhere.md")
