"""The host's answer to a guest's first line: welcome, replace or refuse. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lithos import __version__
from lithos.errors import LithosError, Unsupported
from lithos.host.options import differing
from lithos.host.server.connection import Hello
from lithos.host.wire import PIPE, is_newer
from lithos.tools.caller import parse_toolsets


@dataclass(frozen=True)
class Welcome:
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replace:
    """The guest is newer and the host has no other guest: the host stops, and one of the guest's version starts."""


@dataclass(frozen=True)
class Refusal:
    error: LithosError


def answer_hello(
    hello: Hello,
    *,
    pid: int,
    guests: int,
    replaceable: bool,
    options: Mapping[str, str],
    check_toolsets: Callable[[Iterable[str]], object],
) -> Welcome | Replace | Refusal:
    """`guests`: how many others are connected. `replaceable`: a background host."""
    if is_newer(hello.version, __version__) and replaceable and not guests:
        return Replace()
    if hello.pipe != PIPE:
        return Refusal(_cannot_talk(hello, pid, guests))
    try:
        check_toolsets(parse_toolsets(hello.toolsets or ""))
    except LithosError as error:
        return Refusal(error)
    return Welcome((*_version_warning(hello, pid, guests), *_option_warnings(hello, pid, options)))


def _cannot_talk(hello: Hello, pid: int, guests: int) -> Unsupported:
    if is_newer(hello.version, __version__):
        return Unsupported(
            f"the host (pid {pid}) runs the older Lithos {__version__}, not {hello.version}, for {guests} others",
            hint="Run `lithos stop`, or end those clients, then start this one again.",
        )
    return Unsupported(
        f"the host (pid {pid}) runs Lithos {__version__}, newer than your {hello.version}",
        hint="Restart this client, so that it starts the newer Lithos too.",
    )


def _version_warning(hello: Hello, pid: int, guests: int) -> tuple[str, ...]:
    if is_newer(hello.version, __version__):
        return (
            f"the host (pid {pid}) runs the older Lithos {__version__} and serves {guests} others; "
            f"after `lithos stop` it is your {hello.version}",
        )
    if is_newer(__version__, hello.version):
        return (
            f"the host (pid {pid}) runs the newer Lithos {__version__}; restart this client ({hello.version}) soon",
        )
    return ()


def _option_warnings(hello: Hello, pid: int, options: Mapping[str, str]) -> tuple[str, ...]:
    names = differing(hello.options, options)
    if not names:
        return ()
    return (f"the host (pid {pid}) was started without your {', '.join(names)}; `lithos stop` lets yours count",)
