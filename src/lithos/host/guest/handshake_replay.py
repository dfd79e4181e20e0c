"""The lines to send again to a new host: the client's handshake, and requests that no host has answered. No I/O.

Standard library only: guests import it.
"""

from __future__ import annotations

import json
import re

from lithos.host.jsonrpc import (
    INVALID_REQUEST,
    LISTEN,
    PARSE_ERROR,
    SERVER_ERROR,
    failure,
    id_and_method,
    is_id,
    likely_id,
    too_long,
)
from lithos.host.wire import LONGEST_LINE, MODERN_MARK, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lithos.errors import LithosError
    from lithos.host.jsonrpc import Id

MOST_SENDS = 2  # a call that kills its host each time would otherwise be resent without end
TOOLS_CHANGED = line({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

_READS = ("initialize", "ping", "server/discover", "completion/complete")
# Our host writes its answers in this order; anything else is parsed whole.
_ANSWER_HEAD = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d+|"(?:[^"\\]|\\.)*"),"(?:result|error)"')


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


class HandshakeReplay:
    def __init__(self) -> None:
        self.open: dict[Id, Asked] = {}
        self.once = False  # the host records deliveries: everything may be sent again
        self._initialize: tuple[Id, bytes] | None = None
        self._initialized: bytes | None = None
        self._session_state: dict[str, bytes] = {}  # the log level and the subscriptions of a legacy session
        self._swallowed: set[Id] = set()  # ids of our replays: the client must not see their answers
        self._asked_by_host: set[Id] = set()

    # ------------------------------------------------------------------ lines of the client
    def from_client(self, text: bytes, connected: bool) -> tuple[bytes, bytes]:
        """One line of the client: what to pass to the host (if `connected`), and what to answer at once."""
        if len(text) > LONGEST_LINE:
            return b"", too_long(text)
        try:
            message = json.loads(text)
        except ValueError:
            return b"", failure(None, PARSE_ERROR, "Parse error: this line is not JSON")
        except RecursionError:
            return b"", failure(likely_id(text), INVALID_REQUEST, "Invalid request: nested too deeply")
        if not isinstance(message, dict):
            return b"", failure(None, INVALID_REQUEST, "Invalid request: one JSON object per line, no batches")
        if "id" in message and not is_id(message["id"]):  # the SDK would take it for a notification
            return b"", failure(None, INVALID_REQUEST, "Invalid request: an id is a whole number or a string")
        if not isinstance(message.get("method", ""), str):
            return b"", failure(message.get("id"), INVALID_REQUEST, "Invalid request: a method is a string")
        return (text if self._record(message, text, connected) and connected else b""), b""

    def _record(self, message: dict[str, Any], text: bytes, connected: bool) -> bool:
        """Record it for a replay; False: the host must not see it."""
        method, key = message.get("method"), message.get("id")
        if not is_id(key):
            self._record_notification(method, message, text)
            return True
        if not isinstance(method, str):
            # An answer to a request of a lost host would match another request of the new one.
            return key in self._asked_by_host
        self.open[key] = Asked(text, method, sends=1 if connected else 0)
        if method == "initialize":
            self._initialize, self._initialized = (key, text), None
            self._session_state.clear()
        else:
            self._record_session_state(method, message, text)
        return True

    def _record_notification(self, method: object, message: dict[str, Any], text: bytes) -> None:
        if method == "notifications/initialized":
            self._initialized = text
        elif method == "notifications/cancelled":
            cancelled = _params(message).get("requestId")
            if is_id(cancelled):
                self.open.pop(cancelled, None)

    def _record_session_state(self, method: str, message: dict[str, Any], text: bytes) -> None:
        address = str(_params(message).get("uri"))
        if method == "logging/setLevel":
            self._session_state["level"] = text
        elif method == "resources/subscribe":
            self._session_state[f"resource {address}"] = text
        elif method == "resources/unsubscribe":
            self._session_state.pop(f"resource {address}", None)

    # ------------------------------------------------------------------ lines of the host
    def from_host(self, text: bytes) -> bool:
        """One line of the host; False: it answers a replay, and the client must not see it."""
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

    # ------------------------------------------------------------------ a lost host, a new host
    def lost(self, clean: bool) -> bytes:
        """Decide which open requests are resent; return answers for those that are not.

        `clean`: the host sent `bye`, so it has not read what it has not answered.
        """
        self._asked_by_host.clear()
        self._swallowed.clear()
        answers = []
        for key, asked in list(self.open.items()):
            if not asked.sends:
                continue
            if asked.method == LISTEN or not (clean or self._may_resend(asked)):
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
        """The lines that a new host must get before anything else."""
        lines = list(self._session()) + [asked.line for asked in self.open.values()]
        for asked in self.open.values():
            asked.sends += 1
        return b"".join(lines)

    def _session(self) -> Iterator[bytes]:
        """The client's handshake under our own ids: clients may reuse theirs."""
        if self._initialize is None or self._initialize[0] in self.open:
            return
        for number, text in enumerate((self._initialize[1], self._initialized, *self._session_state.values())):
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
        """Answers for all open requests when no host will serve this client."""
        answers = [failure(key, SERVER_ERROR, error.message, error.as_dict()) for key in self.open]
        self.open.clear()
        return b"".join(answers)


def give_up(key: Id, asked: Asked) -> bytes:
    """The answer to a request that was lost with its host."""
    from lithos.errors import HostRestarted

    if asked.method == LISTEN:
        return failure(key, SERVER_ERROR, "the subscription ended with its host: listen again and fetch again")
    error = HostRestarted(
        "the host ended while it worked on the call, twice" if asked.sends > 1 else "the host ended",
        hint="Read what you meant to change, then call again if it is not done.",
    ).as_dict()
    if asked.method != "tools/call":
        return failure(key, SERVER_ERROR, error["message"], error)
    # As a tool result: models read results, while clients often hide protocol errors from them.
    content = {"error": error}
    result = {"content": [{"type": "text", "text": json.dumps(content)}], "structuredContent": content, "isError": True}
    return line({"jsonrpc": "2.0", "id": key, "result": result | ({"resultType": "complete"} if asked.modern else {})})


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}
