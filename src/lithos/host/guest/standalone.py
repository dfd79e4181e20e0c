"""Host and guest in one process: for `--standalone`, and where the system starts no other process for us."""

from __future__ import annotations

import asyncio
import socket
import threading

from lithos.host.guest.guest import Guest
from lithos.host.guest.options import ServeOptions
from lithos.host.host_lock import HostLock
from lithos.host.server.listener import HostListener
from lithos.host.server.loop import run_loop
from lithos.host.server.server import Host, host_memory


def serve_inside(guest: Guest, place: HostLock, options: ServeOptions, lock: int, listener: socket.socket) -> int:
    """Until the client is gone. Others may be guests here meanwhile; they find another host afterwards."""
    door = HostListener(place, lock, listener)
    loop_and_host: list[tuple[asyncio.AbstractEventLoop, Host]] = []
    codes: list[int] = []

    def pipe_client() -> None:
        codes.append(guest.run())
        for loop, host in loop_and_host:
            loop.call_soon_threadsafe(host.stop)

    client = threading.Thread(target=pipe_client, name="guest", daemon=True)

    def opened(host: Host) -> None:
        loop_and_host.append((asyncio.get_running_loop(), host))
        client.start()

    code = run_loop(host_memory(place, door, options, foreground=True, opened=opened))
    return max([code, *codes])
