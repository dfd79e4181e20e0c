"""The registry as handlers of the official low-level MCP server."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mcp_types as types
import orjson
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from lithos import __version__
from lithos.app import Lithos
from lithos.errors import UnknownTool
from lithos.mcp.callers import caller_of
from lithos.mcp.inflight import InFlight
from lithos.mcp.instructions import INSTRUCTIONS
from lithos.tools.answers import as_lithos_error, failure
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.dispatch import LARGEST_ARGUMENTS, Ready
from lithos.tools.registry import Answer, Registry, Tool

_calls = logging.getLogger("lithos.calls")

Context = ServerRequestContext[Any, Any]
LIST_TTL_MS = 60_000  # the list changes only with a new start
DEFAULT_WORKERS = 32


def build_server(
    lithos: Lithos,
    registry: Registry | None = None,
    *,
    default: Caller | None = None,
    output_schemas: bool = False,
    workers: int = DEFAULT_WORKERS,
    largest: int = LARGEST_ARGUMENTS,
) -> LithosServer:
    """One server for all connections and both eras of the protocol; who calls is found anew for each message."""
    way = Way(default or Caller(), output_schemas, workers, largest)
    adapter = Adapter(lithos, registry or catalogue(), way)
    server = LithosServer(
        "lithos",
        version=__version__,
        title="Lithos",
        instructions=INSTRUCTIONS,
        on_list_tools=adapter.list_tools,
        on_call_tool=adapter.call_tool,
        get_tool_input_schema=adapter.input_schema,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="private")},
    )
    server.in_flight = adapter.in_flight
    server.middleware.clear()  # a span per request for a tracer that is never there
    return server


class LithosServer(Server[Any]):
    """The SDK's server, which also knows what it has not answered yet."""

    in_flight: InFlight


@dataclass(frozen=True)
class Way:
    """How one server serves; `build_server` names the defaults."""

    default: Caller
    output_schemas: bool
    workers: int
    largest: int


class Adapter:
    def __init__(self, lithos: Lithos, registry: Registry, way: Way) -> None:
        self.in_flight = InFlight()
        self._lithos = lithos
        self._registry = registry
        self._way = way
        self._pool = ThreadPoolExecutor(way.workers, thread_name_prefix="tool")
        self._listed = lru_cache(maxsize=64)(self._list)

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return self._listed(caller_of(context, self._way.default).toolsets)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = caller_of(context, self._way.default)
        started = time.perf_counter()
        with self.in_flight.one():
            answer, outcome, agent = await self._outcome(params.name, params.arguments, caller)
        _calls.info(
            "tool=%s agent=%s ms=%.1f outcome=%s",
            params.name[:40],
            agent or "-",
            (time.perf_counter() - started) * 1000,
            outcome,
        )
        return tool_result(answer, outcome != "ok")

    def input_schema(self, name: str) -> dict[str, Any] | None:
        try:
            return self._registry.get(name).input_schema
        except UnknownTool:
            return None

    async def _outcome(
        self, name: str, arguments: dict[str, Any] | None, caller: Caller
    ) -> tuple[Answer, str, str | None]:
        agent = caller.agent
        try:
            ready = self._registry.ready(name, arguments, caller, self._way.largest)
            agent = ready.call.agent
            return await self._run(ready), "ok", agent
        except Exception as error:  # noqa: BLE001 - the SDK would send str(error) to old clients
            told = as_lithos_error(error, name[:40])
            return failure(told), told.code, agent

    async def _run(self, ready: Ready) -> Answer:
        if ready.tool.waits:
            answer: Answer = await ready.run(self._lithos)
            return answer
        # A cancelled request leaves the thread running: what was begun is finished, and its answer is remembered.
        return await asyncio.get_running_loop().run_in_executor(self._pool, ready.run, self._lithos)

    def _list(self, toolsets: tuple[str, ...]) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[self._shown(each) for each in self._registry.shown(toolsets)])

    def _shown(self, each: Tool) -> types.Tool:
        listed = each.as_listed()
        if self._way.output_schemas:
            listed["outputSchema"] = each.listed_output_schema
        return types.Tool.model_validate(listed)


def tool_result(answer: Answer, is_error: bool) -> types.CallToolResult:
    text = orjson.dumps(answer).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=answer, is_error=is_error
    )
