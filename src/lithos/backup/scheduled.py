"""Backups that the host makes by itself."""

from __future__ import annotations

import time
from pathlib import Path

from lithos.backup.make import SUFFIX, MemoryPlaces, default_name, make_backup


def backup_if_due(places: MemoryPlaces, folder: Path, every_hours: float, keep: int) -> Path | None:
    """Make one when the newest is older than that; then remove the oldest beyond `keep`.

    The age of the files decides, not the age of this process: hosts come and go.
    """
    found = sorted(folder.glob(f"*{SUFFIX}"))
    if found and time.time() - found[-1].stat().st_mtime < every_hours * 3600:
        return None
    target = folder / default_name()
    make_backup(places, target)
    for path in sorted(folder.glob(f"*{SUFFIX}"))[:-keep]:
        path.unlink(missing_ok=True)
    return target
