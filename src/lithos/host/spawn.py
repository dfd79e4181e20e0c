"""Start a host: the winner of the lock binds the socket and hands both to a new process. Guests import this file."""

from __future__ import annotations

import fcntl
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from lithos.host.guest.options import ServeOptions
    from lithos.host.host_lock import HostLock

LOCK_FD, LISTENER_FD = 3, 4  # where a spawned host finds what it inherits
LARGEST_LOG = 5 * 1024 * 1024
_ABOVE_FIXED = 10  # sources lie above the fixed numbers, or a dup2 would overwrite the next one's source


class NoChild(Exception):
    """The system starts no process for us. Lock and listener are still here: the host may live in this one."""

    def __init__(self, lock: int, listener: socket.socket) -> None:
        super().__init__("no process could be started")
        self.lock = lock
        self.listener = listener


def start_host(place: HostLock, lock: int, options: ServeOptions) -> None:
    """Spawn a detached host that holds `lock` from its first instruction on; guests may connect at once."""
    try:
        listener = place.listen()
    except BaseException:
        os.close(lock)
        raise
    try:
        started = _spawn(place, lock, listener, options)
    except OSError:
        started = False
    if not started:
        raise NoChild(lock, listener)
    # Closed, never unlocked: LOCK_UN on any copy would free the lock for all of them.
    os.close(lock)
    listener.close()


def _spawn(place: HostLock, lock: int, listener: socket.socket, options: ServeOptions) -> bool:
    command = [sys.executable, "-P", "-m", "lithos.host", *options.host_arguments(place.data_dir)]
    null, log = os.open(os.devnull, os.O_RDWR), _open_log(place)
    targets = ((null, 0), (null, 1), (log, 2), (lock, LOCK_FD), (listener.fileno(), LISTENER_FD))
    copies = [(fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, _ABOVE_FIXED), target) for source, target in targets]
    try:
        actions = [(os.POSIX_SPAWN_DUP2, copy, target) for copy, target in copies]
        pid = os.posix_spawn(sys.executable, command, options.host_environment(), file_actions=actions)
    finally:
        for fd in (null, log, *(copy for copy, _ in copies)):
            os.close(fd)
    # It forks at once and its first process ends, so that no host is ever our child: no zombie, no shared fate.
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _open_log(place: HostLock) -> int:
    """The log for what is said before logging stands. A full disk must not keep a host from starting."""
    try:
        if os.path.exists(place.log_path) and os.path.getsize(place.log_path) > LARGEST_LOG:
            os.replace(place.log_path, place.log_path + ".1")
        return os.open(place.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
