"""The changes that a process makes to files below a root: recorded, or at one of them a fault (`system_calls.c`)."""

from __future__ import annotations

import ctypes
import errno
import functools
import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("system_calls.c")
NO_COMPILER = "no C compiler: kills inside system calls and replayed crash states need one"
KINDS = ["create", "write", "truncate", "rename", "exchange", "link", "unlink", "mkdir", "rmdir", "sync", "mark"]
FAULTS = {"kill": -1, "torn": -2, "short": -3, "EIO": errno.EIO, "ENOSPC": errno.ENOSPC}
_HEAD = struct.Struct("=IIIIQQ")


@functools.cache
def library() -> Path | None:
    """The compiled layer, built once per version of its source; None: this machine has no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    built = Path(tempfile.gettempdir()) / f"lithos-system-calls-{os.getuid()}-{digest}.so"
    if not built.exists():
        fresh = built.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", fresh, SOURCE, "-ldl"], check=True)
        fresh.replace(built)
    return built


def preloaded() -> dict[str, str]:
    """The environment of a process that runs on the layer."""
    found = library()
    assert found is not None, NO_COMPILER
    return {**os.environ, "LD_PRELOAD": str(found)}


class SystemCalls:
    """The layer of this process, which was started with `preloaded()`."""

    def __init__(self, root: Path) -> None:
        self._layer = ctypes.CDLL(None)
        self._layer.torture_root(os.fsencode(root))

    @staticmethod
    def loaded() -> bool:
        return hasattr(ctypes.CDLL(None), "torture_root")

    def fault_at(self, change: int, kind: str, containing: str, log: Path) -> None:
        """At the n-th change of a path that contains this; `log` says where it was."""
        self._layer.torture_fault(ctypes.c_long(change), FAULTS[kind], containing.encode(), os.fsencode(log))

    def record(self, path: Path) -> None:
        self._layer.torture_record(os.fsencode(path))

    def mark(self, text: str) -> None:
        """Between two changes: what the program knows at this moment."""
        self._layer.torture_mark(text.encode())


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    path: str
    other: str
    offset: int
    data: bytes


def read_record(path: Path) -> Iterator[Change]:
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, first, second, _, offset, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name, other = data[at : at + first], data[at + first : at + first + second]
        at += first + second
        yield Change(KINDS[kind - 1], _text(name), _text(other), offset, data[at : at + size])
        at += size


def _text(name: bytes) -> str:
    return os.fsdecode(name)
