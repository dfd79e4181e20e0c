"""One request for a page: calls tools as the visitor, reads the form, shows a template."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lithos.app import Lithos
from lithos.core.clock import rfc3339
from lithos.errors import InvalidInput, LithosError, TooLarge
from lithos.messages import OPERATOR
from lithos.serving.mcp.adapter import CallForPage
from lithos.serving.web.assets import Assets
from lithos.serving.web.visitors import SignIns, Visitor
from lithos.settings import LithosConfig, ServerSettings
from lithos.tools.registry import Answer

T = TypeVar("T")
CACHED_SECONDS = 60.0
MOST_ANSWERS = 64
MOST_FIELDS = 200
LONGEST_QUERY = 2000


class LiveStreams(Protocol):
    def stream(self, page: Page, since: str) -> AsyncIterator[bytes]: ...


@dataclass
class Site:
    """Shared by all pages."""

    lithos: Lithos
    call_tool: CallForPage
    sign_ins: SignIns
    settings: ServerSettings
    config: LithosConfig | None  # all settings, shown to the operator
    assets: Assets
    templates: Environment
    answers: dict[Any, tuple[float, asyncio.Future[Answer]]] = field(default_factory=dict, repr=False)  # `call_cached`
    live: LiveStreams = field(init=False, repr=False)  # needs the site itself


@dataclass
class Page:
    site: Site
    request: Request
    visitor: Visitor
    _form: dict[str, str] | None = field(default=None, repr=False)

    @property
    def inbox(self) -> str:
        """The name under which the visitor sends and receives."""
        return OPERATOR if self.visitor.operator else self.visitor.name

    @property
    def own_names(self) -> set[str]:
        """Names of the visitor among those of the agents."""
        return {self.inbox, self.visitor.name} if self.visitor.signed_in else set()

    # ------------------------------------------------------------------ tools
    async def call(self, tool: str, /, **arguments: Any) -> Answer:
        """The tool's whole answer, as the visitor; an argument that is None is left out. Raises `LithosError`."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self.site.call_tool(self.request, self.visitor.caller, tool, given)

    async def try_call(self, tool: str, /, **arguments: Any) -> Answer | None:
        """None where the visitor may not, or there is nothing."""
        try:
            return await self.call(tool, **arguments)
        except LithosError:
            return None

    async def call_cached(self, tool: str, /, **arguments: Any) -> Answer:
        """As `call`, for an answer that costs seconds and may be a minute old. Each caller has an own entry. Who asks
        while it is on its way waits for it: five tabs that open at once cost one answer."""
        key = (self.visitor.caller, tool, repr(sorted(arguments.items())))
        until, asked = self.site.answers.get(key, (0.0, None))
        if asked is None or time.monotonic() > until:
            asked = asyncio.ensure_future(self.call(tool, **arguments))
            if len(self.site.answers) >= MOST_ANSWERS:
                self.site.answers.clear()
            self.site.answers[key] = (time.monotonic() + CACHED_SECONDS, asked)
        try:
            return await asyncio.shield(asked)  # one visitor who leaves does not take the answer from the others
        except Exception:  # of any kind: the next visitor asks again, instead of getting this error for a minute
            self.site.answers.pop(key, None)
            raise

    async def work(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        """Run what takes more than a millisecond in a thread."""
        return await asyncio.to_thread(function, *arguments, **named)

    # ------------------------------------------------------------------ input
    def given(self, name: str, default: str = "") -> str:
        """A value of the URL's query, bounded."""
        return self.request.query_params.get(name, default)[:LONGEST_QUERY]

    def part(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    async def form(self) -> dict[str, str]:
        """The fields of a posted form. Line ends are \\n."""
        if self._form is None:
            body = await self._body()
            try:
                pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
            except ValueError:
                raise InvalidInput("the form is not valid text", hint="Send it from the page.") from None
            self._form = {name: value.replace("\r\n", "\n") for name, value in pairs}
        return self._form

    async def _body(self) -> bytes:
        largest = self.site.settings.max_request_bytes
        body = bytearray()
        async for piece in self.request.stream():
            body += piece
            if len(body) > largest:
                raise TooLarge(f"the form has more than {largest:,} bytes", hint="Split the text.")
        return bytes(body)

    @property
    def by_htmx(self) -> bool:
        """Whether htmx asks for a part of the page; on a way back in history it wants the whole."""
        headers = self.request.headers
        return "hx-request" in headers and "hx-history-restore-request" not in headers and "hx-boosted" not in headers

    # ------------------------------------------------------------------ output
    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """The template with the values, the visitor, and `key`: a new idempotency key for its forms."""
        now = self.site.lithos.clock.now()
        text = self.site.templates.get_template(template).render(
            visitor=self.visitor,
            at=self.request.url.path,
            now=now,
            since=rfc3339(now.replace(microsecond=0)),  # the page shows what was there then, or later
            key=secrets.token_hex(12),
            part_only=self.by_htmx,
            **values,
        )
        return HTMLResponse(text, status_code=status, headers={"vary": "Cookie, HX-Request"})

    def go(self, path: str) -> Response:
        """Elsewhere after a change; also for htmx, which would follow a redirect inside the part."""
        if self.by_htmx:
            return Response(status_code=204, headers={"hx-redirect": path})
        return RedirectResponse(path, status_code=303)


Handler = Callable[[Page], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    path: str
    handler: Handler
    method: str = "GET"
    writes: bool = False  # a form for a change: not for those who may only read
    open: bool = False  # for those who are not signed in too, also where reading needs a sign-in
