"""Recent: what was written lately, in case an editor that still shows an older text saves over it."""

from __future__ import annotations

from collections import OrderedDict

from lithos.core.canonical import version_of

LARGEST = 8 * 2**20  # bytes; several thousand notes, and little beside the rest of a host


class Recent:
    """Bytes by version, the oldest dropped first. Memory only: what is replaced through us is kept on disk anyway."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._size = 0
        self._data: OrderedDict[str, bytes] = OrderedDict()

    def add(self, data: bytes) -> None:
        version = version_of(data)
        self.take(version)
        self._data[version] = data
        self._size += len(data)
        while self._size > self._largest:
            _, oldest = self._data.popitem(last=False)
            self._size -= len(oldest)

    def take(self, version: str) -> bytes | None:
        """The bytes, which are then no longer held."""
        data = self._data.pop(version, None)
        self._size -= len(data or b"")
        return data
