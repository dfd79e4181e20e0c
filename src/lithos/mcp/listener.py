"""An ASGI application on a bound socket, run by uvicorn inside whatever loop is there."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from lithos.errors import ConfigInvalid

BACKLOG = 1024


def bind(host: str, port: int) -> socket.socket:
    """The listening socket, or one sentence why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
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
        yield  # signals belong to whoever runs the loop


class Listener:
    def __init__(self, app: Starlette, listening: socket.socket, stop_seconds: float) -> None:
        self._socket = listening
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=max(1, round(stop_seconds)),
            )
        )

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def ready(self) -> bool:
        return self._server.started

    async def serve(self) -> None:
        """Until `stop`; calls in flight are finished first."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True

    async def until_ready(self) -> None:
        while not self._server.started and not self._server.should_exit:  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.005)
