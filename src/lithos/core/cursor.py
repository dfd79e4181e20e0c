"""Cursors of lists: an opaque place in an order, good only for the list that it was given for."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypeVar

import orjson
from typing_extensions import TypedDict

from lithos.errors import InvalidInput

T = TypeVar("T")
LONGEST = 4_000
MOST_RANKED = 500  # results of one ranking, over all its pages
_DIGEST = 3  # bytes by which a cursor names a result; two of 500 collide in one ranking of 130
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


def page_of(
    answer: Mapping[str, Any],
    field: str,
    limit: int,
    cursor: str | None,
    of: Sequence[Any],
    *,
    newest_last: bool = False,
) -> dict[str, Any]:
    """The answer with one page of the list in `field`, which was made whole. `newest_last`: pages begin at its end."""
    offset, rows = offset_of(cursor, of), answer[field]
    end = max(0, len(rows) - offset)
    shown = rows[max(0, end - limit) : end] if newest_last else rows[offset : offset + limit]
    return {**answer, field: shown, **next_page(of, offset, limit, len(rows))}


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """The results that earlier pages of a ranking gave. A page after them repeats none and skips none, also when the
    ranking changed meanwhile: a ranking has no fixed places to count."""

    of: bytes = b""
    digests: frozenset[bytes] = frozenset()

    def depth(self, limit: int) -> int:
        """How many of the best must be ranked for one page and to know whether another follows."""
        return len(self.digests) + limit + 1

    def rows(self, answer: dict[str, Any], field: str, limit: int, *, newest_last: bool = False) -> dict[str, Any]:
        """The answer with one page of the rows in `field`, which have ids."""
        rows = answer[field][::-1] if newest_last else answer[field]
        shown, more = self.page(rows, limit, lambda row: str(row["id"]))
        return {**answer, field: shown[::-1] if newest_last else shown, **more}

    def page(self, ranked: Sequence[T], limit: int, key: Callable[[T], str]) -> tuple[list[T], NextPage]:
        new = [row for row in ranked if _digest(key(row)) not in self.digests] if self.digests else list(ranked)
        if len(new) <= limit:
            return new, {}
        rows = new[:limit]
        shown = self.digests | {_digest(key(row)) for row in rows}
        if len(shown) >= MOST_RANKED:
            return rows, {}
        return rows, {"next_cursor": _text(self.of + b"".join(sorted(shown)))}


def shown_before(cursor: str | None, of: Sequence[Any]) -> ShownBefore:
    """From the cursor of the ranking described by `of` (its name, question and filters); without one, nothing."""
    fingerprint = bytes.fromhex(_fingerprint(of))
    if not cursor:
        return ShownBefore(fingerprint)
    try:
        read = _bytes(cursor)
    except ValueError:
        read = b""
    start, rest = read[: len(fingerprint)], read[len(fingerprint) :]
    if not rest or len(rest) % _DIGEST or len(rest) > _DIGEST * MOST_RANKED:
        raise InvalidInput(f"cursor {cursor[:40]!r} is not one that we returned", hint=_HINT)
    if start != fingerprint:
        raise InvalidInput("cursor: it belongs to a search with other arguments", hint=_HINT)
    return ShownBefore(fingerprint, frozenset(rest[at : at + _DIGEST] for at in range(0, len(rest), _DIGEST)))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]


def pack(parts: Sequence[Any]) -> str:
    return _text(orjson.dumps(list(parts)))


def unpack(text: str) -> list[Any]:
    """Raises ValueError on everything that `pack` did not make."""
    try:
        parts = orjson.loads(_bytes(text))
    except orjson.JSONDecodeError as error:
        raise ValueError(text[:20]) from error
    if not isinstance(parts, list) or not parts:
        raise ValueError(text[:20])
    return parts


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    if not 0 < len(text) <= LONGEST:
        raise ValueError(text[:20])
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(text[:20]) from error


def _fingerprint(of: Sequence[Any]) -> str:
    return hashlib.sha256(orjson.dumps(list(of), default=str)).hexdigest()[:10]
