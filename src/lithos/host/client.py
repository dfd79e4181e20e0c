"""How commands reach a host: one line asked, one line answered, over the socket that guests use.

`tool_caller(config)` calls tools for every verb: through the host if there is one, else in this process, under the
same lock, for as long as the verb takes. It starts no host.
"""

from __future__ import annotations

import gc
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
from lithos.host.host_lock import NO_HOST, HostLock, belongs_to_another, is_stopped, peer_pid, peer_uid

if TYPE_CHECKING:
    from lithos.app import Lithos
    from lithos.settings import LithosConfig

ASK_SECONDS = 10.0
START_SECONDS = 60.0  # a host that is only starting answers within it
STOPPED_SECONDS = 1.0  # silent for so long: look whether a signal has stopped the host
CALL_SECONDS = 600.0  # rebuilding an index of a large vault is a call too
STOP_SECONDS = 60.0
RETRY_SECONDS = 0.02

Answer = dict[str, Any]


class CallTool(Protocol):
    def __call__(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer: ...


class HostLost(Exception):
    """The host ended before it answered."""


class ControlConnection:
    """One connection for control questions. Raises the host's errors."""

    def __init__(self, connection: socket.socket, host_lock: HostLock) -> None:
        self._connection = connection
        self._host_lock = host_lock
        self._buffer = bytearray()

    def ask(self, op: str, seconds: float | None = None, **details: Any) -> Answer:
        """Without `seconds`: a host that is only starting gets longer than one that was ready."""
        patience = seconds or (ASK_SECONDS if self._host_lock.read_holder().get("ready") else START_SECONDS)
        try:
            self._connection.settimeout(patience)
            self._connection.sendall(wire.line({"lithos": "control", "op": op, **details}))
            answer = wire.parse(self._line(time.monotonic() + patience))
        except TimeoutError:
            raise Unavailable(
                f"the host of {self._host_lock.data_dir} ({self._host_lock.describe_holder()}) does not answer",
                hint="See its log, or end it by its pid.",
            ) from None
        except OSError as error:
            raise HostLost from error
        if "error" in answer:
            raise wire.error_from(answer["error"])
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
                    f"the host of {self._host_lock.data_dir}, pid {pid}, was stopped by a signal",
                    hint=f"`kill -CONT {pid}` lets it go on, `kill -KILL {pid}` ends it; nothing is lost.",
                )
        raise TimeoutError

    def receive_fds(self, seconds: float) -> list[int]:
        """Receive lock and listener in a handover. No byte past the line before them may be read."""
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
def control_connection(host_lock: HostLock) -> Iterator[ControlConnection | None]:
    """A link to the host of this host_lock, or None when it has none."""
    try:
        connection = host_lock.connect()
    except (*NO_HOST, ConnectionError, BlockingIOError):
        yield None
        return
    control = ControlConnection(connection, host_lock)
    try:
        if peer_uid(connection) != os.getuid():
            raise belongs_to_another(host_lock.data_dir)
        yield control
    finally:
        control.close()


def describe_host(host_lock: HostLock, seconds: float | None = None) -> Answer | None:
    """Facts about the host for `lithos ps`; None if there is no host."""
    with control_connection(host_lock) as control:
        try:
            return control.ask("ps", seconds)["host"] if control else None
        except HostLost:
            return None


def stop_host(host_lock: HostLock) -> int | None:
    """Stop the host and return its pid; None if there was no host. Everything acknowledged is kept."""
    with control_connection(host_lock) as control:
        if control is None:
            return None
        try:
            pid = int(control.ask("stop")["pid"])
        except HostLost:
            return None
    deadline = time.monotonic() + STOP_SECONDS
    while (lock := host_lock.try_lock()) is None:
        if time.monotonic() > deadline or host_lock.read_holder().get("pid") != pid:
            break
        time.sleep(RETRY_SECONDS)
    if lock is not None:
        os.close(lock)
    elif time.monotonic() > deadline:
        raise Unavailable(f"the host, pid {pid}, has not ended after {STOP_SECONDS:.0f} s", hint="See its log.")
    return pid


@contextmanager
def tool_caller(config: LithosConfig) -> Iterator[CallTool]:
    """A function that calls tools, in the host or in this process.

    A call that was lost with its host is repeated once, with the same delivery, so that its effect happens once.
    """
    numbers, me = count(1), os.urandom(16).hex()
    with _tool_host(config) as first:

        def call(name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
            delivery = Delivery(me, str(next(numbers)))
            try:
                return first.call(name, dict(arguments or {}), delivery)
            except HostLost:
                return _call_again(config, name, dict(arguments or {}), replace(delivery, resent=True))

        yield call


def _call_again(config: LithosConfig, name: str, arguments: Answer, delivery: Delivery) -> Answer:
    try:
        with _tool_host(config) as second:
            return second.call(name, arguments, delivery)
    except HostLost:
        raise HostRestarted(
            "the host ended while it worked on the call, twice", hint="Check whether it is done, then repeat it."
        ) from None


class _ToolHost(Protocol):
    def call(self, name: str, arguments: Answer, delivery: Delivery) -> Answer: ...


@contextmanager
def _tool_host(config: LithosConfig) -> Iterator[_ToolHost]:
    host_lock = HostLock(str(config.storage.data_dir.expanduser()))
    host_lock.make_folder()
    deadline = time.monotonic() + ASK_SECONDS
    while (lock := host_lock.try_lock()) is None:
        with control_connection(host_lock) as control:
            if control is not None and _is_alive(control):
                yield _RemoteHost(control, config)
                return
        if time.monotonic() > deadline:
            raise Unavailable(
                f"{host_lock.describe_holder()} holds the lock of {host_lock.data_dir} and does not answer",
                hint="Wait until it has ended, or end it by its pid.",
            )
        time.sleep(RETRY_SECONDS)
    try:
        with _local_memory(config) as here:
            yield here
    finally:
        os.close(lock)


def _is_alive(control: ControlConnection) -> bool:
    """Asked before a call: a call may take minutes, and a frozen host should be reported sooner."""
    try:
        control.ask("ps")
    except HostLost:
        return False
    return True


class _RemoteHost:
    def __init__(self, control: ControlConnection, config: LithosConfig) -> None:
        self._control, self._config = control, config

    def call(self, name: str, arguments: Answer, delivery: Delivery) -> Answer:
        asked = {"tool": name, "arguments": arguments, "agent": self._config.server.agent, "delivery": asdict(delivery)}
        answer: Answer = self._control.ask("call", CALL_SECONDS, **asked)["answer"]
        return answer


@contextmanager
def _local_memory(config: LithosConfig) -> Iterator[_ToolHost]:
    """Open the data directory in this process. The imports are heavy, and most verbs find a host."""
    gc.disable()  # imports create thousands of lasting objects: collecting in between costs a tenth of the time
    from lithos.app import open_lithos
    from lithos.tools.catalogue import catalogue

    catalogue()
    gc.freeze()
    gc.enable()
    lithos = open_lithos(config)
    try:
        yield _LocalMemory(lithos, config)
    finally:
        lithos.close()


class _LocalMemory:
    def __init__(self, lithos: Lithos, config: LithosConfig) -> None:
        self._lithos, self._config = lithos, config

    def call(self, name: str, arguments: Answer, delivery: Delivery) -> Answer:
        from lithos.tools.caller import Caller
        from lithos.tools.catalogue import catalogue

        caller = Caller(agent=self._config.server.agent, operator=True, delivery=delivery)
        return catalogue().call(self._lithos, name, arguments, caller)
