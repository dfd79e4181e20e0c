"""Whole lines over a socket inside the host's loop, bounded both ways.

asyncio's StreamReader lacks two things that a host needs: to stop reading for good and keep what was read, and to
hold long lines without buffering twice their limit for every connection.
"""

from __future__ import annotations

import asyncio
from typing import cast

ENOUGH = 1 << 17  # bytes read ahead of the handlers


class Pipe(asyncio.Protocol):
    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False
        self._lost = False
        self._flushed = True
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._writing = asyncio.Lock()
        self._gone = asyncio.Event()

    # ------------------------------------------------------------------ called by the event loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)  # `write` is done when the kernel has it all, not before

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        self._buffer += data
        if len(self._buffer) > self._longest:
            self._ended = b"\n" not in self._buffer
        if len(self._buffer) > ENOUGH:
            self._pause_if_complete()
        self._readable.set()

    def _pause_if_complete(self) -> None:
        if self._buffer.find(b"\n", self._searched) >= 0:
            self._transport.pause_reading()
        else:
            self._searched = len(self._buffer)

    def eof_received(self) -> bool:
        self._ended = True
        self._readable.set()
        return True  # keep writing: the last answers still go out

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = self._lost = True
        for event in (self._readable, self._writable, self._gone):
            event.set()

    def pause_writing(self) -> None:
        self._flushed = False
        self._writable.clear()

    def resume_writing(self) -> None:
        self._flushed = True
        self._writable.set()

    # ------------------------------------------------------------------ called by the host
    async def line(self) -> bytes | None:
        """The next whole line without its newline; None at the end. An incomplete last line is dropped."""
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            if self._ended:
                return None
            self._readable.clear()
            self._transport.resume_reading()  # paused for a line that was read; what is left is incomplete
            await self._readable.wait()
        text = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        if len(self._buffer) <= ENOUGH and not self._ended:
            self._transport.resume_reading()
        return text

    def stop_reading(self) -> None:
        """Read no more. Lines in the buffer are still served; the rest stays with the sender."""
        self._ended = True
        if not self._transport.is_closing():  # uvloop refuses to pause a closing transport, asyncio does not
            self._transport.pause_reading()
        self._readable.set()

    async def write(self, data: bytes, patience: float) -> None:
        """ConnectionError when the other end is gone, or takes nothing for `patience` seconds."""
        async with self._writing:
            if self._lost or self._transport.is_closing():
                raise ConnectionResetError("the other end is gone")
            self._transport.write(data)
            await self._flush(patience)

    async def _flush(self, patience: float) -> None:
        try:
            async with asyncio.timeout(None if self._flushed else patience):
                while not (self._flushed or self._lost):
                    await self._writable.wait()
        except TimeoutError:
            self._transport.abort()
            raise ConnectionAbortedError("the other end reads nothing") from None
        if self._lost:
            raise ConnectionResetError("the other end is gone")

    def fileno(self) -> int:
        return int(self._transport.get_extra_info("socket").fileno())

    async def close(self, patience: float) -> None:
        """Flush, then close; by force when the other end reads nothing for `patience` seconds."""
        self._transport.close()
        try:
            async with asyncio.timeout(patience):
                await self._gone.wait()
        except TimeoutError:
            self._transport.abort()
