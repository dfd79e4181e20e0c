"""A change must come from the page itself: cross-site requests (CSRF) are refused."""

from __future__ import annotations

from collections.abc import Mapping

from lithos.errors import Forbidden


def own_origin(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from our own page, as the browser says; of another port of this machine it does not."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and bool(rest) and rest == headers.get("host")


def need_own_origin(method: str, headers: Mapping[str, str]) -> None:
    """A change must come from our page. A reading request of another site gets no answer that it could read anyway."""
    if method not in ("GET", "HEAD") and not own_origin(headers):
        raise Forbidden("this request comes from another site", hint="Open the page itself and do it there.")
