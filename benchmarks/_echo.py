"""The servers that `serving` measures: bare Starlette, the bare SDK, ours with sixty tools; each prints its port."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import mcp_types as types
import uvloop
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from typing_extensions import TypedDict

from lithos.app import open_lithos
from lithos.core.call import Call
from lithos.serving import Listener, bind, build_server, http_app
from lithos.serving.mcp.inflight import InFlight
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.registry import Registry, tool

TOOLS = 60


class Echo(TypedDict):
    text: str


def _tool(number: int) -> object:
    def echo(lithos: object, call: Call, text: str, times: int = 1) -> Echo:
        """Give the text back."""
        return {"text": text * times}

    echo.__name__ = f"bench_echo_{number}"
    return tool(toolset="core", reads=True)(echo)


async def bare(request: Request) -> JSONResponse:
    return JSONResponse({"text": (await request.json())["text"]})


async def serve_bare() -> None:
    listener = Listener(Starlette(routes=[Route("/", bare, methods=["POST"])]), bind("127.0.0.1", 0), InFlight(), 1)
    print(listener.port, flush=True)
    await listener.serve()


async def answer_at_once(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    content = [types.TextContent(type="text", text='{"text":"hello"}')]
    return types.CallToolResult(content=content, structured_content={"text": "hello"})


async def serve_sdk() -> None:
    """The floor of every server on this SDK: a handler that does nothing, no guard, no thread, no log."""
    server: Server[Any] = Server("bare", on_call_tool=answer_at_once, get_tool_input_schema=lambda name: None)
    server.middleware.clear()
    sessions = StreamableHTTPSessionManager(app=server, json_response=True)
    app = Starlette(
        routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions))], lifespan=lambda app: sessions.run()
    )
    listener = Listener(app, bind("127.0.0.1", 0), InFlight(), 1)
    print(listener.port, flush=True)
    await listener.serve()


async def serve_lithos(folder: str) -> None:
    config = LithosConfig(storage=StorageSettings(data_dir=Path(folder)))
    lithos = open_lithos(config)
    registry = Registry(_tool(number) for number in range(TOOLS))
    server = build_server(lithos, registry)
    app = http_app(server, registry, config.server, default=Caller(), tokens=lithos.tokens, health=lithos.health)
    listener = Listener(app, bind("127.0.0.1", 0), server.in_flight, 1)
    print(listener.port, flush=True)
    await listener.serve()


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        uvloop.run(serve_bare())
    elif sys.argv[1] == "sdk":
        uvloop.run(serve_sdk())
    else:
        with tempfile.TemporaryDirectory() as folder:
            uvloop.run(serve_lithos(folder))
