"""Reasons why a folder cannot be written: a read-only disk, a full one, or no permission."""

from __future__ import annotations

import os
from pathlib import Path

from lithos.errors import LithosError, ReadOnly, StorageFull

LEAST_FREE_BYTES = 4 * 1024 * 1024  # below this the reserve cannot be restored and the next write may fail
SMALLEST_ROOM = 256 * 1024  # an empty database with its log and its shared memory


def disk_problem(folder: Path) -> str | None:
    """One sentence without paths; None: it can be written, and there is room."""
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        return f"the data directory cannot be read: {error.strerror or error}"
    if not _may_write(folder, disk):
        return "the data directory is on a read-only disk, or may not be written: changes are refused"
    full = disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES
    return "the disk of the data directory is full: changes are refused" if full else None


def why_unwritable(folder: Path, name: str) -> LithosError | None:
    """After a write of `name` failed for a reason that the engine does not give; None: not for want of a disk."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    if not _may_write(folder, disk):
        return read_only(name)
    return storage_full(name) if disk.f_bavail * disk.f_frsize < SMALLEST_ROOM else None


def read_only(name: str) -> ReadOnly:
    return ReadOnly(
        f"{name} cannot be written: its disk or folder is read-only",
        hint="Reading goes on. Give the data directory write access, then call again.",
    )


def storage_full(name: str) -> StorageFull:
    return StorageFull(f"the disk that holds {name} is full", hint="Reading goes on. Free disk space, then call again.")


def _may_write(folder: Path, disk: os.statvfs_result) -> bool:
    return not disk.f_flag & os.ST_RDONLY and os.access(folder, os.W_OK)
