"""Move something damaged out of the way. One copy of each is kept for a look at it; the next one replaces it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def quarantine(path: Path, aside: Path) -> bool:
    """Rename whatever bears the name `path` (file, folder, FIFO, link) to `aside`. False: nothing was there."""
    discard(aside)
    try:
        os.rename(path, aside)  # noqa: PTH104 - Path.rename would say the same, and os.rename names what it does
    except FileNotFoundError:
        return False
    return True


def discard(path: Path) -> None:
    """Delete whatever bears the name; nothing there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
