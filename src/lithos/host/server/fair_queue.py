"""Which calls run, which wait, and which are told `busy`: the gate of the MCP server, for guests and HTTP alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from lithos.errors import HostRestarted, UnknownTool
from lithos.host.server.connection import Connection
from lithos.host.server.fair_turns import FairTurns
from lithos.tools.registry import Registry, Tool

# Holding a lease must never fail because somebody else floods: these never wait in line.
ALWAYS = frozenset({"lithos_task_renew", "lithos_task_release"})
RESERVED = 4  # threads that only they and `ps` use
EACH_WAITING = 64
ALL_WAITING = 1024


class FairQueue:
    def __init__(self, registry: Registry, workers: int, is_ours: Callable[[], bool]) -> None:
        at_once = max(1, workers - RESERVED)
        self.turns = FairTurns(
            at_once, each_at_once=max(1, at_once // 2), each_waiting=EACH_WAITING, all_waiting=ALL_WAITING
        )
        self._registry = registry
        self._is_ours = is_ours

    def turn(self, request: Any, tool: Tool) -> AbstractAsyncContextManager[object]:
        """The tool runs inside it; `Busy` when too many wait already."""
        self.check_ours()
        return nullcontext() if tool.name in ALWAYS or tool.waits else self.turns.turn(_who(request))

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


def _who(request: Any) -> Hashable:
    """One guest, or one HTTP client: its session where there is one, else its address."""
    if request is None or isinstance(request, Connection):
        return request
    session = request.headers.get("mcp-session-id")
    return session or (request.client.host if request.client else None)
