"""What every HTTP request passes before anything reads its body: Host, Origin, token, and who it makes the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import parse_qs

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lithos.agents import Token
from lithos.errors import Forbidden, InvalidInput, LithosError
from lithos.serving.mcp.callers import SCOPE_KEY
from lithos.serving.mcp.inflight import InFlight
from lithos.tools.answers import failure, http_status
from lithos.tools.caller import Caller, parse_toolsets

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LOOPBACK_BINDS = ("localhost", "::1")
OPEN_PATHS = frozenset({"/health"})  # a container's probe has no token; the page tells nothing of worth
TOOLSETS_HEADER = "x-lithos-toolsets"
AGENT_HEADER = "x-lithos-agent"
READ_ONLY_HEADER = "x-lithos-read-only"
# Headers that decide who calls and what the call may do. Two of one name could be read differently behind us.
ONCE = frozenset(("host", "origin", "authorization", TOOLSETS_HEADER, AGENT_HEADER, READ_ONLY_HEADER, "mcp-session-id"))
ON = frozenset(("1", "true", "yes", "on", "y", "t", ""))  # `?read_only` alone switches it on
OFF = frozenset(("0", "false", "no", "off", "n", "f"))


def is_loopback(bind: str) -> bool:
    return bind in LOOPBACK_BINDS or bind.startswith("127.")


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
        """Anything goes on an open address without a list: there the token guards, and names vary."""
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
    """ASGI middleware; leaves the `Caller` in the scope for the tools, and a user for the SDK's session ownership."""

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
        if scope["method"] == "GET":  # a stream that stays open for as long as its client likes
            await app(scope, receive, send)
            return
        with self._in_flight.one():
            await app(scope, receive, send)

    async def _admit(self, scope: Scope) -> JSONResponse | None:
        # Backwards, so that of two with one name the first counts, as for everybody who reads them after us.
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
        if twice := _sent_twice(scope):
            return _refuse(400, InvalidInput(f"the header {twice} was sent more than once", hint="Send it once."))
        if not self._rules.accepts_host(headers.get("host")):
            return _refuse(421, Forbidden("this Host header is not ours", hint="Add it to server.allowed_hosts."))
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
        caller = self._wishes(scope, headers)
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

    def _wishes(self, scope: Scope, headers: Mapping[str, str]) -> Caller:
        """Toolsets, agent and read-only of one request: in the URL or in headers; both only ever narrow."""
        caller = self._default
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        toolsets = (query.get("toolsets") or [headers.get(TOOLSETS_HEADER)])[0]
        if toolsets is not None:
            caller = replace(caller, toolsets=self._check_toolsets(parse_toolsets(toolsets)))
        agent = (query.get("agent") or [headers.get(AGENT_HEADER)])[0]
        if agent:
            caller = replace(caller, agent=caller.acting_as(agent))
        switches = [*query.get("read_only", []), *([headers[READ_ONLY_HEADER]] if READ_ONLY_HEADER in headers else [])]
        return replace(caller, read_only=True) if max(map(_is_on, switches), default=False) else caller


class Unauthorized(Forbidden):
    """No token, or not one of ours: HTTP's 401 instead of 403."""


def _restricted(caller: Caller, token: Token) -> Caller:
    bound, reads = token["user"] is not None, token["scope"] == "read"
    caller = replace(caller, user=token["user"] or token["name"], user_bound=bound, owner=not bound and not reads)
    caller = replace(caller, read_only=caller.read_only or reads)
    if token["agent"] is None:
        return caller
    if caller.agent not in (None, token["agent"]):
        raise Forbidden(f"this token belongs to the agent {token['agent']!r}", hint="Leave the agent out.")
    return replace(caller, agent=token["agent"], bound=True)


def _bearer(headers: Mapping[str, str]) -> str | None:
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _sent_twice(scope: Scope) -> str | None:
    seen: set[bytes] = set()
    for name, _ in scope["headers"]:
        if name in seen and (text := name.decode("latin-1")) in ONCE:
            return text
        seen.add(name)
    return None


def _is_on(text: str) -> bool:
    """A safety switch that we do not understand is refused: ignored, it would let through what it should stop."""
    word = text.strip().lower()
    if word in ON or word in OFF:
        return word in ON
    raise InvalidInput(f"read_only is {text[:20]!r}, which is neither on nor off", hint="Send true or false.")


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _refuse(status: int, error: LithosError, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(failure(error), status_code=status, headers=headers)
