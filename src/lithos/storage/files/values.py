"""Values that `Root` returns, and its limits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class File:
    data: bytes
    version: str
    stat: os.stat_result


@dataclass(frozen=True, slots=True)
class Replaced:
    version: str
    old: bytes | None = None  # what was there before


Kind = Literal["file", "conflict", "link", "special", "unreadable", "name"]


class FileEntry(NamedTuple):
    """One thing that a scan met. Only `file` is to be served; every other kind says why not in `reason`."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    kind: Kind = "file"
    reason: str = ""
    ctime_ns: int = 0
    device: int = 0


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """One older version in the history, or one file in the trash; `kept` is its path beneath `.lithos/`."""

    kept: str
    path: str
    version: str
    at: str
    size: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much is kept; filled from the settings of the same names."""

    largest_file: int = 64 * 2**20
    grace_seconds: float = 5.0  # how long a replaced file is watched for a late write of an editor
    patience_seconds: float = 60.0  # at most, while another program still has it open
    history_versions: int = 50
    history_days: float = 90.0
    history_bytes: int = 2**30
    trash_days: float = 30.0
    trash_bytes: int = 2**30
