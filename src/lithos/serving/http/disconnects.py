"""Ends a stateless request when its client goes away: what it waits for or runs must not outlive its caller."""

from __future__ import annotations

import asyncio

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_VERSION = b"mcp-protocol-version"


class EndsWithClient:
    """The SDK watches for a closed connection only while it streams; we answer JSON.

    Requests of the handshake era pass unchanged: their clients cancel by a notification, and a session may go on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_stateless(scope):
            await self._watched(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        body_read, left, request = asyncio.Event(), asyncio.Event(), anyio.CancelScope()

        async def receive_body() -> Message:
            if body_read.is_set():  # from here on the watch alone receives
                await left.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.disconnect":
                left.set()
            if left.is_set() or not message.get("more_body"):
                body_read.set()
            return message

        async def watch() -> None:
            await body_read.wait()
            while not left.is_set():
                if (await receive())["type"] == "http.disconnect":
                    left.set()
            request.cancel()

        watching = asyncio.create_task(watch())
        try:
            with request:
                await self._app(scope, receive_body, send)
        finally:
            watching.cancel()


def _is_stateless(scope: Scope) -> bool:
    """By the header, as the SDK chooses."""
    found = next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == _VERSION), None)
    return found is not None and found not in HANDSHAKE_PROTOCOL_VERSIONS
