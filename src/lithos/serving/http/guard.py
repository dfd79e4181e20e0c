"""Checks of every HTTP request before its body is read: Host, Origin, token; they make the `Caller`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import parse_qsl

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lithos.agents import Token
from lithos.core.read_only import folded
from lithos.errors import Forbidden, InvalidInput, LithosError
from lithos.serving.mcp.callers import SCOPE_KEY
from lithos.serving.mcp.inflight import InFlight
from lithos.tools.answers.errors import failure, http_status
from lithos.tools.caller import Caller, parse_switch, parse_toolsets

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LOOPBACK_BINDS = ("localhost", "::1")
OPEN_PATHS = frozenset({"/health"})  # a container's probe has no token; the page shows nothing private
# Paths of MCP and of what clients look for on their own. Every other path is the page, which knows its visitors itself.
API_PATHS = ("/mcp", "/sse", "/messages", "/health", "/.well-known", "/register", "/authorize", "/token")
OPTION_HEADERS = "x-lithos-"
OPTIONS = ("toolsets", "agent", "read_only")  # of one connection: in the URL, or as X-Lithos-… headers
# Headers that decide who calls. Of two with one name a proxy may have checked the other.
ONCE_ONLY = frozenset({"host", "origin", "authorization", "mcp-session-id"})


def is_loopback(bind: str) -> bool:
    return bind in LOOPBACK_BINDS or bind.startswith("127.")


def is_page(path: str) -> bool:
    return not any(path == each or path.startswith(f"{each}/") for each in API_PATHS)


class KnownTokens(Protocol):
    def remembered(self, secret: str) -> Token | None:
        """Without I/O."""
        ...

    def find(self, secret: str) -> Token | None: ...


@dataclass(frozen=True)
class Rules:
    bind: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()  # besides loopback
    origins: tuple[str, ...] = ()

    @property
    def bound_to_loopback(self) -> bool:
        return is_loopback(self.bind)

    def accepts_host(self, host: str | None) -> bool:
        """On an open address without a list every name is accepted: the token decides there."""
        if not host:
            return False
        name = _without_port(host)
        if name in LOOPBACK or name.strip("[]") == self.bind or host in self.hosts or name in self.hosts:
            return True
        return not self.bound_to_loopback and not self.hosts

    def accepts_origin(self, origin: str | None) -> bool:
        """Only browsers send it: a page of another site that found our port must not talk to us."""
        if origin is None or origin in self.origins:
            return True
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and _without_port(rest) in LOOPBACK


class Guard:
    """ASGI middleware. Puts the `Caller` into the scope for the tools, and a user for the SDK's session check."""

    def __init__(
        self,
        app: ASGIApp,
        rules: Rules,
        default: Caller,
        tokens: KnownTokens,
        check_toolsets: Callable[[tuple[str, ...]], tuple[str, ...]],
        in_flight: InFlight,
    ) -> None:
        self._app = app
        self._rules = rules
        self._default = default
        self._tokens = tokens
        self._check_toolsets = check_toolsets
        self._in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The parser in C leaves the blanks around a value that RFC 9110 §5.5 says are no part of it.
        scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
        app = await self._admit(scope) or self._app
        if scope["method"] == "GET":  # perhaps a stream that stays open as long as its client
            await app(scope, receive, send)
            return
        with self._in_flight.one():
            await app(scope, receive, send)

    async def _admit(self, scope: Scope) -> JSONResponse | None:
        """None, or the refusal."""
        try:
            headers = _headers(scope)
        except InvalidInput as error:
            return _refuse(400, error)
        if not self._rules.accepts_host(headers.get("host")):
            return _refuse(421, Forbidden("this Host header is not ours", hint="Add it to server.allowed_hosts."))
        if is_page(scope["path"]):
            return None  # it knows its own origin and its visitors (`serving.web.visitors`)
        if not self._rules.accepts_origin(headers.get("origin")):
            return _refuse(403, Forbidden("this Origin may not call", hint="Add it to server.allowed_origins."))
        if scope["path"] in OPEN_PATHS:
            return None
        try:
            scope[SCOPE_KEY] = await self._caller(scope, headers)
        except Unauthorized as error:
            return _refuse(401, error, {"WWW-Authenticate": 'Bearer realm="lithos"'})
        except LithosError as error:
            return _refuse(http_status(error), error)
        return None

    async def _caller(self, scope: Scope, headers: Mapping[str, str]) -> Caller:
        caller = self._with_options(_options(scope))
        shown = _bearer(headers)
        if shown is None:
            if self._rules.bound_to_loopback:
                return caller
            raise Unauthorized("this address needs a token", hint="Send Authorization: Bearer <token>.")
        token = self._tokens.remembered(shown) or await asyncio.to_thread(self._tokens.find, shown)
        if token is None:
            raise Unauthorized("this token is unknown or revoked", hint="`lithos token new` makes one.")
        granted = AccessToken(token="", client_id=token["id"], scopes=[token["scope"]])
        scope["user"] = AuthenticatedUser(granted)
        return _restricted(caller, token)

    def _with_options(self, options: Mapping[str, list[str]]) -> Caller:
        """Toolsets, agent and read-only of one request. They only ever narrow what the start of the server allows."""
        caller = replace(self._default, workshop=False)
        if options.get("toolsets", [""])[0]:
            caller = replace(caller, toolsets=self._check_toolsets(parse_toolsets(options["toolsets"][0])))
        if options.get("agent", [""])[0]:
            caller = replace(caller, agent=caller.acting_as(options["agent"][0]))
        read_only = [parse_switch(value, "read_only") for value in options.get("read_only", ())]
        return replace(caller, read_only=caller.read_only or any(read_only))


class Unauthorized(Forbidden):
    """No valid token: HTTP 401 instead of 403."""


def _restricted(caller: Caller, token: Token) -> Caller:
    bound, reads = token["user"] is not None, token["scope"] == "read"
    caller = replace(caller, user=token["user"] or token["name"], user_bound=bound, owner=not bound and not reads)
    caller = replace(caller, read_only=caller.read_only or reads, workshop=token["scope"] == "workshop")
    if token["agent"] is None:
        return caller
    if caller.agent not in (None, token["agent"]):
        raise Forbidden(f"this token belongs to the agent {token['agent']!r}", hint="Leave the agent out.")
    return replace(caller, agent=token["agent"], bound=True)


def _headers(scope: Scope) -> dict[str, str]:
    """Header → value; of two with one name the first counts, except where that would decide who may call."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        text = name.decode("latin-1")
        if text in headers and (text in ONCE_ONLY or text.startswith(OPTION_HEADERS)):
            raise InvalidInput(f"the header {text} is sent twice", hint="Send it once.")
        headers.setdefault(text, value.decode("latin-1"))
    return headers


def _options(scope: Scope) -> dict[str, list[str]]:
    """The options of one connection, from the URL first, then from headers.

    An option that is almost spelled right is refused: who asks for `readonly` must not be able to write.
    """
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if folded(name) in _FOLDED or folded(name) in _ABBREVIATED:
            found.setdefault(_known_option(name, name), []).append(value)
        for joined in value.split(";")[1:]:  # `x=1;read_only=1`: a separator of old
            if folded(joined.partition("=")[0]) in _FOLDED:
                _known_option(f";{joined}", f";{joined}")
    for header, value in scope["headers"]:
        name = header.decode("latin-1")
        if name.startswith(OPTION_HEADERS):
            option = _known_option(name.removeprefix(OPTION_HEADERS).replace("-", "_"), name)
            found.setdefault(option, []).append(value.decode("latin-1"))
        elif folded(name) in _MISNAMED:
            _known_option(name, name)
    return found


_FOLDED = frozenset(map(folded, OPTIONS))
_ABBREVIATED = frozenset({"ro", "rw"})  # of URLs: refused like any other name that is almost right
# `Lithos-Read-Only`, `X_Lithos_Agent`; a plain `Agent` may be another program's.
_MISNAMED = frozenset({"readonly", "xreadonly"}.union(*({f"lithos{each}", f"xlithos{each}"} for each in _FOLDED)))


def _known_option(name: str, sent_as: str) -> str:
    if name not in OPTIONS:
        raise InvalidInput(f"there is no option {sent_as[:80]!r}", hint=f"There are: {', '.join(OPTIONS)}.")
    return name


def _bearer(headers: Mapping[str, str]) -> str | None:
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _refuse(status: int, error: LithosError, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(failure(error), status_code=status, headers=headers)
