"""The lines that guest and host exchange besides JSON-RPC. Standard library only: guests import it.

A connection opens with one line of the guest (`hello`), answered by `welcome`, `refused` or `replace`. Only after
`welcome` may MCP messages follow, so that a guest knows whether the host has read a request. A line that starts
with `{"lithos":` is ours, any other line is MCP's. The SDK fixes the protocol era at the first request it sees, so
our lines must not look like one.
"""

from __future__ import annotations

import json

from lithos import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lithos.errors import LithosError

PIPE = 1  # changes when an older guest and a newer host (or the reverse) can no longer talk
LONGEST_LINE = 16 * 1024 * 1024  # twice the largest arguments of a tool, for the escapes of JSON
OURS = b'{"lithos":'
MODERN_MARK = b"io.modelcontextprotocol/protocolVersion"  # in `_meta` of every request since revision 2026-07-28

STOPPED = "stop"  # reasons of `bye`: connect again on the client's next request …
MOVED = "handover"  # … or at once: a new host takes over


def line(message: dict[str, Any]) -> bytes:
    """In ASCII: what a client sent may hold half a character, which has no UTF-8."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def welcome(pid: int, warnings: Iterable[str]) -> bytes:
    """`once`: the host records each delivery with its effect, so that any call may be sent again."""
    facts = {"pipe": PIPE, "version": __version__, "pid": pid, "once": True, "warnings": list(warnings)}
    return line({"lithos": "welcome", **facts})


def refused(error: dict[str, Any]) -> bytes:
    return line({"lithos": "refused", "error": error})


def bye(why: str) -> bytes:
    return line({"lithos": "bye", "why": why})


def parse(text: bytes) -> dict[str, Any]:
    """One of our lines; ValueError for anything else."""
    message = json.loads(text)
    if not isinstance(message, dict) or "lithos" not in message:
        raise ValueError("not a line of Lithos")
    return message


def error_from(sent: Any) -> LithosError:
    """The error that a host sent, as an exception of its class."""
    from lithos.errors import Unavailable, all_errors

    fields = dict(sent) if isinstance(sent, dict) else {}
    kind = all_errors().get(fields.pop("code", ""), Unavailable)
    message = str(fields.pop("message", "the host refused this guest without a reason"))
    fields.pop("retryable", None)
    return kind(message, hint=str(fields.pop("hint", "")), **fields)


def is_newer(version: str, than: str) -> bool:
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> list[int]:
    """`1.10.0rc1` → [1, 10, 0]: enough to compare two hosts."""
    return [int("".join(filter(str.isdigit, part.split("rc")[0])) or 0) for part in version.split(".")[:3]]
