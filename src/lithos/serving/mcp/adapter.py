"""Handlers of the low-level MCP server that list and call the tools of the registry."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import mcp_types as types
import orjson
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from lithos import __version__
from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import UnknownTool
from lithos.serving.mcp import prompts, resources
from lithos.serving.mcp.callers import caller_of, traced
from lithos.serving.mcp.inflight import InFlight
from lithos.serving.mcp.instructions import INSTRUCTIONS, READING_INSTRUCTIONS
from lithos.serving.mcp.workers import Workers
from lithos.tools.answers.errors import as_lithos_error, failure_on
from lithos.tools.answers.mentions import described, followable, followable_answer
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.dispatch.dispatch import LARGEST_ARGUMENTS
from lithos.tools.registry import Answer, Registry, Tool

_calls = logging.getLogger("lithos.calls")

Context = ServerRequestContext[Any, Any]
Gate = Callable[[Any, Tool], AbstractAsyncContextManager[object]]  # waits until a request may run, or refuses it
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
    gate: Gate = lambda request, tool: nullcontext(),
) -> LithosServer:
    """Build one server for all connections and both eras of the protocol; each message finds its own caller."""
    options = ServerOptions(default or Caller(), output_schemas, workers, largest, gate)
    adapter = Adapter(lithos, registry or catalogue(), options)
    server = LithosServer(
        "lithos",
        version=__version__,
        title="Lithos",
        instructions=INSTRUCTIONS,
        on_list_tools=adapter.list_tools,
        get_tool_input_schema=adapter.schema_with_headers,
        on_list_prompts=adapter.list_prompts,
        on_get_prompt=adapter.get_prompt,
        on_list_resources=adapter.list_resources,
        on_list_resource_templates=adapter.list_templates,
        on_read_resource=adapter.read_resource,
        on_completion=adapter.complete,
        on_subscribe_resource=adapter.subscribe,
        on_unsubscribe_resource=adapter.subscriptions.unsubscribe,
        on_subscriptions_listen=adapter.listen,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="private")},
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, adapter.call_tool)
    server.in_flight = adapter.in_flight
    server.lithos = lithos
    server.call_tool = adapter.call_for_page
    server.middleware[:] = [adapter.instructed]  # without the SDK's span per request for a tracer that is never there
    return server


class CallForPage(Protocol):
    async def __call__(self, request: Any, caller: Caller, name: str, arguments: dict[str, Any]) -> Answer: ...


class LithosServer(Server[Any]):
    """The SDK's server, with the requests in flight and the way in for the page."""

    in_flight: InFlight
    lithos: Lithos
    call_tool: CallForPage


@dataclass(frozen=True)
class ServerOptions:
    """Options of one server; `build_server` has the defaults."""

    default: Caller
    output_schemas: bool
    workers: int
    largest: int
    gate: Gate


class Adapter:
    def __init__(self, lithos: Lithos, registry: Registry, options: ServerOptions) -> None:
        self.in_flight = InFlight()
        self._lithos = lithos
        self._registry = registry
        self._options = options
        self._workers = Workers(options.workers)
        self.subscriptions = resources.Subscriptions(lithos)
        self._listed = lru_cache(maxsize=64)(self._list)
        self._named = lru_cache(maxsize=64)(registry.names_shown)
        self.schema_with_headers = lru_cache(maxsize=1024)(self._schema_with_headers)

    async def instructed(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """The instructions of a connection name the tools that it lists."""
        result = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict) and "instructions" in result:
            caller = caller_of(ctx, self._options.default)
            text = READING_INSTRUCTIONS if caller.read_only else INSTRUCTIONS
            return {**result, "instructions": followable(text, self._names(caller))}
        return result

    def _names(self, caller: Caller) -> frozenset[str]:
        return self._named(caller.toolsets, caller.read_only)

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        caller = caller_of(context, self._options.default)
        return self._listed(caller.toolsets, caller.agent is not None, caller.attributed is not None, caller.read_only)

    # Prompts and resources: read through the tools, under the same rules.

    async def list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return prompts.listed(read_only=caller_of(context, self._options.default).read_only)

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        listed = self._names(caller_of(context, self._options.default))
        return await prompts.rendered(params.name, params.arguments or {}, self._asker(context), listed)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return resources.listed()

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await resources.read(str(params.uri), self._asker(context))

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return await self._workers.run(resources.completed, self._lithos, params)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        calls = await self._readers(context, [str(params.uri)])
        return await self.subscriptions.subscribe(context, params, calls.get(str(params.uri)))

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        uris = [str(each) for each in params.notifications.resource_subscriptions or ()]
        return await self.subscriptions.listen(context, params, await self._readers(context, uris))

    async def _readers(self, context: Context, uris: Sequence[str]) -> dict[str, Call]:
        """The call that reads each address whose content depends on its reader."""
        caller, calls = caller_of(context, self._options.default), dict[str, Call]()
        for uri in uris:
            if (read := resources.read_by(uri)) is not None:
                if resources.is_private(uri):
                    await self._asker(context)(*read)  # refused to those who may not read it
                calls[uri] = self._registry.ready(*read, caller, self._options.largest).call
        return calls

    def _asker(self, context: Context) -> prompts.Ask:
        async def ask(tool: str, arguments: dict[str, Any]) -> Answer:
            answer, outcome, _ = await self._outcome(context, tool, arguments)
            if outcome != "ok":
                error = answer["error"]
                raise MCPError(types.INVALID_PARAMS, f"{error['message']}. {error['hint']}", answer)
            return answer

        return ask

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        started = time.perf_counter()
        with self.in_flight.one():
            answer, outcome, agent = await self._outcome(context, params.name, params.arguments)
        _calls.info(
            "tool=%s agent=%s ms=%.1f outcome=%s",
            _plain(params.name[:40]),
            _plain(agent or "-"),
            (time.perf_counter() - started) * 1000,
            outcome,
        )
        return tool_result(answer, outcome != "ok")

    async def call_for_page(self, request: Any, caller: Caller, name: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool for a person's browser: checks, queue and threads as for a client. The answer is whole."""
        with self.in_flight.one():
            ready = self._registry.ready(name, arguments, caller, self._options.largest)
            async with self._options.gate(request, ready.tool):
                if ready.tool.waits:
                    return dict(await ready.run(self._lithos))
                return dict(await self._workers.run(ready.run, self._lithos))

    def _schema_with_headers(self, name: str) -> dict[str, Any] | None:
        """The schema, if it mirrors arguments in headers; None skips the SDK's check of those headers."""
        try:
            schema = self._registry.get(name).input_schema
        except UnknownTool:
            return None
        return schema if b'"x-mcp-header"' in orjson.dumps(schema) else None

    async def _outcome(
        self, context: Context, name: str, arguments: dict[str, Any] | None
    ) -> tuple[Answer, str, str | None]:
        caller = caller_of(context, self._options.default)
        agent, called = caller.agent, name
        try:
            ready = self._registry.ready(name, arguments, traced(caller, context), self._options.largest)
            agent, called = ready.call.agent, ready.tool.name
            async with self._options.gate(context.request, ready.tool):
                # A cancelled request leaves its thread running: the call ends, and its answer is stored for a retry.
                waits, run = ready.tool.waits, ready.run_lean
                answer: Answer = await (run(self._lithos) if waits else self._workers.run(run, self._lithos))
                return followable_answer(answer, self._names(caller)), "ok", agent
        except Exception as error:  # noqa: BLE001 - the SDK would send str(error) to old clients
            refusal = as_lithos_error(error, name[:40])
            return failure_on(refusal, self._names(caller), called), refusal.code, agent

    def _list(self, toolsets: tuple[str, ...], agent: bool, attributed: bool, read_only: bool) -> types.ListToolsResult:
        shown, names = [], self._named(toolsets, read_only)
        for each in self._registry.shown(toolsets, read_only=read_only):
            listed = each.as_listed(agent=agent, attributed=attributed, read_only=read_only)
            listed = described(listed, names)
            if self._options.output_schemas:
                listed["outputSchema"] = each.listed_output_schema
            shown.append(types.Tool.model_validate(listed))
        return types.ListToolsResult(tools=shown)


def _plain(text: str) -> str:
    """Text of a client, safe for one line of the log."""
    return text if text.isprintable() else ascii(text)


def tool_result(answer: Answer, is_error: bool) -> dict[str, Any]:
    """The result as MCP has it. A plain dict, because the SDK validates it anyway."""
    content = [{"type": "text", "text": orjson.dumps(answer).decode()}]
    return {"content": content, "structuredContent": answer, "isError": is_error, "resultType": "complete"}
