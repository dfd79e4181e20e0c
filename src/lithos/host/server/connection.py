"""One guest, as the host sees it: both streams of the SDK in one object, and the `Caller` of each request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lithos.core.call import Delivery
from lithos.host import wire
from lithos.host.jsonrpc import INVALID_REQUEST, LISTEN, PARSE_ERROR, failure, id_and_method
from lithos.host.server.pipe import Pipe
from lithos.tools.caller import Caller, parse_toolsets, stand_in

MOST_OPEN = 256  # requests read and not yet answered; above it the guest's next ones wait in the pipe
YIELD_EVERY = 32  # buffered lines are read without a pause; this lets the other guests run in between
FINISH_SECONDS = 60.0  # how long calls of a guest that left may still run
WRITE_SECONDS = 30.0  # a guest that reads nothing for so long is cut off
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


class Hello(BaseModel):
    """The first line of a guest."""

    model_config = ConfigDict(extra="ignore")

    pipe: int
    version: str
    id: str = Field(min_length=8, max_length=64)
    pid: int
    toolsets: str | None = None
    agent: str | None = None
    read_only: bool = False
    resent: list[int | str] = []
    options: dict[str, str] = {}


class Connection:
    """ReadStream and WriteStream of `serve_dual_era_loop`, and its `ctx.request`."""

    def __init__(
        self, pipe: Pipe, hello: Hello, default: Caller, warnings: Sequence[str], waits: Callable[[str], bool]
    ) -> None:
        self.hello = hello
        self.warnings = warnings
        self.since = time.time()
        self.calls = 0
        self.client: str | None = None
        self._pipe = pipe
        self._caller = _caller(hello, default)
        self._resent = set(hello.resent)
        self._repeated: set[int | str] = set()  # open requests that an earlier host may have carried out
        self._open: set[int | str] = set()
        self._waiting: set[int | str] = set()  # calls of tools that wait for others; a stop does not wait for them
        self._waits = waits
        self._lines_since_pause = 0
        self._answered = asyncio.Event()
        self._bye_line: bytes | None = None
        self._patience = FINISH_SECONDS
        self._silent = False

    async def welcome(self) -> None:
        """After this line the guest may send MCP messages."""
        await self._write(wire.welcome(os.getpid(), self.warnings))

    # ------------------------------------------------------------------ caller
    def caller(self, request_id: int | str | None) -> Caller:
        """The caller of this request, with the delivery that identifies a repeated request."""
        # The guest's id outlives a restart of the host, and another window of the same client has another.
        caller = replace(self._caller, attributed=stand_in(self.client, self.hello.id))
        if request_id is None:
            return caller
        delivery = Delivery(self.hello.id, json.dumps(request_id), request_id in self._repeated)
        return replace(caller, delivery=delivery)

    @property
    def open(self) -> int:
        return len(self._open) + len(self._waiting)

    # ------------------------------------------------------------------ reading
    def __aiter__(self) -> Connection:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            await self._pause_for_others()
            text = await self._pipe.line()
            if text is None:
                await self._finish()
                raise StopAsyncIteration
            message = _message(text)
            if message is None:
                await self._write(_unreadable(text))  # the SDK would drop it, and the client would wait without end
                continue
            return SessionMessage(message, self._metadata(message))

    def _metadata(self, message: types.JSONRPCMessage) -> ServerMessageMetadata:
        if not isinstance(message, types.JSONRPCRequest) or message.method == LISTEN:
            return ServerMessageMetadata(request_context=self)
        key = message.id
        self.calls += 1
        (self._waiting if self._is_waiting(message) else self._open).add(key)
        if key in self._resent:
            self._resent.remove(key)  # the client may use the id again for something new
            self._repeated.add(key)
        if self.client is None:
            self.client = _client_name(message.params)

        async def unanswered() -> None:
            self._close(key)

        return ServerMessageMetadata(request_context=self, on_request_unanswered=unanswered)

    def _is_waiting(self, message: types.JSONRPCRequest) -> bool:
        return message.method == "tools/call" and self._waits(str((message.params or {}).get("name")))

    async def _pause_for_others(self) -> None:
        while self.open >= MOST_OPEN:
            await self._next_answer()
        self._lines_since_pause += 1
        if self._lines_since_pause >= YIELD_EVERY:
            self._lines_since_pause = 0
            await asyncio.sleep(0)

    async def _finish(self) -> None:
        """Wait until every request is answered: the SDK cancels running calls when its input ends.

        Calls that wait for others are cut short instead: a guest sends them again to the next host. The SDK's
        answers to those are not sent.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                while self._open:
                    await self._next_answer()
        if self._bye_line is not None and not self._open:
            with contextlib.suppress(anyio.BrokenResourceError):
                await self._write(self._bye_line)
        self._silent = True

    async def _next_answer(self) -> None:
        """Only the reading side waits here, so one event is enough."""
        self._answered.clear()
        await self._answered.wait()

    def drain(self, why: str, patience: float) -> None:
        """Read no more; answer what was read, then send `bye`."""
        self._bye_line, self._patience = wire.bye(why), patience
        self._pipe.stop_reading()

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    # ------------------------------------------------------------------ writing
    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if self._silent:
            raise anyio.BrokenResourceError
        try:
            await self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        finally:
            if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)) and message.id is not None:
                self._close(message.id)

    async def _write(self, data: bytes) -> None:
        try:
            await self._pipe.write(data, WRITE_SECONDS)
        except ConnectionError as error:  # any other type would end the SDK's task group with a traceback
            raise anyio.BrokenResourceError from error

    def _close(self, key: int | str) -> None:
        self._open.discard(key)
        self._waiting.discard(key)
        self._repeated.discard(key)
        self._answered.set()

    # ------------------------------------------------------------------ the SDK closes streams that it did not open
    async def aclose(self) -> None:
        return

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


def _message(text: bytes) -> types.JSONRPCMessage | None:
    with contextlib.suppress(ValidationError):
        return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    if id_and_method(text)[0] is None:
        return None  # no client waits for it
    with contextlib.suppress(ValidationError):
        # pydantic parses no half of a character (an emoji cut in two); passed on, the tool refuses it by name.
        return types.jsonrpc_message_adapter.validate_python(json.loads(text), by_name=False)
    return None


def _unreadable(text: bytes) -> bytes:
    key, _ = id_and_method(text)
    if key is None:
        return failure(None, PARSE_ERROR, "Parse error: not a message of MCP")
    return failure(key, INVALID_REQUEST, "Invalid request: not a message of MCP")


def _caller(hello: Hello, default: Caller) -> Caller:
    return Caller(
        toolsets=parse_toolsets(hello.toolsets) if hello.toolsets else default.toolsets,
        agent=hello.agent or default.agent,
        read_only=hello.read_only or default.read_only,
        login=_login(),
    )


def _client_name(params: dict[str, Any] | None) -> str | None:
    """Legacy clients send it once, in `initialize`; modern ones with every request."""
    info = (params or {}).get("clientInfo") or ((params or {}).get("_meta") or {}).get(_CLIENT_INFO)
    name = info.get("name") if isinstance(info, dict) else None
    return name[:80] if isinstance(name, str) else None


def _login() -> str:
    """Of guest and host: both run as the same one. A right to see, never the user that a call is about."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
