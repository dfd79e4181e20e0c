"""Lock and listening socket in one hand: whoever holds both is the host."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable

from lithos.host.host_lock import BACKLOG, HostLock

_log = logging.getLogger("lithos.host")

AT_ONCE = 64  # connections taken per turn of the loop, so that a storm of guests leaves room for those inside
PAUSE_SECONDS = 0.1


class HostListener:
    def __init__(self, place: HostLock, lock: int, listener: socket.socket) -> None:
        self._place = place
        self._lock = lock
        self._listener = listener
        self._path_inode = place.socket_inode()
        self._enter: Callable[[socket.socket], None] | None = None
        listener.setblocking(False)
        listener.listen(BACKLOG)  # again: peers see the credentials of whoever called it last

    def note(self, **facts: object) -> None:
        self._place.write_note(self._lock, **facts)

    def open(self, enter: Callable[[socket.socket], None]) -> None:
        """From now on `enter` gets every connection."""
        self._enter = enter
        asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        assert self._enter is not None
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # out of descriptors: those who leave free some
                _log.warning("cannot accept: %s", error)
                self.shut()
                asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._reopen)
                return
            self._enter(connection)

    def _reopen(self) -> None:
        if self._enter is not None and self._listener.fileno() >= 0:
            self.open(self._enter)

    def shut(self) -> None:
        """Take nobody in; those who come now wait in the queue."""
        if self._listener.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listener.fileno())

    def is_ours(self) -> bool:
        """Whether the lock still is the one at the path; two hosts could write otherwise."""
        return self._place.is_ours(self._lock)

    def mend(self) -> None:
        """Somebody removed or replaced the socket's file (`git clean`): bind it anew. The lock is ours, so we may."""
        if self._place.socket_inode() == self._path_inode:
            return
        _log.warning("the socket of %s was removed; binding it anew", self._place.data_dir)
        self.shut()
        self._listener.close()
        self._listener = self._place.listen()
        self._listener.setblocking(False)
        self._path_inode = self._place.socket_inode()
        self._reopen()

    def close(self) -> None:
        """Nobody new: guests that queue at a closed listener go round again, and find the next host."""
        if self._listener.fileno() < 0:
            return
        self.shut()
        self._enter = None
        # After `rm -rf .lithos` the path may be our successor's already.
        if self.is_ours() and self._place.socket_inode() == self._path_inode:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._place.socket_path)
        self._listener.close()

    def give_to(self, taker: socket.socket) -> bool:
        """Pass lock and listener on. Neither is free for a moment, and those who queue notice nothing."""
        self._enter = None
        try:
            socket.send_fds(taker, [b"fds\n"], [self._lock, self._listener.fileno()])
        except OSError as error:
            _log.warning("nobody took over: %s", error)
            return False
        self._listener.close()
        return True
