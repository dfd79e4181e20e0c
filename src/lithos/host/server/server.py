"""The host: the one process that has a memory open. It serves guests over its socket, and HTTP clients when asked to.

Life: open → accept → until told to leave → say goodbye to everybody → close → hand lock and socket on, or let them go.
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
from lithos.host.guest.options import ServeOptions
from lithos.host.host_lock import HostLock, belongs_to_another, peer_uid
from lithos.host.server import control
from lithos.host.server.connection import Connection, Hello
from lithos.host.server.fair_queue import FairQueue
from lithos.host.server.listener import HostListener
from lithos.host.server.loading import load_for_host, set_up_host_log
from lithos.host.server.pipe import Pipe
from lithos.host.server.reception import Refusal, Replace, receive
from lithos.serving import Listener, LithosServer, build_server, default_caller
from lithos.settings import LithosConfig
from lithos.tools.answers import as_lithos_error
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
        place: HostLock,
        door: HostListener,
        config: LithosConfig,
        *,
        options: Mapping[str, str],
        foreground: bool,
        open_memory: OpenMemory = open_lithos,
        open_http: OpenHttp | None = None,
    ) -> None:
        self.place, self.config, self.options = place, config, options
        self.foreground = foreground
        self.since = time.time()
        self.guests: set[Connection] = set()
        self._door = door
        self._open_memory, self._open_http = open_memory, open_http
        self._http: Listener | None = None
        self._pipes: set[Pipe] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._why = wire.STOPPED
        self._taker: socket.socket | None = None
        self._last_use = time.monotonic()

    # ------------------------------------------------------------------ life
    async def run(self) -> None:
        """Until told to stop."""
        _raise_file_limit()
        self._door.note(version=__version__, foreground=self.foreground)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)
        try:
            self._default = default_caller(self.config)
            self.lithos = await asyncio.to_thread(self._open_memory, self.config)
        except Exception as error:
            refusal = as_lithos_error(error, "opening the memory")
            await refuse_everybody(self._door, refusal)
            raise refusal from error
        try:
            await self._serve()
        finally:
            try:
                await asyncio.to_thread(self.lithos.close)
            finally:
                self._let_go()

    async def _serve(self) -> None:
        self.fairness = FairQueue(catalogue(), self.config.server.workers, self._door.is_ours)
        self.server = build_server(
            self.lithos,
            default=self._default,
            output_schemas=self.config.server.output_schemas,
            workers=self.config.server.workers,
            largest=self.config.server.max_request_bytes,
            gate=self.fairness.turn,
        )
        self.lithos.start()
        _log.info("host of %s, pid %s, Lithos %s", self.place.data_dir, os.getpid(), __version__)
        if self._open_http is not None:
            self._http = self._open_http(self.lithos, self.server)
        self._door.open(self._enter)
        self._door.note(version=__version__, foreground=self.foreground, ready=True)
        behind = [asyncio.create_task(self._watch()), asyncio.create_task(self._serve_http())]
        await self._stopping.wait()
        if self._taker is None:
            self._door.close()
        self._door.shut()
        await self._say_goodbye(behind)

    def stop(self, why: str = wire.STOPPED) -> None:
        self._why = why
        self._stopping.set()

    def hand_over(self, taker: socket.socket) -> None:
        """Stop, then give lock and listener to whoever is at the other end of this connection."""
        self._taker = taker
        self.stop(wire.MOVED)

    def _signalled(self) -> None:
        if self._stopping.is_set():
            # Everything acknowledged is durable already, so a death at any moment is safe; the socket is gone.
            os._exit(128 + signal.SIGTERM)
        self.stop()

    async def _say_goodbye(self, behind: list[asyncio.Task[None]]) -> None:
        """Answer what was read, flush, end; whoever does not read is cut off in the end."""
        patience = self.config.server.stop_seconds
        for guest in self.guests:
            guest.say_goodbye(self._why, patience)
        for pipe in self._pipes:
            pipe.stop_reading()
        if self._http is not None:
            self._http.stop()
        _, late = await asyncio.wait({*self._serving, *behind}, timeout=patience + CLOSE_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _let_go(self) -> None:
        """The memory is closed. The lock is not let go but ends with this process, and with any thread still in it."""
        if self._taker is not None and not self._door.give_to(self._taker):
            self._taker = None
        self._door.close()

    # ------------------------------------------------------------------ guests
    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def _enter(self, connection: socket.socket) -> None:
        self._task(self._receive(connection))

    async def _receive(self, connection: socket.socket) -> None:
        if peer_uid(connection) != os.getuid():
            await refuse(connection, belongs_to_another(self.place.data_dir))
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
        except Exception:  # noqa: BLE001 - one guest's trouble, told to the log, is not the others'
            _log.exception("a connection failed")
        finally:
            self._pipes.discard(pipe)
            await pipe.close(CLOSE_SECONDS)
            self._last_use = time.monotonic()

    async def _serve_guest(self, hello: Hello, pipe: Pipe) -> None:
        decision = receive(
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
        elif not self._stopping.is_set():  # else never welcomed: nothing was taken on, and the guest goes elsewhere
            guest = Connection(pipe, hello, self._default, decision.warnings, self.fairness.waits)
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

    # ------------------------------------------------------------------ watching over itself
    async def _watch(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._stopping.wait()
            if not self._door.is_ours():
                _log.warning("the lock of %s was taken away; leaving", self.place.data_dir)
                self.stop(wire.MOVED)
            elif not self._stopping.is_set():
                self._door.mend()
                self._leave_if_idle()

    def _leave_if_idle(self) -> None:
        if self.foreground or self._serving or self.lithos.busy():
            self._last_use = time.monotonic()
        elif time.monotonic() - self._last_use > self.config.server.idle_exit_minutes * 60:
            _log.info("nobody came for %s minutes; ending", self.config.server.idle_exit_minutes)
            self.stop()


async def refuse_everybody(door: HostListener, error: LithosError) -> None:
    """A host that cannot start says why to those who wait for it, so that none of them starts it over and over."""
    _log.error("cannot start: %s", error.message)
    told: set[asyncio.Task[None]] = set()
    door.open(lambda connection: told.add(asyncio.create_task(refuse(connection, error))))
    await asyncio.sleep(REFUSE_SECONDS)
    door.close()
    await asyncio.gather(*told, return_exceptions=True)


async def refuse(connection: socket.socket, error: LithosError) -> None:
    pipe = await _attach(connection)
    try:
        async with asyncio.timeout(REFUSE_SECONDS):
            await pipe.line()  # a guest that is still writing would hear of a broken pipe instead of the reason
        await pipe.write(wire.refused(error.as_dict()), REFUSE_SECONDS)
    except (TimeoutError, ConnectionError):
        _log.debug("a guest left before it was told why it is refused")
    finally:
        await pipe.close(REFUSE_SECONDS)


async def _attach(connection: socket.socket) -> Pipe:
    connection.setblocking(False)
    pipe = Pipe(wire.LONGEST_LINE)
    await asyncio.get_running_loop().connect_accepted_socket(lambda: pipe, connection)
    return pipe


async def host_memory(
    place: HostLock,
    door: HostListener,
    options: ServeOptions,
    *,
    foreground: bool = False,
    opened: Callable[[Host], None] = lambda host: None,
) -> int:
    """A host without HTTP, from the options of whoever started it; the exit code."""
    try:
        config = load_for_host(options, place)
        set_up_host_log(config, place)
    except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told
        await refuse_everybody(door, as_lithos_error(error, "reading the settings"))
        return 1
    host = Host(place, door, config, options=options.host_wide(), foreground=foreground)
    opened(host)
    try:
        await host.run()
    except LithosError:
        return 1  # told to the log and to everybody who waited
    return 0


def _raise_file_limit() -> None:
    """Every guest is a descriptor; the soft limit of 1,024 is there for programs that use select."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
