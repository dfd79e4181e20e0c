"""Memory that a bulk load leaves behind. glibc's ways, on Linux; elsewhere there is little to do."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # names of malloc.h
LARGE = 2 * 1024 * 1024  # more than a question takes at once: what one frees the next uses, without asking the system
KEPT = 8 * 1024 * 1024


@cache
def free_large_blocks_at_once() -> None:
    """Left to itself glibc learns from each large block to keep the next one, for each thread: 70 MB after a first
    index of 10,000 notes."""
    _call("mallopt", _MMAP_THRESHOLD, LARGE)
    _call("mallopt", _TRIM_THRESHOLD, KEPT)
    _call("mallopt", _ARENA_MAX, 2)


def collect_garbage_rarely() -> None:
    """Python looks for cycles each 700 objects. Indexing makes millions, and hardly one is in a cycle: the search took
    a seventh of the CPU of a first index of 60,000 symbols."""
    gc.set_threshold(50_000, 20, 20)


def give_back_memory() -> None:
    """Hand what was freed back to the system: glibc keeps some 45 MB per host in holes between what is in use."""
    _call("malloc_trim", 0)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _call(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        function = getattr(_libc(), name, None)  # musl has neither, and keeps little
        if function is not None:
            function(*arguments)
