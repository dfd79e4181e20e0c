"""The lock and the listening socket of a host; the process that holds both is the host."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable

from lithos.host.host_lock import BACKLOG, HostLock

_log = logging.getLogger("lithos.host")

AT_ONCE = 64  # connections accepted per iteration of the loop, so that a burst of guests does not starve the others
PAUSE_SECONDS = 0.1


class HostListener:
    def __init__(self, host_lock: HostLock, lock: int, listener: socket.socket) -> None:
        self._host_lock = host_lock
        self._lock = lock
        self._listener = listener
        self._path_inode = host_lock.socket_inode()
        self._enter: Callable[[socket.socket], None] | None = None
        listener.setblocking(False)
        listener.listen(BACKLOG)  # again: peers see the credentials of the process that called it last

    def write_holder(self, **facts: object) -> None:
        self._host_lock.write_holder(self._lock, **facts)

    def open(self, enter: Callable[[socket.socket], None]) -> None:
        """Pass every new connection to `enter`."""
        self._enter = enter
        asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        assert self._enter is not None
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # out of descriptors: closing connections frees some
                _log.warning("cannot accept: %s", error)
                self.pause()
                asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._reopen)
                return
            self._enter(connection)

    def _reopen(self) -> None:
        if self._enter is not None and self._listener.fileno() >= 0:
            self.open(self._enter)

    def pause(self) -> None:
        """Accept no connections; new ones wait in the kernel's queue."""
        if self._listener.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listener.fileno())

    def holds_lock(self) -> bool:
        """Whether our lock is still the file at the path; otherwise two hosts could write."""
        return self._host_lock.still_holds(self._lock)

    def rebind_if_removed(self) -> None:
        """Bind the socket again if its file was removed or replaced (`git clean`). We may, because we hold the lock."""
        if self._host_lock.socket_inode() == self._path_inode:
            return
        _log.warning("the socket of %s was removed; binding it again", self._host_lock.data_dir)
        self.pause()
        self._listener.close()
        self._listener = self._host_lock.listen()
        self._listener.setblocking(False)
        self._path_inode = self._host_lock.socket_inode()
        self._reopen()

    def close(self) -> None:
        """Accept nothing more. Guests that wait at a closed listener retry, and find the next host."""
        if self._listener.fileno() < 0:
            return
        self.pause()
        self._enter = None
        # After `rm -rf .lithos` the path may be our successor's already.
        if self.holds_lock() and self._host_lock.socket_inode() == self._path_inode:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._host_lock.socket_path)
        self._listener.close()

    def hand_to(self, successor: socket.socket) -> bool:
        """Pass lock and listener to another process. Neither is ever free, and waiting guests stay connected."""
        self._enter = None
        try:
            socket.send_fds(successor, [b"fds\n"], [self._lock, self._listener.fileno()])
        except OSError as error:
            _log.warning("the handover failed: %s", error)
            return False
        self._listener.close()
        return True
