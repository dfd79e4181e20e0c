"""One client over stdin and stdout in this very process, without a host: for tests, containers and --standalone."""

from __future__ import annotations

from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def serve_stdio(server: Server[Any]) -> None:
    """Until the client closes stdin. The SDK points fd 1 at stderr meanwhile: no stray print breaks the protocol."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
