"""MCP over HTTP by hand, in both eras: what a foreign client would put on the wire."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import httpx

from lithos.app import Lithos
from lithos.serving import ConnectionLimits, Listener, bind, build_server, http_app
from lithos.settings import LithosConfig, ServerSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Registry
from tests.support.waiting import until_async

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@contextmanager
def serving(
    lithos: Lithos,
    settings: ServerSettings | None = None,
    registry: Registry | None = None,
    built: Callable[[Any], None] = lambda app: None,
    config: LithosConfig | None = None,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The real application on a real port, in a loop of its own; `http://127.0.0.1:…` and what stops it."""
    settings = settings or ServerSettings()
    loop = asyncio.new_event_loop()
    started: list[Listener] = []
    ready = threading.Event()

    async def run() -> None:
        registry_ = registry or catalogue()
        default = Caller(toolsets=settings.toolsets, read_only=settings.read_only, agent=settings.agent)
        server = build_server(lithos, registry_, default=default, output_schemas=settings.output_schemas)
        given = {"default": default, "tokens": lithos.tokens, "health": lithos.health, "config": config}
        app = http_app(server, registry_, settings, **given)
        built(app)
        limits = ConnectionLimits(settings.header_seconds, settings.idle_seconds)
        listener = Listener(app, bind("127.0.0.1", 0), server.in_flight, settings.stop_seconds, limits)
        started.append(listener)
        serving = asyncio.create_task(listener.serve())
        await until_async(lambda: listener._server.started, "the listener")
        ready.set()
        await serving

    thread = threading.Thread(target=lambda: asyncio.Runner(loop_factory=lambda: loop).run(run()), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield f"http://127.0.0.1:{started[0].port}", lambda: _soon(loop, started[0].stop)
    finally:
        _soon(loop, started[0].stop)
        thread.join(60)
        assert not thread.is_alive()


def _soon(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(work)


class Raw:
    """One client without an SDK. `era` is "legacy" or "auto", as in the fixture."""

    def __init__(self, url: str, era: str, *, path: str = "/mcp", headers: dict[str, str] | None = None) -> None:
        self.modern = era == "auto"
        # Loading the certificates of the world takes 20 ms, and this is plain HTTP.
        self.http = httpx.Client(base_url=url, timeout=60, verify=False, headers={**ACCEPT, **(headers or {})})
        self.path = path
        self._ids = count(1)

    def __enter__(self) -> Raw:
        if not self.modern:
            self._initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, method: str, params: dict[str, Any] | None = None, **options: Any) -> httpx.Response:
        message, headers = self.message(method, params)
        return self.http.post(self.path, json=message, headers={**headers, **options.pop("headers", {})}, **options)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The whole result; fails on anything but a result."""
        answer = self.post("tools/call", {"name": tool, "arguments": arguments})
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    def names(self) -> set[str]:
        return {tool["name"] for tool in self.post("tools/list").json()["result"]["tools"]}

    def message(self, method: str, params: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, str]]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        if not self.modern:
            return {**message, "params": params or {}}, {
                "mcp-protocol-version": LEGACY
            } if "mcp-session-id" in self.http.headers else {}
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
        if params and "name" in params:
            headers["mcp-name"] = params["name"]
        return {**message, "params": {**(params or {}), "_meta": meta}}, headers

    def _initialize(self) -> None:
        info = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = self.post("initialize", info)
        assert answer.status_code == 200, answer.text
        self.http.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.http.post(self.path, json=done, headers={"mcp-protocol-version": LEGACY}).status_code == 202
