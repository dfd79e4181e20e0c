"""An ASGI application on a bound socket, run by uvicorn in the running event loop."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette

from lithos.errors import ConfigInvalid
from lithos.serving.http.limits import ConnectionLimits, LimitedProtocol
from lithos.serving.mcp.inflight import InFlight
from lithos.serving.web.visitors import SignIns

BACKLOG = 1024
FLUSH_SECONDS = 0.05  # for the last answers to leave through streams that other tasks write


def bind(host: str, port: int) -> socket.socket:
    """Bind and listen; `ConfigInvalid` with the reason if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, not left to the default: asyncio sets TCP_NODELAY only then, and without it each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        raise _explained(host, port, error) from None
    return listening


def _explained(host: str, port: int, error: Exception) -> ConfigInvalid:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        hint = "Another program, perhaps another Lithos, listens there: stop it, or choose another --port."
        return ConfigInvalid(f"port {port} on {host} is taken", hint=hint)
    return ConfigInvalid(f"cannot listen on {host}, port {port}: {error}", hint="Check --host and --port.")


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # the host handles the signals


class Listener:
    def __init__(
        self,
        app: Starlette,
        listening: socket.socket,
        in_flight: InFlight,
        stop_seconds: float,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._app = app
        self._socket = listening
        self._in_flight = in_flight
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                http=cast(Any, partial(LimitedProtocol, limits=limits or ConnectionLimits())),
                ws="none",
                lifespan="off",  # entered by `serve`: uvicorn's own logs a traceback when it is stopped by force
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # only the token says who a client is
                date_header=False,
            )
        )

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def connected(self) -> bool:
        """Whether a client, perhaps an open page, has a connection."""
        return bool(self._connections())

    @property
    def sign_ins(self) -> SignIns:
        """Of the page that this application serves."""
        found: SignIns = self._app.state.sign_ins
        return found

    @property
    def ready(self) -> bool:
        return self._server.started

    async def serve(self) -> None:
        """Serve until `stop`; then accept nothing new, and answer what is in flight."""
        async with self._app.router.lifespan_context(self._app):
            await self._serve()

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        for accepting in getattr(self._server, "servers", ()):
            accepting.close()
        for connection in self._connections():
            if not connection.has_request:  # half a request would hold the stop up for as long as its client likes
                connection.transport.close()
        await self._in_flight.none(self._stop_seconds)
        await asyncio.sleep(FLUSH_SECONDS)
        for connection in self._connections():  # streams that only their clients would end
            connection.transport.close()
        self._server.should_exit = self._server.force_exit = True
        await serving

    def _connections(self) -> list[LimitedProtocol]:
        return cast(list[LimitedProtocol], list(self._server.server_state.connections))

    def stop(self) -> None:
        self._stopping.set()
