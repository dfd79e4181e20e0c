"""Who looks at the page: by a one-time code of `lithos open`, by a token, or without either on loopback.

The cookie of a code names a sign-in that this process remembers; the cookie of a token is the token, so that revoking
it ends the visit. Both are HttpOnly and SameSite. A cookie is sent to every port of a host name: other programs of the
machine that a browser visits under the same name see it, which is why `lithos open` uses a short-lived sign-in.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pwd
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from lithos.agents import Token
from lithos.tools.caller import Caller

COOKIE = "lithos-visit"
CODE_SECONDS = 120.0
IDLE_SECONDS = 12 * 3600.0
MOST_CODES, MOST_VISITS = 32, 1000
EVERYTHING = ("all",)


class KnownTokens(Protocol):
    def remembered(self, secret: str) -> Token | None: ...

    def find(self, secret: str) -> Token | None: ...


@dataclass(frozen=True, slots=True)
class Visitor:
    """One person at a browser, and the caller that the tools see."""

    caller: Caller
    name: str = ""  # empty: not signed in
    kind: str = "reader"  # reader | token | operator

    @property
    def signed_in(self) -> bool:
        return self.kind != "reader"

    @property
    def may_write(self) -> bool:
        return self.signed_in and not self.caller.read_only

    @property
    def operator(self) -> bool:
        return self.caller.operator

    @property
    def person(self) -> bool:
        """May do what is for persons: a token of an agent may not."""
        return self.may_write and (self.operator or (self.caller.user_bound and not self.caller.bound))


class SignIns:
    """Codes and visits of one listener, in memory: a new host asks for a new sign-in."""

    def __init__(self, tokens: KnownTokens, *, open_reading: bool, default: Caller) -> None:
        self._tokens = tokens
        self._open_reading = open_reading  # on loopback everyone may read
        self._default = default
        self.anonymous = replace(default, read_only=True)  # for pages that are shown to everyone
        self._codes: dict[str, float] = {}  # hash → until when
        self._visits: dict[str, float] = {}

    # ------------------------------------------------------------------ codes
    def new_code(self) -> str:
        """A code for one sign-in as the operator, requested by the operator's command line."""
        code = secrets.token_urlsafe(24)
        _put(self._codes, _hash(code), time.monotonic() + CODE_SECONDS, MOST_CODES)
        return code

    def redeem(self, code: str) -> str | None:
        """The value of the cookie; None if the code is unknown, used or too old."""
        until = self._codes.pop(_hash(code), 0.0)
        if time.monotonic() > until:
            return None
        visit = secrets.token_urlsafe(32)
        _put(self._visits, _hash(visit), time.monotonic() + IDLE_SECONDS, MOST_VISITS)
        return f"v.{visit}"

    def end(self, cookie: str | None) -> None:
        if cookie and cookie.startswith("v."):
            self._visits.pop(_hash(cookie[2:]), None)

    # ------------------------------------------------------------------ visitors
    async def visitor(self, cookies: Mapping[str, str]) -> Visitor | None:
        """None: this address needs a sign-in."""
        cookie = cookies.get(COOKIE, "")
        if cookie.startswith("v.") and self._is_visit(cookie[2:]):
            return self._operator()
        if cookie.startswith("t.") and (found := await self.with_token(cookie[2:])):
            return found
        if not self._open_reading:
            return None
        return Visitor(replace(self._default, toolsets=EVERYTHING, read_only=True))

    async def with_token(self, secret: str) -> Visitor | None:
        token = self._tokens.remembered(secret) or await asyncio.to_thread(self._tokens.find, secret)
        if token is None:
            return None
        name = token["agent"] or token["user"] or token["name"]
        reads, to_user = token["scope"] == "read", token["user"] is not None
        caller = replace(
            self._default,
            toolsets=EVERYTHING,
            agent=name,
            bound=token["agent"] is not None,
            user=token["user"] or token["name"],
            user_bound=to_user,
            owner=not to_user and not reads,
            read_only=self._default.read_only or reads,
            workshop=token["scope"] == "workshop",
        )
        return Visitor(caller, name, "token")

    def _is_visit(self, visit: str) -> bool:
        key = _hash(visit)
        if time.monotonic() > self._visits.get(key, 0.0):
            self._visits.pop(key, None)
            return False
        self._visits[key] = time.monotonic() + IDLE_SECONDS
        return True

    def _operator(self) -> Visitor:
        name = login_name()
        caller = replace(self._default, toolsets=EVERYTHING, agent=name, operator=True)
        return Visitor(caller, name, "operator")


def login_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user without a name
        return "operator"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _put(kept: dict[str, float], key: str, until: float, most: int) -> None:
    """The ones that end first go when there are too many."""
    while len(kept) >= most:
        del kept[min(kept, key=kept.__getitem__)]
    kept[key] = until
