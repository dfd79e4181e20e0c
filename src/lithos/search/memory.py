"""Memory that a bulk load leaves behind."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Hand what was freed back to the system: glibc keeps some 45 MB per host for threads that no longer need them."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none, and keeps little
        if trim is not None:
            trim(0)
