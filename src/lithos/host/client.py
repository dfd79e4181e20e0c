"""Commands talk to a host here: one line asked, one line answered, over the socket that guests use.

`memory(config)` is the way of every verb to the memory: through the host when there is one; else opened right here,
under the same lock, for as long as the verb takes. It starts no host.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from lithos.core.call import Delivery
from lithos.errors import HostRestarted, Unavailable
from lithos.host import wire
from lithos.host.guest.guest import told
from lithos.host.host_lock import NO_HOST, HostLock, belongs_to_another, is_stopped, peer_pid, peer_uid

if TYPE_CHECKING:
    from lithos.app import Lithos
    from lithos.settings import LithosConfig

ASK_SECONDS = 10.0
START_SECONDS = 60.0  # a host that is only starting answers within it
STOPPED_SECONDS = 1.0  # silent for so long: look whether a signal has stopped the host
CALL_SECONDS = 600.0  # rebuilding an index of a large vault is a call too
STOP_SECONDS = 60.0
NAP_SECONDS = 0.02

Answer = dict[str, Any]


class CallTool(Protocol):
    def __call__(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer: ...


class HostLost(Exception):
    """The host ended before it answered."""


class Link:
    """A connection for questions; raises the host's refusals as the errors that they are."""

    def __init__(self, connection: socket.socket, place: HostLock) -> None:
        self._connection = connection
        self._place = place
        self._buffer = bytearray()

    def ask(self, op: str, seconds: float | None = None, **details: Any) -> Answer:
        """Without `seconds`: a host that is only starting gets longer than one that was ready."""
        patience = seconds or (ASK_SECONDS if self._place.read_note().get("ready") else START_SECONDS)
        try:
            self._connection.settimeout(patience)
            self._connection.sendall(wire.line({"lithos": "control", "op": op, **details}))
            answer = wire.parse(self._line(time.monotonic() + patience))
        except TimeoutError:
            raise Unavailable(
                f"the host of {self._place.data_dir} ({self._place.describe_holder()}) does not answer",
                hint="See its log, or end it by its pid.",
            ) from None
        except OSError as error:
            raise HostLost from error
        if "error" in answer:
            raise told(answer["error"])
        return answer

    def _line(self, deadline: float) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            data = self._receive(deadline)
            if not data:
                raise ConnectionResetError
            self._buffer += data
        text = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return text

    def _receive(self, deadline: float) -> bytes:
        """The next bytes. A host that a signal has stopped would keep its caller waiting until the deadline."""
        while (left := deadline - time.monotonic()) > 0:
            self._connection.settimeout(min(left, STOPPED_SECONDS))
            with suppress(TimeoutError):
                return self._connection.recv(1 << 16)
            pid = peer_pid(self._connection)
            if is_stopped(pid):
                raise Unavailable(
                    f"the host of {self._place.data_dir}, pid {pid}, was stopped by a signal",
                    hint=f"`kill -CONT {pid}` lets it go on, `kill -KILL {pid}` ends it; nothing is lost.",
                )
        raise TimeoutError

    def receive_fds(self, seconds: float) -> list[int]:
        """What a host sends last when it hands over. No byte may be read past the line before it."""
        self._connection.settimeout(seconds)
        try:
            _, fds, _, _ = socket.recv_fds(self._connection, 16, 2)
        except OSError as error:
            raise HostLost from error
        for fd in fds:
            os.set_inheritable(fd, False)  # Python 3.11 ignores MSG_CMSG_CLOEXEC here
        if len(fds) != 2:
            raise HostLost
        return fds

    def close(self) -> None:
        self._connection.close()


@contextmanager
def linked(place: HostLock) -> Iterator[Link | None]:
    """A link to the host of this place, or None when it has none."""
    try:
        connection = place.connect()
    except (*NO_HOST, ConnectionError, BlockingIOError):
        yield None
        return
    link = Link(connection, place)
    try:
        if peer_uid(connection) != os.getuid():
            raise belongs_to_another(place.data_dir)
        yield link
    finally:
        link.close()


def describe_host(place: HostLock, seconds: float | None = None) -> Answer | None:
    """What `lithos ps` shows of it; None: there is no host."""
    with linked(place) as link:
        try:
            return link.ask("ps", seconds)["host"] if link else None
        except HostLost:
            return None


def stop_host(place: HostLock) -> int | None:
    """The pid of the host that has ended, everything acknowledged kept; None: there was none."""
    with linked(place) as link:
        if link is None:
            return None
        try:
            pid = int(link.ask("stop")["pid"])
        except HostLost:
            return None
    deadline = time.monotonic() + STOP_SECONDS
    while (lock := place.try_lock()) is None:
        if time.monotonic() > deadline or place.read_note().get("pid") != pid:
            break
        time.sleep(NAP_SECONDS)
    if lock is not None:
        os.close(lock)
    elif time.monotonic() > deadline:
        raise Unavailable(f"the host, pid {pid}, has not ended after {STOP_SECONDS:.0f} s", hint="See its log.")
    return pid


@contextmanager
def memory(config: LithosConfig) -> Iterator[CallTool]:
    """A function that calls tools on the memory of these settings, wherever it is open.

    A call that a dying host took along is made once more, of whoever has the memory then; its effect comes once.
    """
    numbers, me = count(1), os.urandom(16).hex()
    with _reached(config) as first:

        def call(name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
            delivery = Delivery(me, str(next(numbers)))
            try:
                return first.call(name, dict(arguments or {}), delivery)
            except HostLost:
                return _call_again(config, name, dict(arguments or {}), replace(delivery, resent=True))

        yield call


def _call_again(config: LithosConfig, name: str, arguments: Answer, delivery: Delivery) -> Answer:
    try:
        with _reached(config) as second:
            return second.call(name, arguments, delivery)
    except HostLost:
        raise HostRestarted(
            "the host ended while it worked on the call, twice", hint="Look whether it is done, then repeat it."
        ) from None


class _Reached(Protocol):
    def call(self, name: str, arguments: Answer, delivery: Delivery) -> Answer: ...


@contextmanager
def _reached(config: LithosConfig) -> Iterator[_Reached]:
    place = HostLock(str(config.storage.data_dir.expanduser()))
    place.make()
    deadline = time.monotonic() + ASK_SECONDS
    while (lock := place.try_lock()) is None:
        with linked(place) as link:
            if link is not None and _answers(link):
                yield _Remote(link, config)
                return
        if time.monotonic() > deadline:
            raise Unavailable(
                f"{place.describe_holder()} holds the lock of {place.data_dir} and does not answer",
                hint="Wait until it has ended, or end it by its pid.",
            )
        time.sleep(NAP_SECONDS)
    try:
        with _opened(config) as here:
            yield here
    finally:
        os.close(lock)


def _answers(link: Link) -> bool:
    """Asked before a call, which may take minutes: of a host that is frozen one is told sooner."""
    try:
        link.ask("ps")
    except HostLost:
        return False
    return True


class _Remote:
    def __init__(self, link: Link, config: LithosConfig) -> None:
        self._link, self._config = link, config

    def call(self, name: str, arguments: Answer, delivery: Delivery) -> Answer:
        asked = {"tool": name, "arguments": arguments, "agent": self._config.server.agent, "delivery": asdict(delivery)}
        answer: Answer = self._link.ask("call", CALL_SECONDS, **asked)["answer"]
        return answer


@contextmanager
def _opened(config: LithosConfig) -> Iterator[_Reached]:
    """The memory in this very process. Its imports are heavy, and most verbs find a host."""
    from lithos.app import open_lithos

    lithos = open_lithos(config)
    try:
        yield _Here(lithos, config)
    finally:
        lithos.close()


class _Here:
    def __init__(self, lithos: Lithos, config: LithosConfig) -> None:
        self._lithos, self._config = lithos, config

    def call(self, name: str, arguments: Answer, delivery: Delivery) -> Answer:
        from lithos.tools.caller import Caller
        from lithos.tools.catalogue import catalogue

        caller = Caller(agent=self._config.server.agent, operator=True, delivery=delivery)
        return catalogue().call(self._lithos, name, arguments, caller)
