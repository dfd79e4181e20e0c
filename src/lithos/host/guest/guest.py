"""`lithos serve --transport stdio`: pipes one client to the host of its memory, and starts that host if need be.

One thread around `poll`, standard library only: 11 MB, 30 ms to the first answer. What must be said again to a new
host is `Dialogue`'s to know; this file moves bytes and decides when to connect.
"""

from __future__ import annotations

import os
import select
import sys
import time

from lithos import __version__
from lithos.host import wire
from lithos.host.guest.handshake_replay import TOOLS_CHANGED, Dialogue
from lithos.host.host_lock import NO_HOST, HostLock, peer_uid
from lithos.host.spawn import NoChild, start_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from lithos.errors import LithosError
    from lithos.host.guest.options import ServeOptions

JOIN_SECONDS = 60.0  # without a welcome for so long, the client is told why
REFUSAL_SECONDS = 10.0  # a refused client still gets its first request answered
LAST_ANSWERS_SECONDS = 1.5  # after stdin's end; the SDK's client kills its server after 2 s
PARENT_CHECK_SECONDS = 5.0
MOST_STARTS = 3
SHORTEST_NAP, LONGEST_NAP = 0.002, 0.05
LONGEST_BACKOFF = 2.0
ENOUGH = 1 << 20  # unsent bytes to the host, above which the client has to wait
CHUNK = 1 << 18
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


class ClientGone(Exception):
    """Nobody reads what we would write."""


class Guest:
    def __init__(self, place: HostLock, options: ServeOptions, stdin: int = 0, stdout: int = 1) -> None:
        self._place = place
        self._options = options
        self._stdin, self._stdout = stdin, stdout
        self._id = os.urandom(16).hex()
        self._dialogue = Dialogue()
        self._link: socket.socket | None = None
        self._welcomed = False
        self._welcomed_at = 0.0
        self._answered = False  # this host has answered something
        self._clean = False  # this host has said goodbye
        self._parked = False  # the host was stopped on purpose: connect again when the client asks for something
        self._to_host = bytearray()
        self._from_host = bytearray()
        self._from_client = bytearray()
        self._client_done_at: float | None = None
        self._refused_at: float | None = None
        self._version: str | None = None
        self._starts = 0
        self._early_ends = 0
        self._nap = SHORTEST_NAP
        self._next_try = 0.0
        self._joining_since = time.monotonic()
        self._parent = os.getppid()

    # ------------------------------------------------------------------ the loop
    def run(self) -> int:
        """Until the client is gone; 0, or 1 when no host would serve it."""
        try:
            while not self._is_over():
                self._join_if_due()
                self._move()
        except (ClientGone, KeyboardInterrupt):
            return 0
        finally:
            self._drop_link()
        return 1 if self._refused_at is not None else 0

    def _is_over(self) -> bool:
        now = time.monotonic()
        if self._refused_at is not None:
            return self._client_done_at is not None or now - self._refused_at > REFUSAL_SECONDS
        if os.getppid() != self._parent:
            return True
        if self._client_done_at is None:
            return False
        if not self._dialogue.open and not self._to_host:
            return True
        # A client that closed stdin may still read the answers, even those of a host that is only starting.
        return self._welcomed and now - max(self._client_done_at, self._welcomed_at) > LAST_ANSWERS_SECONDS

    def _move(self) -> None:
        poller = select.poll()
        if self._client_done_at is None and len(self._to_host) < ENOUGH:
            poller.register(self._stdin, select.POLLIN)
        poller.register(self._stdout, 0)  # POLLERR tells that the client closed its end
        link = self._link.fileno() if self._link is not None else -1
        if link >= 0:
            poller.register(link, select.POLLIN | (select.POLLOUT if self._to_host else 0))
        for fd, event in poller.poll(self._patience() * 1000):
            if fd == self._stdin:
                self._read_client()
            elif fd == self._stdout:
                raise ClientGone
            elif self._link is not None:
                self._serve_link(event)

    def _patience(self) -> float:
        now = time.monotonic()
        if self._link is None and self._wants_link():
            return max(0.0, self._next_try - now)
        if self._refused_at is not None or self._client_done_at is not None:
            return 0.1
        return PARENT_CHECK_SECONDS

    # ------------------------------------------------------------------ the client's side
    def _read_client(self) -> None:
        try:
            data = os.read(self._stdin, CHUNK)
        except OSError:  # a terminal that went away
            data = b""
        if not data:
            self._client_done_at = time.monotonic()
            return
        searched = len(self._from_client)
        self._from_client += data
        for text in _take_lines(self._from_client, searched):
            if text.strip():
                self._hear_client(text)
        self._bound_client_line()

    def _bound_client_line(self) -> None:
        """Keep no more of an endless line than tells that it is too long."""
        keep = wire.LONGEST_LINE + 1
        if len(self._from_client) > 2 * keep:
            del self._from_client[keep:]

    def _hear_client(self, text: bytes) -> None:
        to_host, answer = self._dialogue.from_client(text, self._welcomed)
        self._to_host += to_host
        if answer:
            self._tell_client(answer)
        if self._refused_at is not None:
            self._tell_client(self._dialogue.refuse_all(self._refusal))
            self._client_done_at = time.monotonic()
        elif self._parked and self._dialogue.open:
            self._parked = False
            self._joining_since = time.monotonic()

    def _tell_client(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._stdout, view) :]
            except BlockingIOError:  # somebody who shares the pipe made it non-blocking
                select.select([], [self._stdout], [])
            except OSError:
                raise ClientGone from None

    # ------------------------------------------------------------------ the host's side
    def _wants_link(self) -> bool:
        return self._refused_at is None and not self._parked

    def _join_if_due(self) -> None:
        if self._welcomed or not self._wants_link():
            return
        now = time.monotonic()
        if now - self._joining_since > JOIN_SECONDS:
            self._refuse(self._unanswered())
        elif self._link is None and now >= self._next_try:
            self._join()

    def _join(self) -> None:
        try:
            self._link = self._place.connect()
        except (*NO_HOST, ConnectionError):
            self._start_or_wait()
        except BlockingIOError:
            self._wait()
        except _refusals() as error:
            self._refuse(error)
        else:
            self._nap = SHORTEST_NAP
            if peer_uid(self._link) != os.getuid():
                from lithos.host.host_lock import belongs_to_another

                self._refuse(belongs_to_another(self._place.data_dir))
            self._to_host[:] = self._hello()

    def _start_or_wait(self) -> None:
        try:
            self._place.make()
            lock = self._place.try_lock()
            if lock is None:
                self._wait()
                return
            if self._starts >= MOST_STARTS:
                os.close(lock)
                self._refuse(self._failing())
                return
            self._starts += 1
            start_host(self._place, lock, self._options)
        except _refusals() as error:
            self._refuse(error)

    def _wait(self) -> None:
        elsewhere = self._place.held_elsewhere()
        if elsewhere is not None:
            self._refuse(self._on_another_machine(elsewhere))
        self._next_try = time.monotonic() + self._nap
        self._nap = min(self._nap * 2, LONGEST_NAP)

    def _hello(self) -> bytes:
        told = {"pipe": wire.PIPE, "version": __version__, "id": self._id, "pid": os.getpid()}
        wishes = {**self._options.connection(), "options": self._options.host_wide()}
        return wire.line({"lithos": "guest", **told, **wishes, "resent": self._dialogue.resent()})

    def _serve_link(self, event: int) -> None:
        assert self._link is not None
        if event & select.POLLOUT:
            self._write_link(self._link)
        if event & (select.POLLIN | _GONE):
            self._read_link(self._link)

    def _write_link(self, link: socket.socket) -> None:
        try:
            with memoryview(self._to_host) as view:
                sent = link.send(view[:CHUNK])
        except BlockingIOError:
            return
        except OSError:  # the host is gone, but its last words may still be there to read
            sent = len(self._to_host)
        del self._to_host[:sent]

    def _read_link(self, link: socket.socket) -> None:
        try:
            data = link.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_link()
            return
        searched = len(self._from_host)
        self._from_host += data
        for_client = [text for text in _take_lines(self._from_host, searched) if self._is_for_client(text)]
        self._tell_client(b"".join(for_client))

    def _is_for_client(self, text: bytes) -> bool:
        if text.startswith(wire.OURS):
            self._hear_host(wire.parse(text))
            return False
        self._answered = True
        return self._dialogue.from_host(text)

    def _hear_host(self, message: dict[str, Any]) -> None:
        kind = message["lithos"]
        if kind == "welcome":
            self._enter(message)
        elif kind == "refused":
            self._refuse(told(message.get("error")))
        elif kind == "bye":
            self._clean = True
            self._parked = message.get("why") == wire.STOPPED
        elif kind == "replace":  # the host is older than we are, served nobody, and makes room
            self._clean = True

    def _enter(self, welcome: dict[str, Any]) -> None:
        if welcome.get("pipe") != wire.PIPE:
            self._refuse(_other_pipe(welcome))
            return
        for warning in welcome.get("warnings", ()):
            _say(warning)
        changed = self._version not in (None, welcome.get("version"))
        self._version = welcome.get("version")
        self._welcomed = True
        self._welcomed_at = time.monotonic()
        self._starts = 0
        self._dialogue.once = bool(welcome.get("once"))
        self._to_host += self._dialogue.replay()
        if changed and self._dialogue.initialized:
            self._tell_client(TOOLS_CHANGED)

    def _drop_link(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None
        self._to_host.clear()
        self._from_host.clear()  # half a line of a killed host is nobody's

    def _lose_link(self) -> None:
        now = time.monotonic()
        was_welcomed, was_answered = self._welcomed, self._answered
        self._drop_link()
        self._welcomed = self._answered = False
        if was_welcomed:
            self._tell_client(self._dialogue.lost(self._clean))
            self._joining_since = now
            # By answers, not by age: a host that dies before it says a word is what must not spin.
            self._early_ends = 0 if was_answered or self._clean else self._early_ends + 1
        if self._early_ends > 1:
            self._next_try = now + min(0.05 * 2**self._early_ends, LONGEST_BACKOFF)
        elif not was_welcomed and not self._clean:
            self._wait()
        if self._dialogue.open:
            self._parked = False
        self._clean = False

    # ------------------------------------------------------------------ refusals
    def _refuse(self, error: LithosError) -> None:
        """No host will serve this client: say it on stderr and to whatever the client asks first."""
        if self._refused_at is not None:
            return
        self._drop_link()
        self._welcomed = False
        self._refused_at = time.monotonic()
        self._refusal = error
        _say(f"{error.message}. {error.hint}".strip())
        if self._dialogue.open:
            self._tell_client(self._dialogue.refuse_all(error))
            self._client_done_at = time.monotonic()

    def _unanswered(self) -> LithosError:
        from lithos.errors import Unavailable

        return Unavailable(
            f"the host of {self._place.data_dir} ({self._place.describe_holder()}) does not answer",
            hint=f"See {self._place.log_path}; `lithos stop` ends it.",
        )

    def _failing(self) -> LithosError:
        from lithos.errors import Unavailable

        return Unavailable(
            f"the host of {self._place.data_dir} ended {MOST_STARTS} times before it served anybody",
            hint=f"{self._place.log_path} says why.",
        )

    def _on_another_machine(self, elsewhere: str) -> LithosError:
        from lithos.errors import Unavailable

        return Unavailable(
            f"{self._place.data_dir} is served by a host on another machine, {elsewhere}",
            hint="Reach it over HTTP, or stop it there first.",
        )


def _take_lines(buffer: bytearray, searched: int) -> list[bytes]:
    """The whole lines at the head of the buffer, taken out of it; no newline lies before `searched`."""
    end = buffer.rfind(b"\n", searched) + 1
    if not end:
        return []
    whole = bytes(buffer[:end])
    del buffer[:end]
    return [text + b"\n" for text in whole[:-1].split(b"\n")]


def _refusals() -> type[LithosError]:
    """Evaluated by `except` only when something was raised: the tree of errors costs a guest 5 ms."""
    from lithos.errors import LithosError

    return LithosError


def told(error: Any) -> LithosError:
    """A refusal of the host, as the error it was."""
    from lithos.errors import Unavailable, all_errors

    told = dict(error) if isinstance(error, dict) else {}
    kind = all_errors().get(told.pop("code", ""), Unavailable)
    message = str(told.pop("message", "the host refused this guest without a reason"))
    told.pop("retryable", None)
    return kind(message, hint=str(told.pop("hint", "")), **told)


def _other_pipe(welcome: dict[str, Any]) -> LithosError:
    from lithos.errors import Unsupported

    return Unsupported(
        f"the host runs Lithos {welcome.get('version')}, which this Lithos {__version__} cannot talk to",
        hint="Install the same version for both, then run `lithos stop` and start this client again.",
    )


def _say(sentence: str) -> None:
    print(f"lithos: {sentence}", file=sys.stderr, flush=True)


def main(options: ServeOptions, data_dir: str) -> int:
    place = HostLock(data_dir)
    guest = Guest(place, options)
    try:
        return _standalone(guest, place, options) if options.standalone else guest.run()
    except NoChild as alone:
        from lithos.host.guest.standalone import serve_inside

        return serve_inside(guest, place, options, alone.lock, alone.listener)
    except _refusals() as error:
        _say(f"{error.message}. {error.hint}".strip())
        return 1


def _standalone(guest: Guest, place: HostLock, options: ServeOptions) -> int:
    from lithos.host.guest.standalone import serve_inside
    from lithos.host.server.foreground import take_place

    place.make()
    return serve_inside(guest, place, options, *take_place(place, standalone=True))
