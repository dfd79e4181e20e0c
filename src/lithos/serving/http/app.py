"""Streamable HTTP at /mcp, SSE for old clients at /sse, and /health: one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from lithos import __version__
from lithos.serving.http.guard import Guard, KnownTokens, Rules
from lithos.serving.mcp.adapter import LithosServer
from lithos.serving.mcp.callers import SCOPE_KEY
from lithos.settings import ServerSettings
from lithos.tools.caller import Caller
from lithos.tools.registry import Registry

MESSAGES = "/messages/"


def http_app(
    server: LithosServer,
    registry: Registry,
    settings: ServerSettings,
    *,
    default: Caller,
    tokens: KnownTokens,
    health: Callable[[], str | None],
) -> Starlette:
    """To be run by uvicorn, in a loop of its own or the host's; `health` gives the reason why not, or None."""
    sessions = StreamableHTTPSessionManager(
        app=server, json_response=True, max_request_body_size=settings.max_request_bytes
    )
    guard = Middleware(
        Guard,
        rules=Rules(settings.host, settings.allowed_hosts, settings.allowed_origins),
        default=default,
        tokens=tokens,
        check_toolsets=registry.check_toolsets,
        in_flight=server.in_flight,
    )
    routes = [
        Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions)),
        *_sse_routes(server, settings.max_request_bytes),
        Route("/health", endpoint=partial(_health, health)),
    ]
    return Starlette(routes=routes, middleware=[guard], lifespan=partial(_lifespan, sessions))


@asynccontextmanager
async def _lifespan(sessions: StreamableHTTPSessionManager, app: Starlette) -> AsyncIterator[None]:
    async with sessions.run():
        yield


def _sse_routes(server: Server[Any], largest: int) -> list[Route | Mount]:
    transport = SseServerTransport(MESSAGES, max_request_body_size=largest)

    async def open_stream(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (incoming, outgoing):
            await serve_dual_era_loop(
                server,
                incoming,
                outgoing,
                lifespan_state=request.scope.get(SCOPE_KEY),
                init_options=server.create_initialization_options(),
            )
        return Response()

    return [Route("/sse", endpoint=open_stream), Mount(MESSAGES, app=transport.handle_post_message)]


async def _health(reason: Callable[[], str | None], request: Request) -> JSONResponse:
    why = reason()
    body = {"status": "ready" if why is None else "not ready", "version": __version__}
    return JSONResponse(body if why is None else {**body, "reason": why}, status_code=200 if why is None else 503)
