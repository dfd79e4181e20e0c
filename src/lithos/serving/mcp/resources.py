"""Resources: the briefing, notes, tasks and chains by address, with completion and subscriptions.

Everything here is reachable by tools too; a resource is read through the tool, under the same rules.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import InvalidInput, LithosError
from lithos.messages import MESSAGES_JOURNAL, Mail
from lithos.recall import ChangesRequest, Place
from lithos.tools.registry import Answer

_log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]
Ask = Callable[[str, dict[str, Any]], Awaitable[Answer]]
Thing = tuple[str, str]  # what a subscription follows: its kind and id

SCHEME = "lithos://"
BRIEFING = "lithos://briefing"
MARKDOWN, JSON = "text/markdown", "application/json"
TEMPLATES = {
    "lithos://note/{+path}": ("note", "A note by its path", MARKDOWN),
    "lithos://task/{id}": ("task", "A task with its claims and findings", JSON),
    "lithos://chain/{key}": ("chain", "The latest thoughts of a chain", MARKDOWN),
    "lithos://inbox/{agent}": ("inbox", "Who wrote to an agent", JSON),
}
MOST_SUBSCRIPTIONS = 200  # of one connection
MOST_OF_ADDRESS = 2_000  # of one address over HTTP, where each stream is a connection
MOST_STREAMS = 1_024
MOST_COMPLETIONS = 100
LONGEST_URI = 2_000
RETRY_SECONDS = 1.0  # after a look that failed
GATHER_SECONDS = 0.02  # after a change: a hundred writes of one moment are one look


def listed() -> types.ListResourcesResult:
    briefing = types.Resource(uri=BRIEFING, name="briefing", title="Briefing", mime_type=MARKDOWN)
    return types.ListResourcesResult(resources=[briefing])


def templates() -> types.ListResourceTemplatesResult:
    shown = [
        types.ResourceTemplate(uri_template=uri, name=name, title=name.capitalize(), description=text, mime_type=kind)
        for uri, (name, text, kind) in TEMPLATES.items()
    ]
    return types.ListResourceTemplatesResult(resource_templates=shown)


def parsed(uri: str) -> Thing:
    """`lithos://note/ops/guide.md` → ("note", "ops/guide.md")."""
    kind, _, name = str(uri).removeprefix(SCHEME).partition("/")
    known = str(uri).startswith(SCHEME) and len(uri) <= LONGEST_URI
    if known and kind == "briefing" and not name:
        return kind, ""
    if known and kind in ("note", "task", "chain", "inbox") and name:
        return kind, unquote(name)
    raise MCPError(
        types.INVALID_PARAMS,
        f"there is no resource {str(uri)[:120]!r}; there are {BRIEFING}, {', '.join(TEMPLATES)}",
        {"uri": str(uri)[:120]},
    )


async def read(uri: str, ask: Ask) -> types.ReadResourceResult:
    kind, name = parsed(uri)
    text, mime = await _text(kind, name, ask)
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)])


def read_by(uri: str) -> tuple[str, dict[str, Any]] | None:
    """The tool and arguments that read what depends on the reader; None: it is the same for all."""
    kind, name = parsed(uri)
    if kind == "inbox":
        return "lithos_inbox_list", {"agent": name, "limit": 1}
    return ("lithos_get_briefing", {}) if kind == "briefing" else None


def is_private(uri: str) -> bool:
    """Whether some may not read it, nor hear of its changes: when mail comes is part of what is private."""
    return parsed(uri)[0] == "inbox"


async def _text(kind: str, name: str, ask: Ask) -> tuple[str, str]:
    if kind == "briefing":
        return (await ask("lithos_get_briefing", {}))["briefing"], MARKDOWN
    if kind == "note":
        return (await ask("lithos_read", {"id": name}))["content"], MARKDOWN
    if kind == "chain":
        return (await ask("mentisdb_recent_context", {"chain_key": name}))["prompt"], MARKDOWN
    if kind == "inbox":
        return orjson.dumps(await ask("lithos_inbox_list", {"agent": name})).decode(), JSON
    found = (await ask("lithos_task_status", {"task_id": name}))["tasks"]
    if not found:
        raise MCPError(types.INVALID_PARAMS, f"there is no task {name[:80]!r}")
    findings = (await ask("lithos_finding_list", {"task_id": found[0]["id"]}))["findings"]
    return orjson.dumps({**found[0], "findings": findings}).decode(), JSON


def completed(lithos: Lithos, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Paths, task ids and chains that begin with what was typed."""
    if not isinstance(params.ref, types.ResourceTemplateReference) or params.ref.uri not in TEMPLATES:
        return _completion([])
    kind, typed = TEMPLATES[params.ref.uri][0], params.argument.value[:LONGEST_URI]
    if kind == "note":
        try:
            rows = lithos.notes.reader.list(path_prefix=typed or None, limit=MOST_COMPLETIONS)
        except InvalidInput:  # a path of the machine begins no note's path
            return _completion([])
        return _completion([each["path"] for each in rows["items"]], rows["total"])
    if kind == "inbox":
        return _completion([name for name in lithos.agents.names() if name.startswith(typed)])
    if kind == "chain":
        return _completion([key for key in lithos.ledger.keys() if key.startswith(typed)])  # noqa: SIM118 - no mapping
    return _completion([each.id for each in lithos.board.candidates(None) if each.id.startswith(typed)])


def _completion(values: list[str], total: int | None = None) -> types.CompleteResult:
    shown = values[:MOST_COMPLETIONS]
    count = len(values) if total is None else total
    return types.CompleteResult(completion=types.Completion(values=shown, total=count, has_more=count > len(shown)))


@dataclass(frozen=True, slots=True, eq=False)
class Follower:
    """One address that one client follows."""

    uri: str
    thing: Thing
    call: Call | None  # as which its client reads what depends on the reader
    tell: Callable[[], Awaitable[Any]]


class Subscriptions:
    """Who follows which resource, in both eras. One task looks at what changed, each time that something did, while
    there are followers."""

    def __init__(self, lithos: Lithos) -> None:
        self._lithos = lithos
        self._streams: list[list[Follower]] = []  # open ones of the stateless revision
        self._held: Counter[Any] = Counter()  # addresses on open streams, by client
        self._sessions: WeakKeyDictionary[Any, dict[str, Follower]] = WeakKeyDictionary()  # connection → address
        self._looking: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._mail: int | None = None  # cursor of the journal of messages
        self._wake: Callable[[], None] = lambda: None  # has the task look; it ends when there are no followers

    # ------------------------------------------------------------------ clients that initialize
    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams, call: Call | None
    ) -> types.EmptyResult:
        uri = str(params.uri)
        connection, session = _connection(context), context.session
        held = self._sessions.get(connection, {})
        if uri not in held and len(held) >= MOST_SUBSCRIPTIONS:
            raise _too_many(MOST_SUBSCRIPTIONS)
        things = await self._follow([uri])
        if connection not in self._sessions:
            weakref.finalize(connection, self._wake).atexit = False

        async def tell() -> None:
            try:
                async with asyncio.timeout(5):
                    await session.send_resource_updated(uri)
            except Exception:  # noqa: BLE001 - a client that is gone must not keep the others from hearing
                self._sessions.pop(connection, None)

        self._sessions.setdefault(connection, {})[uri] = Follower(uri, things[uri], call, tell)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        parsed(str(params.uri))
        self._sessions.get(_connection(context), {}).pop(str(params.uri), None)
        self._wake()
        return types.EmptyResult()

    # ------------------------------------------------------------------ the stateless revision
    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams, calls: Mapping[str, Call]
    ) -> types.SubscriptionsListenResult:
        uris = list(dict.fromkeys(str(each) for each in params.notifications.resource_subscriptions or ()))
        client, most = _client(context)
        if len(uris) > MOST_SUBSCRIPTIONS or self._held[client] + len(uris) > most:
            raise _too_many(MOST_SUBSCRIPTIONS if len(uris) > MOST_SUBSCRIPTIONS else most)
        if len(self._streams) >= MOST_STREAMS:
            raise MCPError(types.INTERNAL_ERROR, f"{MOST_STREAMS:,} streams are open; close one, or try later")
        self._held[client] += len(uris)
        try:
            things = await self._follow(uris)
            bus = InMemorySubscriptionBus()  # of this stream: the same address is not everyone's to hear
            stream = [
                Follower(uri, things[uri], calls.get(uri), partial(bus.publish, ResourceUpdated(uri=uri)))
                for uri in uris
            ]
            self._streams.append(stream)
            try:
                return await ListenHandler(bus)(context, params)
            finally:
                self._streams.remove(stream)
        finally:
            self._held[client] -= len(uris)
            self._held += Counter()
            self._wake()

    # ------------------------------------------------------------------ looking
    async def _follow(self, uris: Sequence[str]) -> dict[str, Thing]:
        """Resolve each address before anything is kept; begin to look. Nothing is awaited from the end of this to the
        moment when its caller is among the followers."""
        found = await asyncio.to_thread(lambda: {uri: self._thing(uri) for uri in uris})
        async with self._starting:
            if self._looking is None or self._looking.done():
                self._looking = await self._started()
        return found

    async def _started(self) -> asyncio.Task[None]:
        """Listen first, then read where to begin: what comes between is looked at."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop ended meanwhile
                loop.call_soon_threadsafe(changed.set)

        stops = (
            self._lithos.changes.listen(wake),
            self._lithos.storage.database.listen(MESSAGES_JOURNAL.channel, wake),
        )
        self._wake = wake

        def stop() -> None:
            for each in stops:
                each()

        try:
            start = await asyncio.to_thread(self._place)
        except BaseException:
            stop()
            raise
        return asyncio.create_task(self._look(start, changed, stop))

    def _place(self) -> Place:
        self._mail = self._lithos.messages.followers.read(None).cursor
        request = ChangesRequest("today", limit=1)
        return self._lithos.changes.read(self._lithos.changes.start("today", None), request).place

    def _thing(self, uri: str) -> Thing:
        kind, name = parsed(uri)
        if kind == "note":
            found = self._lithos.notes.reader.named(name, exact=False)
            if len(found) != 1:
                raise MCPError(types.INVALID_PARAMS, f"there is no note {name[:80]!r} to follow", {"uri": uri[:120]})
            return kind, found[0].id
        if kind == "task":
            tasks = [each for each in self._lithos.board.candidates(name) if each.id == name or each.title == name]
            if len(tasks) != 1:
                raise MCPError(types.INVALID_PARAMS, f"there is no task {name[:80]!r} to follow", {"uri": uri[:120]})
            return kind, tasks[0].id
        if kind == "chain" and name not in self._lithos.ledger.keys():  # noqa: SIM118 - no mapping
            raise MCPError(types.INVALID_PARAMS, f"there is no chain {name[:80]!r} to follow", {"uri": uri[:120]})
        return kind, name

    async def _look(self, place: Place, changed: asyncio.Event, stop: Callable[[], None]) -> None:
        """Run as long as a client follows something."""
        try:
            while True:
                await changed.wait()
                if not self._followed():
                    return
                await asyncio.sleep(GATHER_SECONDS)
                changed.clear()
                try:
                    place = await self._look_once(place)
                except LithosError as error:
                    _log.warning("subscriptions: %s", error.message)
                    asyncio.get_running_loop().call_later(RETRY_SECONDS, changed.set)
        finally:
            stop()
            self._looking = None

    async def _look_once(self, place: Place) -> Place:
        """Where the next look begins."""
        after, things, mail = await asyncio.to_thread(self._changed_since, place)
        followers = list(self._followers())
        chosen = [each for each in followers if each.thing in things]
        if mail:
            chosen += await self._reached([each for each in followers if each.thing not in things and each.call], mail)
        for each in chosen:
            await each.tell()
        return after

    async def _reached(self, followers: Sequence[Follower], mail: Sequence[Mail]) -> list[Follower]:
        """Those whose inbox the mail came into, as far as they may see it."""
        calls = [each.call for each in followers if each.call is not None]
        heard = await asyncio.to_thread(self._lithos.messages.reached, calls, mail)
        return [each for each, hears in zip(followers, heard, strict=True) if hears]

    def _followers(self) -> Iterator[Follower]:
        for stream in self._streams:
            yield from stream
        for held in list(self._sessions.values()):
            yield from held.values()

    def _followed(self) -> bool:
        return any(self._streams) or any(self._sessions.values())

    def _changed_since(self, place: Place) -> tuple[Place, set[Thing], tuple[Mail, ...]]:
        found = self._lithos.changes.read(place, ChangesRequest("cursor"))
        things: set[Thing] = {("briefing", "")} if found.changes else set()
        for each in found.changes:
            if each.kind == "thought":
                things.add(("chain", each.what.partition(" ")[2]))
            elif each.kind in ("task", "claim", "finding"):
                things.add(("task", each.id))
            elif each.kind == "note":
                things.add(("note", each.id))
        arrived = self._lithos.messages.arrived_since(self._mail)
        self._mail = arrived.cursor
        return found.place, things, arrived.mail


def _connection(context: Context) -> Any:
    return context.session._connection  # the SDK names a connection nowhere else


def _client(context: Context) -> tuple[Any, int]:
    """Whom an open stream counts for, and how many addresses it may have: a guest's connection, or the address of an
    HTTP client, whose requests have nothing else in common."""
    request = context.request
    if isinstance(request, Request):
        return request.client.host if request.client else "", MOST_OF_ADDRESS
    return None if request is None else id(request), MOST_SUBSCRIPTIONS


def _too_many(most: int) -> MCPError:
    return MCPError(
        types.INVALID_PARAMS,
        f"{most:,} resources is the most that one client may follow; follow {BRIEFING} instead",
    )
