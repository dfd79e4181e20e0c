"""Streamable HTTP at /mcp, SSE for old clients at /sse, /health, and the page: one ASGI application."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lithos import __version__
from lithos.app import Lithos
from lithos.errors import ConfigInvalid
from lithos.serving.http.disconnects import EndsWithClient
from lithos.serving.http.guard import Guard, KnownTokens, Rules, is_loopback, is_page
from lithos.serving.mcp.adapter import LithosServer
from lithos.serving.mcp.callers import SCOPE_KEY
from lithos.serving.web.visitors import SignIns
from lithos.settings import LithosConfig, ServerSettings
from lithos.tools.caller import Caller
from lithos.tools.registry import Registry

MESSAGES = "/messages/"
MOST_SESSIONS = 400  # of clients that `initialize`; each keeps 38 KB


def http_app(
    server: LithosServer,
    registry: Registry,
    settings: ServerSettings,
    *,
    default: Caller,
    tokens: KnownTokens,
    health: Callable[[], str | None],
    config: LithosConfig | None = None,
) -> Starlette:
    """Build the ASGI application that `Listener` runs. `health` gives the reason why the host is not ready, or None;
    `config` is what the page shows its operator."""
    sessions = BoundedSessions(
        app=server,
        json_response=True,
        max_request_body_size=settings.max_request_bytes,
        max_sessions=MOST_SESSIONS,
    )
    sign_ins = SignIns(tokens, open_reading=is_loopback(settings.host), default=default)
    guard = Middleware(
        Guard,
        rules=Rules(settings.host, settings.allowed_hosts, settings.allowed_origins),
        default=default,
        tokens=tokens,
        check_toolsets=registry.check_toolsets,
        in_flight=server.in_flight,
    )
    routes = [
        Route("/mcp", endpoint=EndsWithClient(StreamableHTTPASGIApp(sessions))),
        *_sse_routes(server, settings.max_request_bytes),
        Route("/health", endpoint=partial(_health, health)),
        *(Route(f"{path}/", endpoint=partial(_without_slash, path)) for path in ("/mcp", "/sse", "/health")),
    ]
    app = Starlette(routes=routes, middleware=[guard], lifespan=partial(_lifespan, sessions))
    # Not a Mount: its pattern has no path with a line end, which would get a bare answer without the headers.
    app.router.default = FirstUse(partial(_pages, server, settings, sign_ins, config))
    app.state.sign_ins = sign_ins
    return app


def _pages(server: LithosServer, settings: ServerSettings, sign_ins: SignIns, config: LithosConfig | None) -> ASGIApp:
    """The page. Imported by its first request: a host that no browser asks pays neither time nor memory for it."""
    from lithos.serving.web.app import pages

    return pages(server.lithos, server.call_tool, sign_ins, settings, config)


class FirstUse:
    """An ASGI application that the first request for a page builds, in a thread."""

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._built: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_page(scope["path"]):
            await PlainTextResponse("Not Found", status_code=404)(scope, receive, send)
            return
        if self._built is None or (self._built.done() and self._built.exception()):
            self._built = asyncio.create_task(asyncio.to_thread(self._build))
        app = await asyncio.shield(self._built)
        await app(scope, receive, send)


def require_token(config: LithosConfig, lithos: Lithos) -> None:
    """Refuse to serve an address that others can reach while there is no token to ask for."""
    if is_loopback(config.server.host) or lithos.tokens.exist():
        return
    data = shlex.quote(str(config.storage.data_dir))
    raise ConfigInvalid(
        f"{config.server.host} can be reached from other machines, and there is no token yet",
        hint=f"Make one first: lithos token new --name my-laptop --data-dir {data}",
    )


class BoundedSessions(StreamableHTTPSessionManager):
    """At the limit, the session that was idle longest ends; its client gets 404 and initializes again.

    The SDK would refuse the new client instead, and one that opens sessions without end would lock all others out.
    """

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            self._end_longest_idle()
        return super()._admit_session(requestor)

    def _end_longest_idle(self) -> None:
        idle = {
            scope.deadline: (session, scope)
            for session, transport in self._server_instances.items()
            if (scope := transport.idle_scope) is not None and scope.deadline < math.inf  # inf: it serves a request
        }
        if idle:
            session, scope = idle[min(idle)]
            scope.cancel()  # as its idle time-out would
            del self._server_instances[session]


@asynccontextmanager
async def _lifespan(sessions: StreamableHTTPSessionManager, app: Starlette) -> AsyncIterator[None]:
    async with sessions.run():
        yield


def _sse_routes(server: Server[Any], largest: int) -> list[Route | Mount]:
    transport = SseServerTransport(MESSAGES, max_request_body_size=largest)
    return [
        Route("/sse", endpoint=SseStream(server, transport), methods=["GET"]),
        Mount(MESSAGES, app=transport.handle_post_message),
    ]


class SseStream:
    """An ASGI application, not a function: Starlette would send a second response after that of the transport."""

    def __init__(self, server: Server[Any], transport: SseServerTransport) -> None:
        self._server = server
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._transport.connect_sse(scope, receive, send) as (incoming, outgoing):
            await serve_dual_era_loop(
                self._server,
                incoming,
                outgoing,
                lifespan_state=scope.get(SCOPE_KEY),
                init_options=self._server.create_initialization_options(),
            )


async def _without_slash(path: str, request: Request) -> RedirectResponse:
    return RedirectResponse(str(request.url.replace(path=path)), status_code=307)


async def _health(reason: Callable[[], str | None], request: Request) -> JSONResponse:
    why = reason()
    body = {"status": "ready" if why is None else "not ready", "version": __version__}
    return JSONResponse(body if why is None else {**body, "reason": why}, status_code=200 if why is None else 503)
