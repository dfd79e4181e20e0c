"""Entry of a background host: detach from its starter, then import the heavy parts, then serve."""

from __future__ import annotations

import gc
import os
import sys

from lithos.host.options import DATA_DIR, parse_serve
from lithos.host.spawn import LISTENER_FD, LOCK_FD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from lithos.host.options import ServeOptions

NO_OPTIONS, NO_FORK = 64, 71  # exit codes; on either the guest serves its client in its own process


def main() -> int:
    options = parse_serve(sys.argv[1:], os.environ)
    if options is None:
        return NO_OPTIONS
    return _serve(options) if _detach() else NO_FORK


def _detach() -> bool:
    """Fork into a new session: signals, tree-kills and waits of the starter do not reach the host."""
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        return False
    os.setsid()
    # A client may leave other descriptors open in its children: another server's pipe must not stay open with us.
    os.closerange(LISTENER_FD + 1, 4096)
    for fd in (LOCK_FD, LISTENER_FD):
        os.set_inheritable(fd, False)
    return True


def _serve(options: ServeOptions) -> NoReturn:
    gc.disable()  # imports create thousands of lasting objects: collecting in between costs 0.1 s
    import logging
    import socket

    import lithos.serving  # noqa: F401 - first: it imports less of the SDK than the SDK would
    from lithos.host.host_lock import HostLock
    from lithos.host.server.event_loop import run_loop
    from lithos.host.server.host import run_host
    from lithos.host.server.listener import HostListener

    gc.freeze()
    gc.enable()
    host_lock = HostLock(options.get(DATA_DIR) or "")
    listener = HostListener(host_lock, LOCK_FD, socket.socket(fileno=LISTENER_FD))
    code = run_loop(run_host(host_lock, listener, options))
    logging.shutdown()
    os._exit(code)  # everything is closed; a thread that still runs must not keep the lock from the next host
