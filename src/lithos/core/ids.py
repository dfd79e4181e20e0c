"""Identifiers: UUID for notes, sortable UUIDv7 for tasks, findings and thoughts, ULID for events."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from typing import Protocol

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_SHIFTS = tuple(range(125, -5, -5))  # of the 26 letters of a ULID


class Ids(Protocol):
    def note(self) -> str: ...

    def sortable(self) -> str: ...

    def event(self) -> str: ...


class RandomIds:
    """Ids of one process sort in the order of the calls, also within a millisecond and when the clock is set back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def note(self) -> str:
        return str(uuid.uuid4())

    def sortable(self) -> str:
        return _uuid7(*self._next())

    def event(self) -> str:
        return _ulid(*self._next())

    def _next(self) -> tuple[int, bytes]:
        """Milliseconds and noise, which begins with the 4,096th of the millisecond (RFC 9562, 6.2, method 3)."""
        now = time.time_ns() * 4096 // 1_000_000
        with self._lock:
            self._last = now = max(now, self._last + 1)
        return now >> 12, (now & 4095).to_bytes(2, "big") + os.urandom(8)


class SeededIds:
    """For tests: the same sequence for the same seed, sortable by the order of the calls."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._tick = 1_767_225_600_000

    def note(self) -> str:
        return str(uuid.UUID(bytes=self._random.randbytes(16), version=4))

    def sortable(self) -> str:
        self._tick += 1
        return _uuid7(self._tick, self._random.randbytes(10))

    def event(self) -> str:
        self._tick += 1
        return _ulid(self._tick, self._random.randbytes(10))


def is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _uuid7(milliseconds: int, noise: bytes) -> str:
    value = (milliseconds & ((1 << 48) - 1)) << 80 | int.from_bytes(noise, "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"  # a tenth of what uuid.UUID takes
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _ulid(milliseconds: int, noise: bytes) -> str:
    value = milliseconds << 80 | int.from_bytes(noise, "big")
    return "".join([_CROCKFORD[(value >> shift) & 31] for shift in _SHIFTS])
