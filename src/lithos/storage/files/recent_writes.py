"""Recent writes by version: an editor that still shows an older text may save over it."""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
from collections import OrderedDict
from pathlib import Path

from lithos.core.canonical import sha256_hex, version_of
from lithos.errors import Damaged
from lithos.storage.files.durable import clear_place, open_file, read_file

LARGEST = 64 * 2**20  # bytes: the last text of some 30,000 notes. Of more, the oldest are not held
SLACK = 8 * 2**20  # bytes of dropped texts before the file is rewritten
_HEAD = re.compile(rb"([0-9a-f]{64}) ([0-9]{1,12})\n")
_log = logging.getLogger(__name__)


class RecentWrites:
    """The oldest go first. One file that grows: making a file for each would cost as much as making the note's own.

    Not flushed: what is here outlives the host, but of the last seconds before a power cut it may not be whole, and is
    then not given out.
    """

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self._path = path
        self._largest = largest
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[int, int]] | None = None  # name → where, how many bytes; the oldest first
        self._size = 0  # bytes that are held
        self._end = 0  # of the file

    def add(self, data: bytes) -> None:
        if len(data) > self._largest:
            return
        try:
            with self._lock:
                self._loaded()
                self._append(_head(data), data)
                if self._end > 2 * max(self._size, min(SLACK, self._largest)):
                    self._write_anew()
        except OSError as error:  # the file itself is written: a second safety is no reason to fail
            _log.warning("what was written is not held for a while: %s", error)

    def drop(self, version: str) -> None:
        with self._lock:
            self._drop(version.partition(":")[2])

    def find(self, version: str) -> bytes | None:
        """The bytes. They stay held: the same file may be moved first and overwritten later."""
        name = version.partition(":")[2]
        with self._lock:
            if name not in self._loaded():
                return None
            data = self._read(*self._loaded()[name])
        return data if version_of(data) == version else None

    def _read(self, start: int, size: int) -> bytes:
        try:
            with os.fdopen(open_file(self._path), "rb") as file:
                file.seek(start)
                return file.read(size)
        except (OSError, Damaged):
            return b""

    def _append(self, head: bytes, data: bytes) -> None:
        if not self._end:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        clear_place(self._path)
        file = open_file(self._path, os.O_WRONLY | os.O_CREAT)
        try:
            if os.pwritev(file, [head, data], self._end) < len(head) + len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
        self._hold(head[:64].decode(), self._end + len(head), len(data))

    def _hold(self, name: str, start: int, size: int) -> None:
        self._drop(name)
        held = self._loaded()
        held[name] = (start, size)
        self._size += size
        self._end = start + size
        while self._size > self._largest:
            self._drop(next(iter(held)))

    def _drop(self, name: str) -> None:
        self._size -= self._loaded().pop(name, (0, 0))[1]

    def _write_anew(self) -> None:
        """Without what was dropped."""
        content = _content(self._path)
        kept = [content[start : start + size] for start, size in self._loaded().values()]
        fresh = b"".join(part for data in kept for part in (_head(data), data))
        unfinished = self._path.with_name(f"{self._path.name}.part")
        unfinished.write_bytes(fresh)
        unfinished.replace(self._path)
        self._load(fresh)

    def _loaded(self) -> OrderedDict[str, tuple[int, int]]:
        if self._held is None:
            self._load(_content(self._path))
        assert self._held is not None
        return self._held

    def _load(self, content: bytes) -> None:
        """Up to where a kill or a power cut broke it off; what comes next is written there."""
        self._held, self._size, self._end = OrderedDict(), 0, 0
        while (head := _HEAD.match(content, self._end)) and head.end() + int(head[2]) <= len(content):
            self._hold(head[1].decode(), head.end(), int(head[2]))


def _head(data: bytes) -> bytes:
    return f"{sha256_hex(data)} {len(data)}\n".encode()


def _content(path: Path) -> bytes:
    try:
        return read_file(path)
    except (FileNotFoundError, NotADirectoryError, Damaged):
        return b""
