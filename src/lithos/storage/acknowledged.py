"""How much was acknowledged: evidence for the next opening after the host was killed.

Sixteen bytes, overwritten in place after every flush and never flushed themselves: they survive the process, not the
machine. What is flushed (a chain's checkpoints, a database's log) covers a power loss.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from lithos.errors import Damaged
from lithos.storage.files.durable import clear_place, open_file, read_file

_FORM = struct.Struct("<QQ")  # the count and its complement, which detects damage
_ALL = 2**64 - 1


class Mark:
    def __init__(self, path: Path) -> None:
        """Nothing is touched before `set`: where something is damaged, the old mark is evidence."""
        self._path = path
        self._file = -1

    def set(self, count: int) -> None:
        if self._file < 0:
            clear_place(self._path)
            self._file = open_file(self._path, os.O_WRONLY | os.O_CREAT)
        os.pwrite(self._file, _FORM.pack(count, _ALL - count), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    __del__ = close  # a caller may use it once more after its owner was closed


def marked(path: Path) -> int:
    """0 where there is no count, or a damaged one."""
    try:
        data = read_file(path)
    except (OSError, Damaged):
        return 0
    count, complement = _FORM.unpack(data) if len(data) == _FORM.size else (0, 0)
    return int(count) if count == _ALL - complement else 0
