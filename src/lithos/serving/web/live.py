"""Server-sent events: what changed, as kinds and ids. Pages fetch again what they show of it.

One task reads for all streams of one caller, and only while there are any. The id of an event is a cursor of
`lithos_changes`, so that a browser that comes back gets what it missed. Messages have no such cursor: a stream that
begins or resumes names them once, without ids.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lithos.core.clock import rfc3339
from lithos.errors import LithosError
from lithos.messages import MESSAGES_HANDLED, MESSAGES_JOURNAL
from lithos.serving.web.page import Page, PageRoute, Site
from lithos.tools.caller import Caller

_log = logging.getLogger("lithos.web")

COLLECT_SECONDS = 0.25  # changes within it are one event
HEARTBEAT_SECONDS = 25.0  # proxies end a silent connection after 30 or 60
MOST_WAITING = 64  # events that a slow reader may be behind; then it starts over
MOST_ROWS = 300
EVERYTHING = "*"  # instead of ids: too many, or not for everyone to know
RESET = b"event: reset\ndata: {}\n\n"

Kinds = dict[str, list[str]]


@dataclass
class Channel:
    """All streams of one caller."""

    request: Request  # of its first stream: whose turn in the queue of calls it is
    cursor: str = ""
    streams: set[asyncio.Queue[bytes]] = field(default_factory=set)


class Live:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._channels: dict[Caller, Channel] = {}
        self._woken = asyncio.Event()
        self._mail = False
        self._reader: asyncio.Task[None] | None = None
        self._stops: list[Callable[[], None]] = []

    @property
    def streams(self) -> int:
        return sum(len(each.streams) for each in self._channels.values())

    async def stream(self, page: Page, since: str) -> AsyncIterator[bytes]:
        """Events for one browser until it leaves, or may no longer look."""
        caller, queue = page.visitor.caller, asyncio.Queue[bytes](MOST_WAITING)
        channel = self._channels.setdefault(caller, Channel(page.request))
        channel.streams.add(queue)  # before the catch-up: what is committed during it comes twice, and never not at all
        try:
            self._begin()
            yield b"retry: 2000\n\n"
            yield await self._caught_up(page, channel, since)
            checked = time.monotonic()
            while True:
                text = await _next(queue)
                if time.monotonic() - checked >= HEARTBEAT_SECONDS:  # also while there is no pause between events
                    if await self._site.sign_ins.visitor(page.request.cookies) != page.visitor:
                        return  # signed out, or the token was revoked
                    checked = time.monotonic()
                yield text
        finally:
            channel.streams.discard(queue)
            if not channel.streams:
                self._channels.pop(caller, None)
            self._end_if_unused()

    async def _caught_up(self, page: Page, channel: Channel, since: str) -> bytes:
        try:
            kinds, cursor = await self._read(page.request, page.visitor.caller, since or self._now())
        except LithosError:  # a cursor that is too old, or none of ours
            kinds, cursor = await self._read(page.request, page.visitor.caller, self._now())
            channel.cursor = channel.cursor or cursor
            return RESET + self._event(kinds, cursor)
        channel.cursor = channel.cursor or cursor
        return self._event({**kinds, "message": [EVERYTHING]} if since else kinds, cursor)

    # ------------------------------------------------------------------ the one reader
    def _begin(self) -> None:
        if self._reader is not None:
            return
        loop = asyncio.get_running_loop()
        lithos = self._site.lithos
        mail = (MESSAGES_JOURNAL.channel, MESSAGES_HANDLED)
        self._stops = [
            lithos.changes.listen(lambda: _soon(loop, self._wake)),
            *(lithos.storage.database.listen(each, lambda: _soon(loop, self._wake_for_mail)) for each in mail),
        ]
        self._reader = asyncio.create_task(self._follow())

    def _end_if_unused(self) -> None:
        if self._channels or self._reader is None:
            return
        for stop in self._stops:
            stop()
        self._reader.cancel()
        self._reader, self._stops = None, []

    def _wake(self) -> None:
        self._woken.set()

    def _wake_for_mail(self) -> None:
        self._mail = True
        self._woken.set()

    async def _follow(self) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(COLLECT_SECONDS)
            self._woken.clear()
            mail, self._mail = self._mail, False
            for caller, channel in list(self._channels.items()):
                try:
                    await self._tell(caller, channel, mail)
                except Exception:  # noqa: BLE001 - one visitor's failure must not end the others' streams
                    _log.exception("a live stream could not be fed")

    async def _tell(self, caller: Caller, channel: Channel, mail: bool) -> None:
        kinds, cursor = await self._read(channel.request, caller, channel.cursor or self._now())
        channel.cursor = cursor
        named = {**kinds, "event": [EVERYTHING], **({"message": [EVERYTHING]} if mail else {})}
        text = self._event(named, cursor)
        for queue in list(channel.streams):
            if queue.full():  # it reads too slowly: what it has not read is replaced by a new start
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(RESET)
            queue.put_nowait(text)

    async def _read(self, request: Request, caller: Caller, since: str) -> tuple[Kinds, str]:
        arguments = {"since": since, "rows": True, "limit": MOST_ROWS}
        found = await self._site.call_tool(request, caller, "lithos_changes", arguments)
        kinds: Kinds = {}
        for row in found["rows"]:
            ids = kinds.setdefault(row["kind"], [])
            ids.append(EVERYTHING if row["things"] > 1 else row["id"])
        if found["total"] > len(found["rows"]):
            kinds = {kind: [EVERYTHING] for kind in kinds}
        return {kind: list(dict.fromkeys(ids)) for kind, ids in kinds.items()}, str(found["cursor"])

    def _now(self) -> str:
        return rfc3339(self._site.lithos.clock.now())

    def _event(self, kinds: Mapping[str, list[str]], cursor: str) -> bytes:
        data = orjson.dumps({"at": self._now(), "kinds": kinds})
        return b"id: %s\ndata: %s\n\n" % (cursor.encode(), data)


def _soon(loop: asyncio.AbstractEventLoop, work: Callable[[], Any]) -> None:
    with suppress(RuntimeError):  # the loop has ended: the host stops
        loop.call_soon_threadsafe(work)


async def _next(queue: asyncio.Queue[bytes]) -> bytes:
    with suppress(TimeoutError):
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            return await queue.get()
    return b": \n\n"


async def live(page: Page) -> Response:
    since = page.request.headers.get("last-event-id") or page.given("since")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(page.site.live.stream(page, since), media_type="text/event-stream", headers=headers)


ROUTES = (PageRoute("/live", live),)
