"""How many thoughts were acknowledged: evidence for the next opening after the host was killed.

Sixteen bytes, overwritten in place after every flush and never flushed themselves: they survive the process, not the
machine. The checkpoints, which are flushed, cover a power loss.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

NAME = "acknowledged.bin"
_FORM = struct.Struct("<QQ")  # the count and its complement, which detects damage
_ALL = 2**64 - 1


class Mark:
    def __init__(self, folder: Path) -> None:
        """Nothing is touched before `set`: in a damaged chain the old mark is evidence."""
        self._path = folder / NAME
        self._file = -1

    def set(self, count: int) -> None:
        if self._file < 0:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._file, _FORM.pack(count, _ALL - count), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    __del__ = close  # a caller may use it once more after the chain was closed


def marked(folder: Path) -> int:
    """0 where there is no count, or a damaged one: then only the checkpoints say how many there were."""
    try:
        data = (folder / NAME).read_bytes()
    except OSError:
        return 0
    count, complement = _FORM.unpack(data) if len(data) == _FORM.size else (0, 0)
    return int(count) if count == _ALL - complement else 0
