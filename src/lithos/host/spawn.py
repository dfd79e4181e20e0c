"""Start a background host: bind the socket and pass it with the lock to a new process. Guests import this file."""

from __future__ import annotations

import fcntl
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from lithos.host.host_lock import HostLock
    from lithos.host.options import ServeOptions

LOCK_FD, LISTENER_FD = 3, 4  # where a spawned host finds what it inherits
LARGEST_LOG = 5 * 1024 * 1024
_ABOVE_FIXED = 10  # copies get higher numbers, or a dup2 would overwrite the source of the next


class NoChild(Exception):
    """The system starts no process for us. Lock and listener are still here: this process can be the host."""

    def __init__(self, lock: int, listener: socket.socket) -> None:
        super().__init__("no process could be started")
        self.lock = lock
        self.listener = listener


def start_host(host_lock: HostLock, lock: int, options: ServeOptions) -> None:
    """Spawn a detached host that holds `lock` from the start; guests may connect at once."""
    try:
        listener = host_lock.listen()
    except BaseException:
        os.close(lock)
        raise
    try:
        started = _spawn(host_lock, lock, listener, options)
    except OSError:
        started = False
    if not started:
        raise NoChild(lock, listener)
    # Closed, never unlocked: LOCK_UN on any copy would free the lock for all of them.
    os.close(lock)
    listener.close()


def _spawn(host_lock: HostLock, lock: int, listener: socket.socket, options: ServeOptions) -> bool:
    command = [sys.executable, "-P", "-m", "lithos.host", *options.host_arguments(host_lock.data_dir)]
    null, log = os.open(os.devnull, os.O_RDWR), _open_log(host_lock)
    targets = ((null, 0), (null, 1), (log, 2), (lock, LOCK_FD), (listener.fileno(), LISTENER_FD))
    copies = [(fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, _ABOVE_FIXED), target) for source, target in targets]
    try:
        actions = [(os.POSIX_SPAWN_DUP2, copy, target) for copy, target in copies]
        pid = os.posix_spawn(sys.executable, command, options.host_environment(), file_actions=actions)
    finally:
        for fd in (null, log, *(copy for copy, _ in copies)):
            os.close(fd)
    # It forks at once and its first process ends, so that no host is our child or becomes a zombie.
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _open_log(host_lock: HostLock) -> int:
    """The log for output before logging is set up. A full disk must not keep a host from starting."""
    try:
        if os.path.exists(host_lock.log_path) and os.path.getsize(host_lock.log_path) > LARGEST_LOG:
            os.replace(host_lock.log_path, host_lock.log_path + ".1")
        return os.open(host_lock.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
