"""The guest: pipes one client to the host of its data directory, and starts that host if there is none.

One thread around `poll`, standard library only: 11 MB, 30 ms to the first answer. `HandshakeReplay` knows what must be
sent again to a new host; this file moves bytes and decides when to connect.
"""

from __future__ import annotations

import os
import select
import sys
import time

from lithos import __version__
from lithos.host import wire
from lithos.host.guest.handshake_replay import TOOLS_CHANGED, HandshakeReplay
from lithos.host.host_lock import NO_HOST, HostLock, is_stopped, peer_uid
from lithos.host.spawn import start_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from lithos.errors import LithosError
    from lithos.host.options import ServeOptions

JOIN_SECONDS = 60.0  # without a welcome for so long, the client gets an error
SILENCE_SECONDS = 3.0  # without a welcome for so long, the guest looks whether the host was stopped
REFUSAL_SECONDS = 10.0  # a refused client still gets its first request answered
LAST_ANSWERS_SECONDS = 1.5  # after stdin's end; the SDK's client kills its server after 2 s
PARENT_CHECK_SECONDS = 5.0
MOST_STARTS = 3
SHORTEST_RETRY, LONGEST_RETRY = 0.002, 0.05
LONGEST_BACKOFF = 2.0
ENOUGH = 1 << 20  # unsent bytes to the host, above which the client has to wait
CHUNK = 1 << 18
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


class ClientGone(Exception):
    """The client does not read any more."""


class Guest:
    def __init__(self, host_lock: HostLock, options: ServeOptions, stdin: int = 0, stdout: int = 1) -> None:
        self._host_lock = host_lock
        self._options = options
        self._stdin, self._stdout = stdin, stdout
        self._id = os.urandom(16).hex()
        self._replay = HandshakeReplay()
        self._socket: socket.socket | None = None
        self._welcomed = False
        self._welcomed_at = 0.0
        self._answered = False  # this host has sent an answer
        self._clean = False  # this host has sent `bye`
        self._parked = False  # the host was stopped on purpose: connect again on the next request
        self._to_host = bytearray()
        self._from_host = bytearray()
        self._from_client = bytearray()
        self._client_done_at: float | None = None
        self._refused_at: float | None = None
        self._version: str | None = None
        self._starts = 0
        self._early_exits = 0
        self._retry_delay = SHORTEST_RETRY
        self._next_try = 0.0
        self._joining_since = time.monotonic()
        self._waiting_said = False  # that the host was stopped
        self._parent = os.getppid()

    # ------------------------------------------------------------------ the loop
    def run(self) -> int:
        """Pipe until the client is gone; 1 if no host would serve it, else 0."""
        try:
            while not self._is_over():
                self._join_if_due()
                self._poll_once()
        except (ClientGone, KeyboardInterrupt):
            return 0
        finally:
            self._disconnect()
        return 1 if self._refused_at is not None else 0

    def _is_over(self) -> bool:
        now = time.monotonic()
        if self._refused_at is not None:
            return self._client_done_at is not None or now - self._refused_at > REFUSAL_SECONDS
        if os.getppid() != self._parent:
            return True
        if self._client_done_at is None:
            return False
        if not self._replay.open and not self._to_host:
            return True
        # A client that closed stdin may still read answers, even of a host that is only starting.
        return self._welcomed and now - max(self._client_done_at, self._welcomed_at) > LAST_ANSWERS_SECONDS

    def _poll_once(self) -> None:
        poller = select.poll()
        if self._client_done_at is None and len(self._to_host) < ENOUGH:
            poller.register(self._stdin, select.POLLIN)
        poller.register(self._stdout, 0)  # POLLERR: the client closed its end
        host = self._socket.fileno() if self._socket is not None else -1
        if host >= 0:
            poller.register(host, select.POLLIN | (select.POLLOUT if self._to_host else 0))
        for fd, event in poller.poll(self._poll_seconds() * 1000):
            if fd == self._stdin:
                self._read_client()
            elif fd == self._stdout:
                raise ClientGone
            elif self._socket is not None:
                if event & select.POLLOUT:
                    self._write_host(self._socket)
                if event & (select.POLLIN | _GONE):
                    self._read_host(self._socket)

    def _poll_seconds(self) -> float:
        now = time.monotonic()
        if self._socket is None and self._wants_host():
            return max(0.0, self._next_try - now)
        if self._refused_at is not None or self._client_done_at is not None:
            return 0.1
        is_waiting = not self._welcomed and self._wants_host()  # connected to a host that has not said a word yet
        return SILENCE_SECONDS if is_waiting else PARENT_CHECK_SECONDS

    # ------------------------------------------------------------------ client
    def _read_client(self) -> None:
        try:
            data = os.read(self._stdin, CHUNK)
        except OSError:  # a terminal that was closed
            data = b""
        if not data:
            self._client_done_at = time.monotonic()
            return
        searched = len(self._from_client)
        self._from_client += data
        for text in _take_lines(self._from_client, searched):
            if text.strip():
                self._on_client_line(text)
        self._bound_client_line()

    def _bound_client_line(self) -> None:
        """Keep only as much of an endless line as shows that it is too long."""
        keep = wire.LONGEST_LINE + 1
        if len(self._from_client) > 2 * keep:
            del self._from_client[keep:]

    def _on_client_line(self, text: bytes) -> None:
        to_host, answer = self._replay.from_client(text, self._welcomed)
        self._to_host += to_host
        if answer:
            self._write_client(answer)
        if self._refused_at is not None:
            self._write_client(self._replay.refuse_all(self._refusal))
            self._client_done_at = time.monotonic()
        elif self._parked and self._replay.open:
            self._parked = False
            self._joining_since = time.monotonic()

    def _write_client(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._stdout, view) :]
            except BlockingIOError:  # another process that shares the pipe made it non-blocking
                select.select([], [self._stdout], [])
            except OSError:
                raise ClientGone from None

    # ------------------------------------------------------------------ host
    def _wants_host(self) -> bool:
        return self._refused_at is None and not self._parked

    def _join_if_due(self) -> None:
        if self._welcomed or not self._wants_host():
            return
        now = time.monotonic()
        if now - self._joining_since > SILENCE_SECONDS and not self._waiting_said and self._is_host_stopped():
            self._waiting_said = True
            print_message(f"{self._silent_host()}; waiting for it. {self._what_to_do()}")
        if now - self._joining_since > JOIN_SECONDS:
            self._refuse(self._unanswered())
        elif self._socket is None and now >= self._next_try:
            self._join()

    def _join(self) -> None:
        try:
            self._socket = self._host_lock.connect()
        except (*NO_HOST, ConnectionError):
            self._start_or_wait()
        except BlockingIOError:
            self._wait()
        except _lithos_error() as error:
            self._refuse(error)
        else:
            self._retry_delay = SHORTEST_RETRY
            if peer_uid(self._socket) != os.getuid():
                from lithos.host.host_lock import belongs_to_another

                self._refuse(belongs_to_another(self._host_lock.data_dir))
            self._to_host[:] = self._hello()

    def _start_or_wait(self) -> None:
        try:
            self._host_lock.make_folder()
            lock = self._host_lock.try_lock()
            if lock is None:
                self._wait()
                return
            if self._starts >= MOST_STARTS:
                os.close(lock)
                self._refuse(self._failing())
                return
            self._starts += 1
            start_host(self._host_lock, lock, self._options)
        except _lithos_error() as error:
            self._refuse(error)

    def _wait(self) -> None:
        elsewhere = self._host_lock.other_machine()
        if elsewhere is not None:
            self._refuse(self._on_another_machine(elsewhere))
        self._next_try = time.monotonic() + self._retry_delay
        self._retry_delay = min(self._retry_delay * 2, LONGEST_RETRY)

    def _hello(self) -> bytes:
        identity = {"pipe": wire.PIPE, "version": __version__, "id": self._id, "pid": os.getpid()}
        options = {**self._options.connection(), "options": self._options.host_wide()}
        return wire.line({"lithos": "guest", **identity, **options, "resent": self._replay.resent()})

    def _write_host(self, host: socket.socket) -> None:
        try:
            with memoryview(self._to_host) as view:
                sent = host.send(view[:CHUNK])
        except BlockingIOError:
            return
        except OSError:  # the host is gone, but its last lines may still be readable
            sent = len(self._to_host)
        del self._to_host[:sent]

    def _read_host(self, host: socket.socket) -> None:
        try:
            data = host.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._on_disconnect()
            return
        searched = len(self._from_host)
        self._from_host += data
        for_client = [text for text in _take_lines(self._from_host, searched) if self._is_for_client(text)]
        self._write_client(b"".join(for_client))

    def _is_for_client(self, text: bytes) -> bool:
        if text.startswith(wire.OURS):
            self._on_host_line(wire.parse(text))
            return False
        self._answered = True
        return self._replay.from_host(text)

    def _on_host_line(self, message: dict[str, Any]) -> None:
        kind = message["lithos"]
        if kind == "welcome":
            self._on_welcome(message)
        elif kind == "refused":
            self._refuse(wire.error_from(message.get("error")))
        elif kind == "bye":
            self._clean = True
            self._parked = message.get("why") == wire.STOPPED
        elif kind == "replace":  # the host is older, has no other guest, and stops
            self._clean = True

    def _on_welcome(self, welcome: dict[str, Any]) -> None:
        if welcome.get("pipe") != wire.PIPE:
            self._refuse(_other_pipe(welcome))
            return
        for warning in welcome.get("warnings", ()):
            print_message(warning)
        changed = self._version not in (None, welcome.get("version"))
        self._version = welcome.get("version")
        self._welcomed = True
        self._waiting_said = False
        self._welcomed_at = time.monotonic()
        self._starts = 0
        self._replay.once = bool(welcome.get("once"))
        self._to_host += self._replay.replay()
        if changed and self._replay.initialized:
            self._write_client(TOOLS_CHANGED)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._to_host.clear()
        self._from_host.clear()  # drop half a line of a killed host

    def _on_disconnect(self) -> None:
        now = time.monotonic()
        was_welcomed, was_answered = self._welcomed, self._answered
        self._disconnect()
        self._welcomed = self._answered = False
        if was_welcomed:
            self._write_client(self._replay.lost(self._clean))
            self._joining_since = now
            # By answers, not by age: only hosts that end before any answer must be retried slowly.
            self._early_exits = 0 if was_answered or self._clean else self._early_exits + 1
        if self._early_exits > 1:
            self._next_try = now + min(0.05 * 2**self._early_exits, LONGEST_BACKOFF)
        elif not was_welcomed and not self._clean:
            self._wait()
        if self._replay.open:
            self._parked = False
        self._clean = False

    # ------------------------------------------------------------------ refusals
    def _refuse(self, error: LithosError) -> None:
        """No host will serve this client: print it on stderr and answer its first request with it."""
        if self._refused_at is not None:
            return
        self._disconnect()
        self._welcomed = False
        self._refused_at = time.monotonic()
        self._refusal = error
        print_message(f"{error.message}. {error.hint}".strip())
        if self._replay.open:
            self._write_client(self._replay.refuse_all(error))
            self._client_done_at = time.monotonic()

    def _unanswered(self) -> LithosError:
        from lithos.errors import Unavailable

        return Unavailable(self._silent_host(), hint=self._what_to_do())

    def _silent_host(self) -> str:
        state = "is stopped (SIGSTOP)" if self._is_host_stopped() else "does not answer"
        return f"the host of {self._host_lock.data_dir} ({self._host_lock.describe_holder()}) {state}"

    def _what_to_do(self) -> str:
        if self._is_host_stopped():
            pid = self._host_lock.read_holder().get("pid")
            return f"`kill -CONT {pid}` lets it go on, `kill -KILL {pid}` ends it: nothing acknowledged is lost."
        return f"See {self._host_lock.log_path}; `lithos stop` ends it."

    def _is_host_stopped(self) -> bool:
        return is_stopped(self._host_lock.read_holder().get("pid"))

    def _failing(self) -> LithosError:
        from lithos.errors import Unavailable

        return Unavailable(
            f"the host of {self._host_lock.data_dir} ended {MOST_STARTS} times before it served anybody",
            hint=f"{self._host_lock.log_path} says why.",
        )

    def _on_another_machine(self, elsewhere: str) -> LithosError:
        from lithos.errors import Unavailable

        return Unavailable(
            f"{self._host_lock.data_dir} is served by a host on another machine, {elsewhere}",
            hint="Connect to it over HTTP, or stop it there first.",
        )


def _take_lines(buffer: bytearray, searched: int) -> list[bytes]:
    """Remove and return the whole lines of the buffer; there is no newline before `searched`."""
    end = buffer.rfind(b"\n", searched) + 1
    if not end:
        return []
    whole = bytes(buffer[:end])
    del buffer[:end]
    return [text + b"\n" for text in whole[:-1].split(b"\n")]


def _lithos_error() -> type[LithosError]:
    """Evaluated by `except` only after something was raised: importing the errors costs a guest 5 ms."""
    from lithos.errors import LithosError

    return LithosError


def _other_pipe(welcome: dict[str, Any]) -> LithosError:
    from lithos.errors import Unsupported

    return Unsupported(
        f"the host runs Lithos {welcome.get('version')}, which this Lithos {__version__} cannot talk to",
        hint="Install the same version for both, then run `lithos stop` and start this client again.",
    )


def print_message(sentence: str) -> None:
    print(f"lithos: {sentence}", file=sys.stderr, flush=True)
