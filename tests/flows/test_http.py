"""The server over HTTP, with a raw client, in both eras of the protocol."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import mcp
import pytest
from mcp.client.sse import sse_client

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.serving import bind
from lithos.serving.http.app import MOST_SESSIONS
from lithos.settings import ServerSettings
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Registry, tool
from tests.conftest import CallTool
from tests.support.waiting import until
from tests.support.wire import ACCEPT, Raw, serving

OPEN = ServerSettings(host="0.0.0.0")  # the rules of an address that others can reach; the tests bind loopback


@pytest.fixture
def url(lithos: Lithos) -> Iterator[str]:
    with serving(lithos) as (address, _):
        yield address


@pytest.fixture
def open_url(lithos: Lithos) -> Iterator[str]:
    with serving(lithos, OPEN) as (address, _):
        yield address


def _token(lithos: Lithos, **facts: Any) -> str:
    return lithos.tokens.new(Call("lithos_token_new"), "test", **facts)["token"]


def _bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_a_tool_is_called_and_answers(url: str, era: str) -> None:
    with Raw(url, era) as client:
        assert client.call("lithos_agent_register", id="a")["structuredContent"] == {"success": True, "created": True}
        assert client.call("lithos_agent_info", id="a")["structuredContent"]["id"] == "a"


def test_toolsets_come_from_the_url_or_a_header(url: str, era: str) -> None:
    with Raw(url, era, path="/mcp?toolsets=find") as client:
        assert client.names() == {"lithos_tool_find", "lithos_tool_call"}
    with Raw(url, era, headers={"x-lithos-toolsets": "core,find"}) as client:
        assert {"lithos_recall", "lithos_tool_find"} <= client.names()


def test_a_tool_that_is_not_listed_can_be_called(url: str, era: str) -> None:
    with Raw(url, era, path="/mcp?toolsets=find") as client:
        assert client.call("lithos_stats")["structuredContent"]["documents"] == 0


def test_an_unknown_toolset_is_refused_with_the_nearest_name(url: str) -> None:
    answer = httpx.post(f"{url}/mcp?toolsets=cor", headers=ACCEPT, json={})
    assert answer.status_code == 400
    assert "core" in answer.json()["error"]["hint"]


def test_old_clients_are_served_over_sse_with_the_toolsets_of_their_url(lithos: Lithos, url: str) -> None:
    import anyio

    async def talk() -> tuple[set[str], Any]:
        async with sse_client(f"{url}/sse?toolsets=find") as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            listed = await session.list_tools()
            answer = await session.call_tool("lithos_stats", {})
            return {each.name for each in listed.tools}, answer.structured_content

    names, stats = anyio.run(talk)
    assert names == {"lithos_tool_find", "lithos_tool_call"}
    assert stats["documents"] == 0


def test_health_says_ready_or_why_not_and_no_path(lithos: Lithos, url: str, data_dir: Path) -> None:
    answer = httpx.get(f"{url}/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    (data_dir / ".lithos" / "coordination.db").unlink()
    answer = httpx.get(f"{url}/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert answer.json()["reason"].startswith("coordination.db was removed")
    assert str(data_dir) not in answer.text


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/health", "/messages/"])
def test_a_foreign_host_header_is_refused_everywhere(url: str, path: str) -> None:
    answer = httpx.get(f"{url}{path}", headers={"host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "forbidden")


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/health", "/messages/"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1.evil.example:80", "file://"])
def test_a_foreign_origin_is_refused_everywhere(url: str, path: str, origin: str) -> None:
    assert httpx.get(f"{url}{path}", headers={"origin": origin}).status_code == 403


def test_loopback_origins_and_allowed_names_pass(lithos: Lithos) -> None:
    settings = ServerSettings(allowed_hosts=("lithos.lan",), allowed_origins=("https://board.lan",))
    with serving(lithos, settings) as (url, _):
        for headers in (
            {"origin": "http://localhost:3000"},
            {"origin": "https://board.lan"},
            {"host": "lithos.lan:8765"},
            {"host": "localhost:1"},
        ):
            assert httpx.get(f"{url}/health", headers=headers).status_code == 200, headers


def test_an_open_address_without_a_token_answers_401(open_url: str, lithos: Lithos, era: str) -> None:
    _token(lithos)
    answer = Raw(open_url, era).post("tools/list")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert httpx.get(f"{open_url}/health").status_code == 200


def test_a_wrong_token_answers_401_even_on_loopback(url: str, era: str) -> None:
    assert Raw(url, era, headers=_bearer("lithos_guess")).post("tools/list").status_code == 401


def test_a_token_opens_and_a_revoked_one_does_not(open_url: str, lithos: Lithos, era: str) -> None:
    secret = _token(lithos)
    with Raw(open_url, era, headers=_bearer(secret)) as client:
        assert "lithos_recall" in client.names()
        lithos.tokens.revoke(Call("lithos_token_revoke"), lithos.tokens.list()["tokens"][0]["id"])
        assert client.post("tools/list").status_code == 401


def test_a_token_of_read_scope_reads_and_changes_nothing(open_url: str, lithos: Lithos, era: str) -> None:
    with Raw(open_url, era, headers=_bearer(_token(lithos, scope="read"))) as client:
        assert client.call("lithos_stats")["structuredContent"]["agents"] == 0
        refused = client.call("lithos_agent_register", id="a")
        hidden = client.call("lithos_tool_call", name="lithos_agent_register", arguments={"id": "a"})
    for result in (refused, hidden):
        assert result["isError"] and result["structuredContent"]["error"]["code"] == "forbidden"
    assert lithos.agents.count() == 0


def test_a_token_bound_to_an_agent_acts_as_no_other(open_url: str, lithos: Lithos, era: str) -> None:
    with Raw(open_url, era, headers=_bearer(_token(lithos, agent="anna"))) as client:
        assert client.call("lithos_agent_register", id="bob")["structuredContent"]["error"]["code"] == "forbidden"
        assert client.call("lithos_stats", agent="bob")["structuredContent"]["error"]["code"] == "forbidden"
        assert client.call("lithos_stats")["structuredContent"]["agents"] == 0
    assert [each["id"] for each in lithos.agents.list(None, None, 10, 0)["agents"]] == ["anna"]


def test_a_token_bound_to_a_user_opens_no_other_users_files_and_events(open_url: str, lithos: Lithos, era: str) -> None:
    with Raw(open_url, era, headers=_bearer(_token(lithos))) as owner:
        for user in ("ana", "ben"):
            what = {"path": f"users/{user}/notes.md", "text": f"of {user}", "rationale": "r", "agent": "g"}
            assert not owner.call("lithos_fs_append", user_id=user, **what).get("isError")
        proposal = owner.call("lithos_propose_change", user_id="ben", path="users/ben/notes.md", content="taken\n")
        seen = owner.call("lithos_events_query")["structuredContent"]["rows"]
        assert {"ana", "ben"} <= {row.get("user") for row in seen}
    with Raw(open_url, era, headers=_bearer(_token(lithos, user="ana"))) as client:
        assert client.call("lithos_fs_read", path="users/ana/notes.md")["structuredContent"]["content"] == "of ana\n"
        own = client.call("lithos_events_query")["structuredContent"]["rows"]
        assert [(row["user"], row["path"]) for row in own] == [("ana", "users/ana/notes.md")]
        why = {"rationale": "r", "agent": "g"}
        proposal_id = proposal["structuredContent"]["proposal_id"]
        refused = [
            client.call("lithos_fs_read", path="users/ben/notes.md"),
            client.call("lithos_fs_read", path="users/ben/notes.md", user_id="ben"),
            client.call("lithos_events_query", user_id="ben"),
            client.call("lithos_tool_call", name="lithos_events_query", arguments={"user_id": "ben"}),
            client.call("lithos_apply_change", proposal_id=proposal_id, user_id="ben", **why),
            client.call("lithos_events_log", type="t", op="o", path="users/ben/notes.md", **why),
        ]
        hidden = client.call("lithos_apply_change", proposal_id=proposal_id, **why)
    assert {each["structuredContent"]["error"]["code"] for each in refused} == {"forbidden"}
    assert hidden["structuredContent"]["error"]["code"] == "not_found"


def test_a_token_of_read_scope_sees_events_of_a_user_that_it_names_only(
    open_url: str, lithos: Lithos, era: str
) -> None:
    with Raw(open_url, era, headers=_bearer(_token(lithos, scope="read"))) as client:
        assert client.call("lithos_events_query")["structuredContent"]["error"]["code"] == "forbidden"
        assert client.call("lithos_events_query", user_id="ana")["structuredContent"]["rows"] == []


def test_a_header_cannot_name_another_agent_than_the_tokens(open_url: str, lithos: Lithos, era: str) -> None:
    headers = {**_bearer(_token(lithos, agent="anna")), "x-lithos-agent": "bob"}
    assert Raw(open_url, era, headers=headers).post("tools/list").status_code == 403


def test_a_session_belongs_to_the_token_that_opened_it(open_url: str, lithos: Lithos) -> None:
    with Raw(open_url, "legacy", headers=_bearer(_token(lithos))) as client:
        other = client.post("tools/list", headers=_bearer(_token(lithos)))
    assert other.status_code == 404


def test_the_operators_tools_are_refused_over_http(url: str, era: str) -> None:
    with Raw(url, era, path="/mcp?toolsets=all") as client:
        assert not any(name.startswith("lithos_token_") for name in client.names())
        assert client.call("lithos_token_new", name="x")["structuredContent"]["error"]["code"] == "forbidden"


def test_a_body_above_the_limit_answers_413(lithos: Lithos, era: str) -> None:
    with serving(lithos, ServerSettings(max_request_bytes=50_000)) as (url, _), Raw(url, era) as client:
        answer = client.post("tools/call", {"name": "lithos_stats", "arguments": {"agent": "x" * 60_000}})
        assert answer.status_code == 413
        assert client.call("lithos_stats")["structuredContent"]["agents"] == 0


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b'"text"', b"[]", b"", b'{"jsonrpc":"2.0"}'])
def test_a_body_that_is_no_request_answers_400_and_the_server_goes_on(url: str, era: str, body: bytes) -> None:
    with Raw(url, era) as client:
        _, headers = client.message("tools/call", {"name": "lithos_stats"})
        answer = client.http.post("/mcp", content=body, headers=headers)
        assert answer.status_code == 400
        assert client.call("lithos_stats")["structuredContent"]["documents"] == 0


@pytest.mark.parametrize("option", ["?readonly=1", "?readOnly=1", "?read-only=true", "?READ_ONLY=1"])
def test_an_option_in_the_url_that_is_almost_spelled_right_is_refused(url: str, era: str, option: str) -> None:
    answer = Raw(url, era, path=f"/mcp{option}").post("tools/list")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
    assert "read_only" in answer.json()["error"]["hint"]


@pytest.mark.parametrize("header", ["x-lithos-readonly", "x-lithos-read-onyl", "x-lithos-scope"])
def test_a_header_of_ours_that_is_unknown_is_refused(url: str, era: str, header: str) -> None:
    assert Raw(url, era, headers={header: "1"}).post("tools/list").status_code == 400


def test_parameters_of_others_in_the_url_are_left_alone(url: str, era: str) -> None:
    with Raw(url, era, path="/mcp?utm_source=x&key=1") as client:
        assert client.call("lithos_stats")["structuredContent"]["agents"] == 0


@pytest.mark.parametrize("option", ["?read_only=YES", "?read_only=0&read_only=1"])
def test_messages_of_an_sse_client_have_the_options_of_its_stream(lithos: Lithos, url: str, option: str) -> None:
    import anyio

    async def talk() -> Any:
        async with sse_client(f"{url}/sse{option}&agent=carla") as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            await session.call_tool("lithos_stats", {})
            return await session.call_tool("lithos_task_create", {"title": "t", "agent": "a"})

    answer = anyio.run(talk)
    assert answer.is_error and answer.structured_content["error"]["code"] == "forbidden"
    assert lithos.agents.info("carla")["id"] == "carla"


def test_half_a_request_does_not_hold_a_stop_up(lithos: Lithos) -> None:
    with serving(lithos) as (url, stop):
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            connection.sendall(head + b"Accept: application/json, text/event-stream\r\nContent-Length: 99\r\n\r\n{")
            Raw(url, "auto").post("tools/list")
            started = time.monotonic()
            stop()
            with suppress(ConnectionError):
                assert connection.recv(1) == b""
        assert time.monotonic() - started < ServerSettings().stop_seconds


def test_a_client_that_does_not_read_its_answer_is_cut_off(lithos: Lithos, call: CallTool) -> None:
    call("lithos_write", title="Long", content="word " * 200_000, agent="a")
    with serving(lithos, ServerSettings(idle_seconds=0.2)) as (url, _):
        port = int(url.rpartition(":")[2])
        message, headers = Raw(url, "auto").message(
            "tools/call", {"name": "lithos_read", "arguments": {"path": "long"}}
        )
        body = json.dumps(message).encode()
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**ACCEPT, **headers}.items())
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connection.connect(("127.0.0.1", port))
            connection.sendall((head + body) * 8)  # more than the kernel holds for a client that reads nothing
            until(lambda: _is_reset(connection), "the end of the connection")


def _is_reset(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def test_above_the_limit_of_sessions_the_one_idle_longest_makes_room(lithos: Lithos) -> None:
    with serving(lithos) as (url, _), Raw(url, "legacy") as first, Raw(url, "legacy") as second:
        for _ in range(MOST_SESSIONS - 2):
            Raw(url, "legacy").__enter__().__exit__()
        assert first.call("lithos_stats")  # used again, so that the second one is idle longest
        with Raw(url, "legacy") as last:
            assert last.call("lithos_stats") and first.call("lithos_stats")
            assert second.post("tools/list").status_code == 404


def _read_to_the_end(lines: Iterator[str]) -> None:
    with suppress(httpx.HTTPError):
        for _ in lines:
            pass


def test_a_stop_answers_what_is_in_flight_and_drops_idle_streams(lithos: Lithos, era: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @tool(toolset="core", reads=True)
    def lithos_slow(lithos: Lithos, call: Call) -> dict[str, bool]:
        """Waits."""
        begun.set()
        return {"went_on": go_on.wait(60)}

    registry = Registry([*catalogue(), lithos_slow])
    answers: list[dict[str, Any]] = []
    with (
        serving(lithos, registry=registry) as (url, stop),
        Raw(url, era) as client,
        httpx.stream("GET", f"{url}/sse", timeout=60) as stream,
    ):
        lines, dropped = stream.iter_lines(), threading.Event()
        assert next(lines) == "event: endpoint"
        reader = threading.Thread(target=lambda: (_read_to_the_end(lines), dropped.set()))
        caller = threading.Thread(target=lambda: answers.append(client.call("lithos_slow")))
        reader.start()
        caller.start()
        assert begun.wait(60)
        stop()
        assert not dropped.wait(0.5)  # the server is there for as long as the call runs
        go_on.set()
        caller.join(60)
        assert dropped.wait(60)
        reader.join(60)
    assert answers[0]["structuredContent"] == {"went_on": True}


def test_without_an_agent_argument_the_default_agent_of_the_request_is_noted(
    url: str, era: str, call: CallTool
) -> None:
    with Raw(url, era, path="/mcp?agent=carla") as client:
        client.call("lithos_stats")
    assert call("lithos_agent_info", id="carla")["id"] == "carla"


def test_answers_are_not_held_back_until_the_client_acknowledges_their_head(lithos: Lithos) -> None:
    with bind("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # what asyncio looks at before it sets TCP_NODELAY
