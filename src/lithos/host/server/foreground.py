"""`lithos serve --transport http|sse`: a host in the foreground. It takes over from a background host."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from functools import partial

from lithos.app import Lithos
from lithos.errors import Conflict, Unavailable
from lithos.host.client import HostLost, control_connection
from lithos.host.host_lock import HostLock
from lithos.host.options import ServeOptions
from lithos.host.server.event_loop import run_loop
from lithos.host.server.host import Host
from lithos.host.server.listener import HostListener
from lithos.host.server.page_listener import http_listener
from lithos.serving import Listener, LithosServer, bind, default_caller, require_token
from lithos.settings import LithosConfig

TAKE_OVER_SECONDS = 60.0
RETRY_SECONDS = 0.02


def serve_http(config: LithosConfig, options: ServeOptions, announce: Callable[[int], None]) -> None:
    """Serve until a signal or `lithos stop`. Bind the port first: a taken port must not end the old host."""
    default_caller(config)
    host_lock = HostLock(str(config.storage.data_dir.expanduser()))
    host_lock.make_folder()
    listening = bind(config.server.host, config.server.port)
    lock, listener = acquire(host_lock, standalone=options.standalone)
    open_http = partial(_open_http, config, listening, announce)
    run_loop(_run(host_lock, (lock, listener), config, options, open_http))


async def _run(
    host_lock: HostLock,
    held: tuple[int, socket.socket],
    config: LithosConfig,
    options: ServeOptions,
    open_http: Callable[[Lithos, LithosServer], Listener],
) -> None:
    host = Host(
        host_lock,
        HostListener(host_lock, *held),
        config,
        options=options.host_wide(),
        foreground=True,
        open_http=open_http,
    )
    await host.run()


def acquire(host_lock: HostLock, *, standalone: bool) -> tuple[int, socket.socket]:
    """Lock and listener: free ones, or those of a background host, which answers its open calls first."""
    deadline = time.monotonic() + TAKE_OVER_SECONDS
    while time.monotonic() < deadline:
        lock = host_lock.try_lock()
        if lock is not None:
            return lock, _listen(host_lock, lock)
        if standalone:
            raise already_served(host_lock)
        held = _take_over(host_lock)
        if held is not None:
            return held
        time.sleep(RETRY_SECONDS)
    raise Unavailable(
        f"{host_lock.describe_holder()} holds the lock of {host_lock.data_dir} and does not release it",
        hint="Stop it with `lithos stop`, or end it by its pid.",
    )


def _listen(host_lock: HostLock, lock: int) -> socket.socket:
    try:
        return host_lock.listen()
    except BaseException:
        os.close(lock)
        raise


def _take_over(host_lock: HostLock) -> tuple[int, socket.socket] | None:
    """None: the host ended meanwhile; try again."""
    with control_connection(host_lock) as control:
        if control is None:
            return None
        try:
            control.ask("handover")
            lock, listener = control.receive_fds(TAKE_OVER_SECONDS)
        except HostLost:
            return None
    return lock, socket.socket(fileno=listener)


def already_served(host_lock: HostLock) -> Conflict:
    return Conflict(
        f"{host_lock.data_dir} is already served by {host_lock.describe_holder()}",
        hint="Leave --standalone out to join it, or end it with `lithos stop`.",
    )


def _open_http(
    config: LithosConfig,
    listening: socket.socket,
    announce: Callable[[int], None],
    lithos: Lithos,
    server: LithosServer,
) -> Listener:
    require_token(config, lithos)
    listener = http_listener(config, listening, lithos, server)
    announce(int(listening.getsockname()[1]))  # bound and listening: a client that connects now waits a moment
    return listener
