"""Whether anything happened in a folder since it was last looked at, by inotify: no system call for each of its files.

An event only says that something happened; who looks decides what it was. A write through another name of a file, a
memory map or another machine makes none, so a folder counts as quiet for five seconds at most. Where there is no
inotify, or its limits are reached, no folder is ever quiet.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from weakref import WeakSet

QUIET_AT_MOST = 5.0  # seconds since the last look
_NONBLOCKING = os.O_NONBLOCK | os.O_CLOEXEC  # IN_NONBLOCK and IN_CLOEXEC have their values
# IN_MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF; IN_ONLYDIR
_ASKED = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x0100_0000
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
_BUFFER = 64 * 1024


class WatchedFolder:
    """One watcher's word on one folder; not quiet before its first look."""

    def __init__(self) -> None:
        self._stirred = True
        self._looked_at = 0.0

    def is_quiet(self) -> bool:
        """As far as `gather_events` has read: call that first, once for many folders."""
        return not self._stirred and time.monotonic() - self._looked_at < QUIET_AT_MOST

    def looking(self) -> None:
        """Call it before a look: what happens during the look is news again."""
        self._stirred, self._looked_at = False, time.monotonic()

    def stir(self) -> None:
        self._stirred = True


class _NeverQuiet(WatchedFolder):
    def is_quiet(self) -> bool:
        return False


class _FolderEvents:
    """The process's one queue of events."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue: int = self._libc.inotify_init1(_NONBLOCKING)
        self._folders: dict[int, WeakSet[WatchedFolder]] = defaultdict(WeakSet)  # by number of the watch

    def watch(self, folder: Path) -> WatchedFolder:
        with self._lock:
            number = -1
            if self._queue >= 0 and self._process == os.getpid():  # after a fork both would read one queue
                number = self._libc.inotify_add_watch(self._queue, os.fsencode(folder), _ASKED)
            if number < 0:
                return _NeverQuiet()
            watched = WatchedFolder()
            self._folders[number].add(watched)
            return watched

    def gather(self) -> None:
        with self._lock:
            while data := self._read():
                at = 0
                while at < len(data):
                    number, mask, _, length = _EVENT.unpack_from(data, at)
                    at += _EVENT.size + length
                    self._happened(number, mask)

    def _read(self) -> bytes:
        if self._queue < 0:
            return b""
        if self._process != os.getpid():
            self._stir_all()
            return b""
        try:
            return os.read(self._queue, _BUFFER)
        except BlockingIOError:
            return b""

    def _happened(self, number: int, mask: int) -> None:
        if mask & _OVERFLOW:
            self._stir_all()
            return
        watching = self._folders[number]
        for each in watching:
            each.stir()
        if mask & _IGNORED or not watching:
            del self._folders[number]
            if not mask & _IGNORED:
                self._libc.inotify_rm_watch(self._queue, number)

    def _stir_all(self) -> None:
        for watching in self._folders.values():
            for each in watching:
                each.stir()


@cache
def _events() -> _FolderEvents:
    return _FolderEvents()


def watch_folder(folder: Path) -> WatchedFolder:
    return _events().watch(folder) if sys.platform == "linux" else _NeverQuiet()


def gather_events() -> None:
    """Read what happened; after it `is_quiet` of every watched folder counts."""
    if sys.platform == "linux":
        _events().gather()
