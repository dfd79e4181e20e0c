"""What was written lately, by version: an editor that still shows an older text may save over it."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from pathlib import Path

from lithos.core.canonical import sha256_hex, version_of

LARGEST = 8 * 2**20  # bytes; several thousand notes
_log = logging.getLogger(__name__)


class Recent:
    """The oldest go first. Not flushed, which would cost as much as the write itself: what is here outlives the host,
    but of the last seconds before a power cut it may not be whole, and is then not given out."""

    def __init__(self, folder: Path, largest: int = LARGEST) -> None:
        self._folder = folder
        self._largest = largest
        self._lock = threading.Lock()
        self._held: OrderedDict[str, int] | None = None  # name → bytes, the oldest first
        self._size = 0

    def add(self, data: bytes) -> None:
        name = sha256_hex(data)
        try:
            with self._lock:
                self._drop(name)
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                (self._folder / name).write_bytes(data)
                self._loaded()[name] = len(data)
                self._size += len(data)
                while self._size > self._largest:
                    self._drop(next(iter(self._loaded())))
        except OSError as error:  # the file itself is written: a second safety is no reason to fail
            _log.warning("what was written is not held for a while: %s", error)

    def drop(self, version: str) -> None:
        with self._lock:
            self._drop(version.partition(":")[2])

    def take(self, version: str) -> bytes | None:
        """The bytes, which are then no longer held."""
        name = version.partition(":")[2]
        with self._lock:
            if name not in self._loaded():
                return None
            try:
                data = (self._folder / name).read_bytes()
            except FileNotFoundError:
                return None
            finally:
                self._drop(name)
        return data if version_of(data) == version else None

    def _drop(self, name: str) -> None:
        size = self._loaded().pop(name, None)
        if size is not None:
            self._size -= size
            (self._folder / name).unlink(missing_ok=True)

    def _loaded(self) -> OrderedDict[str, int]:
        if self._held is None:
            files = self._folder.iterdir() if self._folder.is_dir() else ()
            found = sorted((file.stat().st_mtime_ns, file.name, file.stat().st_size) for file in files)
            self._held = OrderedDict((name, size) for _, name, size in found)
            self._size = sum(self._held.values())
        return self._held
