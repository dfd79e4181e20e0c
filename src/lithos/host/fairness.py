"""Which calls run, which wait, and which are told `busy`: middleware of the MCP server, for guests and HTTP alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from lithos.errors import Busy, HostRestarted, LithosError, UnknownTool
from lithos.host.connection import Connection
from lithos.host.turns import Turns
from lithos.mcp import tool_result
from lithos.tools.answers import failure
from lithos.tools.registry import CALL_BY_NAME, Registry

# Holding a lease must never fail because somebody else floods: these never wait in line.
ALWAYS = frozenset({"lithos_task_renew", "lithos_task_release"})
RESERVED = 4  # threads that only they and `ps` use
EACH_WAITING = 64
ALL_WAITING = 1024

Context = ServerRequestContext[Any, Any]


class Fairness:
    def __init__(self, registry: Registry, workers: int, is_ours: Callable[[], bool]) -> None:
        at_once = max(1, workers - RESERVED)
        self.turns = Turns(
            at_once, each_at_once=max(1, at_once // 2), each_waiting=EACH_WAITING, all_waiting=ALL_WAITING
        )
        self._registry = registry
        self._is_ours = is_ours

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        if not self._is_ours():
            return tool_result(failure(_moved()), is_error=True)
        if self._passes(ctx.params or {}):
            return await call_next(ctx)
        try:
            async with self.turns.turn(_who(ctx.request)):
                return await call_next(ctx)
        except Busy as error:
            return tool_result(failure(error), is_error=True)

    def _passes(self, params: Mapping[str, Any]) -> bool:
        """Renewals, releases, and tools that wait without holding a thread."""
        name = params.get("name")
        if name == CALL_BY_NAME:
            name = (params.get("arguments") or {}).get("name")
        if not isinstance(name, str):
            return True
        try:
            return name in ALWAYS or self._registry.get(name).waits
        except UnknownTool:
            return True


def _who(request: Any) -> Hashable:
    """One guest, or one HTTP client: its session where there is one, else its address."""
    if request is None or isinstance(request, Connection):
        return request
    session = request.headers.get("mcp-session-id")
    return session or (request.client.host if request.client else None)


def _moved() -> LithosError:
    return HostRestarted(
        "the memory's lock was taken away from this host; another one takes over", hint="Call again in a second."
    )
