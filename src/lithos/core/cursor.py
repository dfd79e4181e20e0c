"""Cursors of lists: an opaque place in an order, good only for the list that it was given for."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict

from lithos.errors import InvalidInput

LONGEST = 4_000
_LARGEST = 2**62  # a database takes no larger number
_HINT = "Pass next_cursor of the page before, with the same arguments; or leave cursor out to begin again."


def next_cursor(of: Sequence[Any], place: Sequence[Any]) -> str:
    """The cursor of the list described by `of` (its name and filters), behind `place`."""
    return pack([_fingerprint(of), *place])


def place_of(cursor: str | None, of: Sequence[Any], *kinds: type) -> list[Any] | None:
    """The place behind which the list goes on, of these kinds; None: from its beginning."""
    if not cursor:
        return None
    try:
        fingerprint, *place = unpack(cursor)
    except ValueError:
        raise InvalidInput(f"cursor {cursor[:40]!r} is not one that we returned", hint=_HINT) from None
    if fingerprint != _fingerprint(of):
        raise InvalidInput("cursor: it belongs to a list with other arguments", hint=_HINT)
    if len(place) != len(kinds) or not all(map(_is_a, place, kinds)):
        raise InvalidInput(f"cursor {cursor[:40]!r} is not one that we returned", hint=_HINT)
    return place


class NextPage(TypedDict):
    next_cursor: NotRequired[str]


def _is_a(each: Any, kind: type) -> bool:
    return isinstance(each, kind) and not (isinstance(each, int) and abs(each) > _LARGEST)


def offset_of(cursor: str | None, of: Sequence[Any]) -> int:
    """The place in a list that is short enough to be made whole for each page."""
    place = place_of(cursor, of, int)
    return max(0, place[0]) if place else 0


def next_page(of: Sequence[Any], offset: int, limit: int, total: int) -> NextPage:
    """The field of an answer that says how to go on; empty at the end of the list."""
    return {"next_cursor": next_cursor(of, [offset + limit])} if offset + limit < total else {}


def pack(parts: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(list(parts))).decode().rstrip("=")


def unpack(text: str) -> list[Any]:
    """Raises ValueError on everything that `pack` did not make."""
    if not 0 < len(text) <= LONGEST:
        raise ValueError(text[:20])
    try:
        parts = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, orjson.JSONDecodeError) as error:
        raise ValueError(text[:20]) from error
    if not isinstance(parts, list) or not parts:
        raise ValueError(text[:20])
    return parts


def _fingerprint(of: Sequence[Any]) -> str:
    return hashlib.sha256(orjson.dumps(list(of), default=str)).hexdigest()[:10]
