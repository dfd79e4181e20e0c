"""What was freed goes back to the system."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from lithos.search import give_back_memory

SIZE, NUMBER = 16_000, 4_000  # 64 MB in blocks that malloc takes from its heap


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone keeps that much")
def test_holes_between_used_blocks_are_given_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(SIZE) for _ in range(NUMBER)]
    for block in blocks:
        ctypes.memset(block, 1, SIZE)
    for block in blocks[::2]:  # the others keep the end of the heap in use
        libc.free(block)
    full = resident_mb()
    give_back_memory()
    assert resident_mb() < full - 10
    for block in blocks[1::2]:
        libc.free(block)
