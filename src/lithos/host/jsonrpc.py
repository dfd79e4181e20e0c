"""JSON-RPC as guest and host write and read it, without models. Standard library only: guests import it."""

from __future__ import annotations

import json
import re

from lithos.host.wire import LONGEST_LINE, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

PARSE_ERROR, INVALID_REQUEST, SERVER_ERROR = -32700, -32600, -32000
LISTEN = "subscriptions/listen"  # a request that never ends

_SOME_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.){0,200}")')
_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")

Id = int | str


def failure(key: Id | None, code: int, message: str, data: dict[str, Any] | None = None) -> bytes:
    error = {"code": code, "message": message} | ({"data": data} if data else {})
    return line({"jsonrpc": "2.0", "id": key, "error": error})


def too_long(text: bytes) -> bytes:
    message = f"the message has more than {LONGEST_LINE:,} bytes"
    return failure(likely_id(text), INVALID_REQUEST, message, {"code": "too_large"})


def likely_id(text: bytes) -> Id | None:
    """The probable id of a message that cannot be parsed: its sender waits for an answer to it."""
    found = _SOME_ID.search(text, 0, 4096) or _SOME_ID.search(text, max(0, len(text) - 4096))
    return json.loads(found[1]) if found else None


def is_id(value: object) -> TypeGuard[Id]:
    if isinstance(value, str):
        return _HALF_A_CHARACTER.search(value) is None  # no answer can be written under it
    return isinstance(value, int) and not isinstance(value, bool)


def id_and_method(text: bytes) -> tuple[Id | None, str | None]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None, None
    key = message.get("id") if isinstance(message, dict) else None
    return (key if is_id(key) else None), (message.get("method") if isinstance(message, dict) else None)
