"""Limits on an HTTP connection that hold before anything is known about its client."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lithos.errors import LithosError, TooLarge, Unavailable
from lithos.tools.answers.errors import failure

LARGEST_HEAD = 64 * 1024  # bytes of request line and headers, as in h11; nginx takes 32 KB
HEADER_OVERHEAD = 32  # bytes counted per header beside its text, so that many short ones are bounded too
MOST_CONNECTIONS = 1000  # each may hold a stream and its session, 40 to 60 KB


@dataclass(frozen=True)
class ConnectionLimits:
    header_seconds: float = 10.0  # from the connection, or the first byte, to the end of the headers
    idle_seconds: float = 30.0  # without a byte of the body, or without the client reading the answer
    connections: int = MOST_CONNECTIONS


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's connection, which by itself reads headers of any length for any time."""

    def __init__(self, *arguments: Any, limits: ConnectionLimits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits = limits
        self._in_head = True
        self._in_body = False
        self._head_bytes = 0
        self._refusal: tuple[int, LithosError] | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            transport.abort()
        else:
            self._expect_bytes(self._limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_bytes(None)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # refused: what was on its way is dropped
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LARGEST_HEAD:
                self._refuse(431, _head_too_large())
        elif self._in_body:
            self._expect_bytes(self._limits.idle_seconds)

    @property
    def has_request(self) -> bool:
        """Whether a whole request has arrived and is being answered."""
        return not self._in_head and not self._in_body

    # Parser callbacks
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._in_body, self._head_bytes = True, False, 0
        self._expect_bytes(self._limits.header_seconds)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + HEADER_OVERHEAD for name, value in self.headers)
        if size > LARGEST_HEAD:
            self._refusal = 431, _head_too_large()
            raise ValueError  # the parser stops, and `send_400_response` answers
        self._in_head, self._in_body = False, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._expect_bytes(None)
        super().on_message_complete()

    # Time
    def _expect_bytes(self, seconds: float | None) -> None:
        """Replace the time-out of the reading side; None: nothing has to come."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = None if seconds is None else self.loop.call_later(seconds, self._time_out)

    def _time_out(self) -> None:
        if self.transport.is_closing():
            return
        if self._in_body or self._head_bytes:
            self._refuse(408, Unavailable("the request did not arrive in time", hint="Send it whole, then wait."))
        else:
            self.transport.close()  # a connection that was never used

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(self._limits.idle_seconds, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _cut_off(self) -> None:
        """Reset the connection: closed, the kernel would keep the unread answer and offer it for minutes."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    # Refusals
    def send_400_response(self, msg: str) -> None:
        if self._refusal is None:
            super().send_400_response(msg)
        else:
            self._refuse(*self._refusal)

    def _refuse(self, status: int, error: LithosError) -> None:
        body = orjson.dumps(failure(error))
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


def _head_too_large() -> TooLarge:
    return TooLarge(f"the headers have more than {LARGEST_HEAD:,} bytes", hint="Send shorter headers.")
