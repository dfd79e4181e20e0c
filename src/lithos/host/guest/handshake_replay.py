"""What one client and its hosts have said to each other, as far as a new host must hear it again. No I/O.

Standard library only: guests import it.
"""

from __future__ import annotations

import json
import re

from lithos.host.wire import LONGEST_LINE, MODERN_MARK, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeGuard

    from lithos.errors import LithosError

MOST_SENDS = 2  # a call that kills its host each time would otherwise go round for ever
PARSE_ERROR, INVALID_REQUEST, SERVER_ERROR = -32700, -32600, -32000
TOOLS_CHANGED = line({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

_LISTEN = "subscriptions/listen"  # never ends, so it is never resent: its client listens again and fetches anew
_READS = ("initialize", "ping", "server/discover", "completion/complete")
# Our host writes its answers in this order; anything else is parsed whole.
_ANSWER_HEAD = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d+|"(?:[^"\\]|\\.)*"),"(?:result|error)"')
_SOME_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.){0,200}")')
_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")

Id = int | str


class Asked:
    """A request that no host has answered yet."""

    __slots__ = ("line", "method", "sends")

    def __init__(self, line: bytes, method: str, sends: int) -> None:
        self.line = line
        self.method = method
        self.sends = sends

    @property
    def modern(self) -> bool:
        return MODERN_MARK in self.line


class Dialogue:
    def __init__(self) -> None:
        self.open: dict[Id, Asked] = {}
        self.once = False  # the host records deliveries: everything may be sent again
        self._initialize: tuple[Id, bytes] | None = None
        self._initialized: bytes | None = None
        self._standing: dict[str, bytes] = {}  # log level and subscriptions of a legacy session
        self._swallowed: set[Id] = set()  # our own replays: their answers are not for the client
        self._asked_by_host: set[Id] = set()

    # ------------------------------------------------------------------ the client speaks
    def from_client(self, text: bytes, linked: bool) -> tuple[bytes, bytes]:
        """One line of the client: what to pass to the host (when `linked`), and what to answer at once."""
        if len(text) > LONGEST_LINE:
            return b"", too_long(text)
        try:
            message = json.loads(text)
        except ValueError:
            return b"", failure(None, PARSE_ERROR, "Parse error: this line is not JSON")
        except RecursionError:
            return b"", failure(_some_id(text), INVALID_REQUEST, "Invalid request: nested too deeply")
        if not isinstance(message, dict):
            return b"", failure(None, INVALID_REQUEST, "Invalid request: one JSON object per line, no batches")
        if "id" in message and not _is_id(message["id"]):  # the SDK would take it for a notification
            return b"", failure(None, INVALID_REQUEST, "Invalid request: an id is a whole number or a string")
        if not isinstance(message.get("method", ""), str):
            return b"", failure(message.get("id"), INVALID_REQUEST, "Invalid request: a method is a string")
        return (text if self._note(message, text, linked) and linked else b""), b""

    def _note(self, message: dict[str, Any], text: bytes, linked: bool) -> bool:
        """Remember what matters of it; False: the host must not see it."""
        method, key = message.get("method"), message.get("id")
        if not _is_id(key):
            self._note_notification(method, message, text)
            return True
        if not isinstance(method, str):
            # An answer to a question of a host that is gone would hit another question of the new one.
            return key in self._asked_by_host
        self.open[key] = Asked(text, method, sends=1 if linked else 0)
        if method == "initialize":
            self._initialize, self._initialized = (key, text), None
            self._standing.clear()
        else:
            self._note_standing(method, message, text)
        return True

    def _note_notification(self, method: object, message: dict[str, Any], text: bytes) -> None:
        if method == "notifications/initialized":
            self._initialized = text
        elif method == "notifications/cancelled":
            cancelled = _params(message).get("requestId")
            if _is_id(cancelled):
                self.open.pop(cancelled, None)

    def _note_standing(self, method: str, message: dict[str, Any], text: bytes) -> None:
        address = str(_params(message).get("uri"))
        if method == "logging/setLevel":
            self._standing["level"] = text
        elif method == "resources/subscribe":
            self._standing[f"resource {address}"] = text
        elif method == "resources/unsubscribe":
            self._standing.pop(f"resource {address}", None)

    # ------------------------------------------------------------------ the host speaks
    def from_host(self, text: bytes) -> bool:
        """One line of the host; False: it answers a replay of ours and is not for the client."""
        head = _ANSWER_HEAD.match(text)
        key, method = (json.loads(head[1]), None) if head else id_and_method(text)
        if method is not None:
            if key is not None:
                self._asked_by_host.add(key)
            return True
        if key in self._swallowed:
            self._swallowed.discard(key)
            return False
        if key is not None:
            self.open.pop(key, None)
        return True

    # ------------------------------------------------------------------ the host is gone, the next one comes
    def lost(self, clean: bool) -> bytes:
        """Sort what was in flight; the answers for requests that no other host may see.

        `clean`: the host said goodbye, so whatever it has not answered it has not read either.
        """
        self._asked_by_host.clear()
        self._swallowed.clear()
        answers = []
        for key, asked in list(self.open.items()):
            if not asked.sends:
                continue
            if asked.method == _LISTEN or not (clean or self._may_resend(asked)):
                del self.open[key]
                answers.append(give_up(key, asked))
            elif clean:
                asked.sends -= 1
        return b"".join(answers)

    def _may_resend(self, asked: Asked) -> bool:
        safe = self.once or asked.method in _READS or asked.method.endswith(("/list", "/read", "/get"))
        return safe and asked.sends < MOST_SENDS

    def resent(self) -> list[Id]:
        """Ids of requests that an earlier host may have carried out."""
        return [key for key, asked in self.open.items() if asked.sends]

    def replay(self) -> bytes:
        """What a host that has just welcomed us must hear before anything new."""
        lines = list(self._session()) + [asked.line for asked in self.open.values()]
        for asked in self.open.values():
            asked.sends += 1
        return b"".join(lines)

    def _session(self) -> Iterator[bytes]:
        """The client's handshake under ids of our own: clients may reuse theirs."""
        if self._initialize is None or self._initialize[0] in self.open:
            return
        for number, text in enumerate((self._initialize[1], self._initialized, *self._standing.values())):
            if text is None:
                continue
            message = json.loads(text)
            if "id" in message:
                message["id"] = f"lithos-replay-{number}"
                self._swallowed.add(message["id"])
            yield line(message)

    @property
    def initialized(self) -> bool:
        return self._initialize is not None and self._initialize[0] not in self.open

    def refuse_all(self, error: LithosError) -> bytes:
        """Answers for everything in flight when no host will ever serve this client."""
        answers = [failure(key, SERVER_ERROR, error.message, error.as_dict()) for key in self.open]
        self.open.clear()
        return b"".join(answers)


def give_up(key: Id, asked: Asked) -> bytes:
    """The answer to a request that was lost with its host."""
    from lithos.errors import HostRestarted

    if asked.method == _LISTEN:
        return failure(key, SERVER_ERROR, "the subscription ended with its host: listen again and fetch anew")
    error = HostRestarted(
        "the host of this memory ended while it worked on the call, twice" if asked.sends > 1 else "the host ended",
        hint="Read what you meant to change, then call again if it is not done.",
    ).as_dict()
    if asked.method != "tools/call":
        return failure(key, SERVER_ERROR, error["message"], error)
    # A tool's failure is a result: models read results, while clients often hide protocol errors from them.
    content = {"error": error}
    result = {"content": [{"type": "text", "text": json.dumps(content)}], "structuredContent": content, "isError": True}
    return line({"jsonrpc": "2.0", "id": key, "result": result | ({"resultType": "complete"} if asked.modern else {})})


def too_long(text: bytes) -> bytes:
    message = f"the message has more than {LONGEST_LINE:,} bytes"
    return failure(_some_id(text), INVALID_REQUEST, message, {"code": "too_large"})


def _some_id(text: bytes) -> Id | None:
    """The likely id of a message that cannot be parsed: its sender waits for an answer under it."""
    found = _SOME_ID.search(text, 0, 4096) or _SOME_ID.search(text, max(0, len(text) - 4096))
    return json.loads(found[1]) if found else None


def failure(key: Id | None, code: int, message: str, data: dict[str, Any] | None = None) -> bytes:
    error = {"code": code, "message": message} | ({"data": data} if data else {})
    return line({"jsonrpc": "2.0", "id": key, "error": error})


def _is_id(value: object) -> TypeGuard[Id]:
    if isinstance(value, str):
        return _HALF_A_CHARACTER.search(value) is None  # no answer can be written under it
    return isinstance(value, int) and not isinstance(value, bool)


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def id_and_method(text: bytes) -> tuple[Id | None, str | None]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None, None
    key = message.get("id") if isinstance(message, dict) else None
    return (key if _is_id(key) else None), (message.get("method") if isinstance(message, dict) else None)
