"""Which calls run, which wait, and which are told `busy`: middleware of the MCP server, for guests and HTTP alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from lithos.errors import Busy, HostRestarted, UnknownTool
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
        try:
            self.check_ours()
            if self._passes(ctx.params or {}):
                return await call_next(ctx)
            async with self.turns.turn(_who(ctx.request)):
                return await call_next(ctx)
        except (Busy, HostRestarted) as error:
            return tool_result(failure(error), is_error=True)

    def check_ours(self) -> None:
        """Before every call, because it costs microseconds: after `rm -rf .lithos` another host may write already."""
        if not self._is_ours():
            raise HostRestarted(
                "the memory's lock was taken away from this host; another one takes over",
                hint="Call again in a second.",
            )

    def waits(self, name: str) -> bool:
        """Whether this tool waits for others, without holding a thread."""
        try:
            return self._registry.get(name).waits
        except UnknownTool:
            return False

    def _passes(self, params: Mapping[str, Any]) -> bool:
        name = params.get("name")
        if name == CALL_BY_NAME:
            name = (params.get("arguments") or {}).get("name")
        return not isinstance(name, str) or name in ALWAYS or self.waits(name)


def _who(request: Any) -> Hashable:
    """One guest, or one HTTP client: its session where there is one, else its address."""
    if request is None or isinstance(request, Connection):
        return request
    session = request.headers.get("mcp-session-id")
    return session or (request.client.host if request.client else None)
