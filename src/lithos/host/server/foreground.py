"""`lithos serve --transport http|sse`: a host that a person started. It takes over from one in the background."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from functools import partial

from lithos.app import Lithos
from lithos.errors import Conflict, Unavailable
from lithos.host.client import HostLost, linked
from lithos.host.guest.options import ServeOptions
from lithos.host.host_lock import HostLock
from lithos.host.server.listener import HostListener
from lithos.host.server.loop import run_loop
from lithos.host.server.server import Host
from lithos.serving import ConnectionLimits, Listener, LithosServer, bind, default_caller, http_app, require_token
from lithos.settings import LithosConfig
from lithos.tools.catalogue import catalogue

TAKE_OVER_SECONDS = 60.0
NAP_SECONDS = 0.02


def serve_http(config: LithosConfig, options: ServeOptions, announce: Callable[[int], None]) -> None:
    """Until a signal or `lithos stop`. The port is bound first: a taken port must not cost the old host its life."""
    default_caller(config)
    place = HostLock(str(config.storage.data_dir.expanduser()))
    place.make()
    listening = bind(config.server.host, config.server.port)
    lock, listener = take_place(place, standalone=options.standalone)
    open_http = partial(_open_http, config, listening, announce)
    run_loop(_run(place, (lock, listener), config, options, open_http))


async def _run(
    place: HostLock,
    held: tuple[int, socket.socket],
    config: LithosConfig,
    options: ServeOptions,
    open_http: Callable[[Lithos, LithosServer], Listener],
) -> None:
    host = Host(
        place, HostListener(place, *held), config, options=options.host_wide(), foreground=True, open_http=open_http
    )
    await host.run()


def take_place(place: HostLock, *, standalone: bool) -> tuple[int, socket.socket]:
    """Lock and listener: free ones, or those of a background host, which answers everything first."""
    deadline = time.monotonic() + TAKE_OVER_SECONDS
    while time.monotonic() < deadline:
        lock = place.try_lock()
        if lock is not None:
            return lock, _listen(place, lock)
        if standalone:
            raise already_served(place)
        held = _take_over(place)
        if held is not None:
            return held
        time.sleep(NAP_SECONDS)
    raise Unavailable(
        f"{place.describe_holder()} holds the lock of {place.data_dir} and does not let go",
        hint="Stop it with `lithos stop`, or end it by its pid.",
    )


def _listen(place: HostLock, lock: int) -> socket.socket:
    try:
        return place.listen()
    except BaseException:
        os.close(lock)
        raise


def _take_over(place: HostLock) -> tuple[int, socket.socket] | None:
    """None: the host went away meanwhile; look again."""
    with linked(place) as link:
        if link is None:
            return None
        try:
            link.ask("handover")
            lock, listener = link.receive_fds(TAKE_OVER_SECONDS)
        except HostLost:
            return None
    return lock, socket.socket(fileno=listener)


def already_served(place: HostLock) -> Conflict:
    return Conflict(
        f"{place.data_dir} is already served by {place.describe_holder()}",
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
    app = http_app(
        server,
        catalogue(),
        config.server,
        default=default_caller(config),
        tokens=lithos.tokens,
        health=lithos.health,
    )
    announce(int(listening.getsockname()[1]))  # bound and listening: whoever connects now is served in a moment
    limits = ConnectionLimits(config.server.header_seconds, config.server.idle_seconds)
    return Listener(app, listening, server.in_flight, config.server.stop_seconds, limits)
