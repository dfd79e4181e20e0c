"""Host and guest in one process: for `--standalone`, and where the system starts no other process for us."""

from __future__ import annotations

import asyncio
import socket
import threading

from lithos.host.guest.guest import Guest
from lithos.host.host_lock import HostLock
from lithos.host.options import ServeOptions
from lithos.host.server.event_loop import run_loop
from lithos.host.server.host import Host, run_host
from lithos.host.server.listener import HostListener


def serve_standalone(
    guest: Guest, host_lock: HostLock, options: ServeOptions, lock: int, listener: socket.socket
) -> int:
    """Serve until the client is gone. Other guests may connect meanwhile; they find another host afterwards."""
    loop_and_host: list[tuple[asyncio.AbstractEventLoop, Host]] = []
    codes: list[int] = []

    def pipe_client() -> None:
        codes.append(guest.run())
        for loop, host in loop_and_host:
            loop.call_soon_threadsafe(host.stop)

    client = threading.Thread(target=pipe_client, name="guest", daemon=True)

    def on_created(host: Host) -> None:
        loop_and_host.append((asyncio.get_running_loop(), host))
        client.start()

    listening = HostListener(host_lock, lock, listener)
    code = run_loop(run_host(host_lock, listening, options, foreground=True, on_created=on_created))
    return max([code, *codes])
