"""The first lines of a host that a guest has started: away from its starter, then the heavy imports, then serving."""

from __future__ import annotations

import gc
import os
import sys

from lithos.host.guest.options import DATA_DIR, parse_serve
from lithos.host.spawn import LISTENER_FD, LOCK_FD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from lithos.host.guest.options import ServeOptions

NO_OPTIONS, NO_FORK = 64, 71  # exit codes; either makes the guest serve its client by itself


def main() -> int:
    options = parse_serve(sys.argv[1:], os.environ)
    if options is None:
        return NO_OPTIONS
    return _serve(options) if _detach() else NO_FORK


def _detach() -> bool:
    """A session of its own, no child of its starter: neither a signal nor a tree-kill nor a wait reaches it."""
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        return False
    os.setsid()
    # Whatever else a client left open in its children (another server's pipe) must not live as long as we do.
    os.closerange(LISTENER_FD + 1, 4096)
    for fd in (LOCK_FD, LISTENER_FD):
        os.set_inheritable(fd, False)
    return True


def _serve(options: ServeOptions) -> NoReturn:
    gc.disable()  # imports make thousands of objects and none of them dies: collecting in between costs 0.1 s
    import logging
    import socket

    import lithos.serving  # noqa: F401 - first: it imports less of the SDK than the SDK would
    from lithos.host.host_lock import HostLock
    from lithos.host.server.listener import HostListener
    from lithos.host.server.loop import run_loop
    from lithos.host.server.server import host_memory

    gc.freeze()
    gc.enable()
    place = HostLock(options.get(DATA_DIR) or "")
    door = HostListener(place, LOCK_FD, socket.socket(fileno=LISTENER_FD))
    code = run_loop(host_memory(place, door, options))
    logging.shutdown()
    os._exit(code)  # the memory is closed; no thread that lags behind may keep the lock from the next host
