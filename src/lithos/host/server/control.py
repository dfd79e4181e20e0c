"""The control questions of commands over the host's socket: ps, stop, handover, call, page."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lithos import __version__
from lithos.core.call import Delivery
from lithos.errors import Conflict, InvalidInput, LithosError
from lithos.host import wire
from lithos.host.server.pipe import Pipe
from lithos.tools.answers.errors import as_lithos_error, failure
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

if TYPE_CHECKING:
    from lithos.host.server.host import Host

ANSWER_SECONDS = 30.0

Operation = Callable[["Host", dict[str, Any], Pipe], Awaitable[dict[str, Any]]]


async def answer(host: Host, asked: dict[str, Any], pipe: Pipe) -> None:
    """Answer questions, one line each, until one makes the host end or the connection closes."""
    question: dict[str, Any] | None = asked
    while question is not None:
        outcome = await _outcome(host, question, pipe)
        await pipe.write(wire.line({"lithos": "answer", **outcome}), ANSWER_SECONDS)
        text = None if "ending" in outcome else await pipe.line()
        question = wire.parse(text) if text else None


async def _outcome(host: Host, question: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    operation = _OPERATIONS.get(str(question.get("op")))
    try:
        if operation is None:
            raise InvalidInput(f"this host (Lithos {__version__}) has no operation {question.get('op')!r}")
        return await operation(host, question, pipe)
    except LithosError as error:
        return failure(error)


async def _ps(host: Host, question: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    return {"host": describe(host)}


def describe(host: Host) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "version": __version__,
        "data_dir": host.host_lock.data_dir,
        "since": _time(host.since),
        "foreground": host.foreground,
        "page": host.page_address,
        "memory_bytes": _resident_bytes(),
        "working": host.lithos.busy(),
        "running": host.gate.queue.running,
        "waiting": host.gate.queue.waiting,
        "guests": [
            {
                "pid": guest.hello.pid,
                "version": guest.hello.version,
                "client": guest.client,
                "agent": guest.caller(None).agent,
                "toolsets": list(guest.caller(None).toolsets),
                "read_only": guest.caller(None).read_only,
                "since": _time(guest.since),
                "calls": guest.calls,
                "open": guest.open,
                "warnings": list(guest.warnings),
            }
            for guest in sorted(host.guests, key=lambda guest: guest.since)
        ],
    }


async def _stop(host: Host, question: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    asyncio.get_running_loop().call_soon(host.stop)
    return {"ending": "stop", "pid": os.getpid()}


async def _hand_over(host: Host, question: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """The descriptors follow this answer once everything is answered and closed."""
    if host.foreground:
        raise Conflict(
            f"pid {os.getpid()} serves this memory in the foreground since {_time(host.since)}",
            hint="Stop it first: `lithos stop`.",
        )
    successor = socket.socket(fileno=os.dup(pipe.fileno()))
    successor.setblocking(True)
    asyncio.get_running_loop().call_soon(host.hand_over, successor)
    return {"ending": "handover", "pid": os.getpid()}


async def _call(host: Host, question: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """A call of the command line, so of the operator: every tool is allowed. Idempotent like a guest's call."""
    host.gate.check_lock()
    delivery = Delivery(**question["delivery"])
    caller = Caller(agent=question.get("agent") or host.config.server.agent, operator=True, delivery=delivery)
    arguments = question.get("arguments")
    async with host.gate.queue.turn("command line"):
        try:
            found = await asyncio.to_thread(catalogue().call, host.lithos, str(question.get("tool")), arguments, caller)
        except Exception as error:
            raise as_lithos_error(error, str(question.get("tool"))[:40]) from error
    return {"answer": found}


async def _page(host: Host, question: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """The page's address and a code for one sign-in as the operator, whose own processes alone reach this socket."""
    host.gate.check_lock()
    address, code = await host.open_page()
    return {"address": address, "code": code}


_OPERATIONS: dict[str, Operation] = {
    "ps": _ps,
    "stop": _stop,
    "handover": _hand_over,
    "call": _call,
    "page": _page,
}


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _resident_bytes() -> int:
    """0 where there is no /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
