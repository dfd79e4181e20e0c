"""The host: the one process that has a data directory open. It serves guests over its socket, and HTTP clients.

Order: open, accept until `stop`, drain all connections, close, then release lock and socket or hand them over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import anyio
from mcp.server.runner import serve_dual_era_loop

from lithos import __version__
from lithos.app import Lithos, open_lithos
from lithos.errors import LithosError
from lithos.host import wire
from lithos.host.host_lock import HostLock, belongs_to_another, peer_uid
from lithos.host.options import ServeOptions
from lithos.host.server import control
from lithos.host.server.connection import Connection, Hello
from lithos.host.server.fair_queue import CallGate
from lithos.host.server.handshake import Refusal, Replace, answer_hello
from lithos.host.server.host_config import load_for_host, set_up_host_log
from lithos.host.server.listener import HostListener
from lithos.host.server.page_listener import LOOPBACK, loopback_listener, page_address
from lithos.host.server.pipe import Pipe
from lithos.serving import Listener, LithosServer, build_server, default_caller
from lithos.settings import LithosConfig
from lithos.tools.answers.errors import as_lithos_error
from lithos.tools.catalogue import catalogue

_log = logging.getLogger("lithos.host")

HELLO_SECONDS = 5.0
TICK_SECONDS = 1.0
CLOSE_SECONDS = 10.0
REFUSE_SECONDS = 0.3  # guests that queued for a host that cannot start

OpenMemory = Callable[[LithosConfig], Lithos]
OpenHttp = Callable[[Lithos, LithosServer], Listener]


class Host:
    def __init__(
        self,
        host_lock: HostLock,
        listener: HostListener,
        config: LithosConfig,
        *,
        options: Mapping[str, str],
        foreground: bool,
        open_memory: OpenMemory = open_lithos,
        open_http: OpenHttp | None = None,
    ) -> None:
        self.host_lock, self.config, self.options = host_lock, config, options
        self.foreground = foreground
        self.since = time.time()
        self.guests: set[Connection] = set()
        self._listener = listener
        self._open_memory, self._open_http = open_memory, open_http
        self._http: Listener | None = None
        self._pipes: set[Pipe] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._behind: list[asyncio.Task[None]] = []  # watching, and HTTP
        self._stopping = asyncio.Event()
        self._bye_reason = wire.STOPPED
        self._successor: socket.socket | None = None
        self._last_use = time.monotonic()

    # ------------------------------------------------------------------ start and stop
    async def run(self) -> None:
        """Serve until `stop`."""
        _raise_file_limit()
        self._listener.write_holder(version=__version__, foreground=self.foreground)
        for number in self._signals():
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        try:
            self._default = default_caller(self.config)
            self.lithos = await asyncio.to_thread(self._open_memory, self.config)
        except Exception as error:
            refusal = as_lithos_error(error, "opening the memory")
            await refuse_all_guests(self._listener, refusal)
            raise refusal from error
        try:
            await self._serve()
        finally:
            try:
                await asyncio.to_thread(self.lithos.close)
            finally:
                self._release()

    async def _serve(self) -> None:
        self.gate = CallGate(catalogue(), self.config.server.workers, self._listener.holds_lock)
        self.server = build_server(
            self.lithos,
            default=self._default,
            output_schemas=self.config.server.output_schemas,
            workers=self.config.server.workers,
            largest=self.config.server.max_request_bytes,
            gate=self.gate.turn,
        )
        self.lithos.start()
        _log.info("host of %s, pid %s, Lithos %s", self.host_lock.data_dir, os.getpid(), __version__)
        if self._open_http is not None:
            self._http = self._open_http(self.lithos, self.server)
        self._listener.open(self._enter)
        self._listener.write_holder(version=__version__, foreground=self.foreground, ready=True)
        self._behind += [asyncio.create_task(self._watch()), asyncio.create_task(self._serve_http())]
        await self._stopping.wait()
        if self._successor is None:
            self._listener.close()
        self._listener.pause()
        await self._drain()

    def stop(self, why: str = wire.STOPPED) -> None:
        self._bye_reason = why
        self._stopping.set()

    def hand_over(self, successor: socket.socket) -> None:
        """Stop, then send lock and listener over this connection."""
        self._successor = successor
        self.stop(wire.MOVED)

    def _signals(self) -> list[signal.Signals]:
        """Those that stop it. A terminal that closes stops a host in the foreground, unless `nohup` started it."""
        closes = self.foreground and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        return [signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if closes else [])]

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stopping.is_set():
            # Everything acknowledged is durable, so an exit at any moment is safe; the socket is gone.
            if self.foreground:
                with contextlib.suppress(OSError):
                    os.write(2, b"Lithos has stopped at once.\n")
            os._exit(128 + number)
        self.stop()

    async def _drain(self) -> None:
        """Answer what was read, then close. Connections that read nothing are cut off at the end."""
        patience = self.config.server.stop_seconds
        for guest in self.guests:
            guest.drain(self._bye_reason, patience)
        for pipe in self._pipes:
            pipe.stop_reading()
        if self._http is not None:
            self._http.stop()
        _, late = await asyncio.wait({*self._serving, *self._behind}, timeout=patience + CLOSE_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _release(self) -> None:
        """Hand lock and socket over, or remove the socket. The lock itself ends with this process."""
        if self._successor is not None and not self._listener.hand_to(self._successor):
            self._successor = None
        self._listener.close()

    # ------------------------------------------------------------------ guests
    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def _enter(self, connection: socket.socket) -> None:
        self._task(self._receive(connection))

    async def _receive(self, connection: socket.socket) -> None:
        if peer_uid(connection) != os.getuid():
            await refuse(connection, belongs_to_another(self.host_lock.data_dir))
            return
        pipe = await _attach(connection)
        self._pipes.add(pipe)
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                first = wire.parse(await pipe.line() or b"")
            if first["lithos"] == "control":
                await control.answer(self, first, pipe)
            else:
                await self._serve_guest(Hello.model_validate(first), pipe)
        except (TimeoutError, ValueError, ConnectionError, anyio.BrokenResourceError) as error:
            _log.debug("a connection ended: %r", error)
        except Exception:  # noqa: BLE001 - log it; one guest's failure must not affect the others
            _log.exception("a connection failed")
        finally:
            self._pipes.discard(pipe)
            await pipe.close(CLOSE_SECONDS)
            self._last_use = time.monotonic()

    async def _serve_guest(self, hello: Hello, pipe: Pipe) -> None:
        decision = answer_hello(
            hello,
            pid=os.getpid(),
            guests=len(self.guests),
            replaceable=not self.foreground,
            options=self.options,
            check_toolsets=catalogue().check_toolsets,
        )
        if isinstance(decision, Refusal):
            await pipe.write(wire.refused(decision.error.as_dict()), CLOSE_SECONDS)
        elif isinstance(decision, Replace):
            await pipe.write(wire.line({"lithos": "replace"}), CLOSE_SECONDS)
            self.stop(wire.MOVED)
        elif not self._stopping.is_set():  # else no welcome: the guest connects to the next host
            guest = Connection(pipe, hello, self._default, decision.warnings, self.gate.waits)
            await self._serve_mcp(guest)

    async def _serve_mcp(self, guest: Connection) -> None:
        self.guests.add(guest)
        try:
            await guest.welcome()
            await serve_dual_era_loop(
                self.server,
                guest,
                guest,
                lifespan_state=None,
                init_options=self.server.create_initialization_options(),
            )
        finally:
            self.guests.discard(guest)

    # ------------------------------------------------------------------ HTTP
    async def _serve_http(self) -> None:
        if self._http is not None:
            try:
                await self._http.serve()
            finally:
                self.stop()

    async def open_page(self) -> tuple[str, str]:
        """The page's address and a one-time code; a host without HTTP opens a loopback listener first."""
        if self._http is None:
            self._http = loopback_listener(self.config, self.lithos, self.server)
            self._behind.append(asyncio.create_task(self._http.serve()))
        return self.page_address or "", self._http.sign_ins.new_code()

    @property
    def page_address(self) -> str | None:
        if self._http is None:
            return None
        bound = self.config.server.host if self.foreground else LOOPBACK
        return page_address(bound, self._http.port)

    # ------------------------------------------------------------------ watching lock, socket and idle time
    async def _watch(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._stopping.wait()
            if not self._listener.holds_lock():
                _log.warning("the lock of %s was removed or replaced; stopping", self.host_lock.data_dir)
                self.stop(wire.MOVED)
            elif not self._stopping.is_set():
                self._listener.rebind_if_removed()
                self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        browsing = self._http is not None and self._http.connected
        if self.foreground or self._serving or browsing or self.lithos.busy():
            self._last_use = time.monotonic()
        elif time.monotonic() - self._last_use > self.config.server.idle_exit_minutes * 60:
            _log.info("no client for %s minutes; stopping", self.config.server.idle_exit_minutes)
            self.stop()


async def refuse_all_guests(listener: HostListener, error: LithosError) -> None:
    """Send the reason why this host cannot start to all waiting guests, so that none starts it again and again."""
    _log.error("cannot start: %s", error.message)
    refusals: set[asyncio.Task[None]] = set()
    listener.open(lambda connection: refusals.add(asyncio.create_task(refuse(connection, error))))
    await asyncio.sleep(REFUSE_SECONDS)
    listener.close()
    await asyncio.gather(*refusals, return_exceptions=True)


async def refuse(connection: socket.socket, error: LithosError) -> None:
    pipe = await _attach(connection)
    try:
        async with asyncio.timeout(REFUSE_SECONDS):
            await pipe.line()  # a guest that is still writing would see a broken pipe instead of the reason
        await pipe.write(wire.refused(error.as_dict()), REFUSE_SECONDS)
    except (TimeoutError, ConnectionError):
        _log.debug("a guest left before it got its refusal")
    finally:
        await pipe.close(REFUSE_SECONDS)


async def _attach(connection: socket.socket) -> Pipe:
    connection.setblocking(False)
    pipe = Pipe(wire.LONGEST_LINE)
    await asyncio.get_running_loop().connect_accepted_socket(lambda: pipe, connection)
    return pipe


async def run_host(
    host_lock: HostLock,
    listener: HostListener,
    options: ServeOptions,
    *,
    foreground: bool = False,
    on_created: Callable[[Host], None] = lambda host: None,
) -> int:
    """Run a host without HTTP, with the options of its starter; returns the exit code."""
    try:
        config = load_for_host(options, host_lock)
        set_up_host_log(config, host_lock)
    except Exception as error:  # noqa: BLE001 - every kind is sent to the waiting guests
        await refuse_all_guests(listener, as_lithos_error(error, "reading the settings"))
        return 1
    host = Host(host_lock, listener, config, options=options.host_wide(), foreground=foreground)
    on_created(host)
    try:
        await host.run()
    except LithosError:
        return 1  # logged, and sent to the waiting guests
    return 0


def _raise_file_limit() -> None:
    """Every guest needs a descriptor; the soft limit of 1,024 exists for programs that use select."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
