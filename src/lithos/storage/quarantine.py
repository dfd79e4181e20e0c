"""Move something damaged out of the way. One copy of each is kept for a look at it; the next one replaces it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

DERIVED = (".catalogue", ".graph", ".tantivy", ".vectors")


def move_links_aside(data_dir: Path) -> None:
    """Links to folders in place of derived folders: what they lead to is not ours to fill, or to close to others."""
    for name in DERIVED:
        for path in (data_dir / name, *(data_dir / name).glob("*")):
            if path.is_symlink() and path.is_dir():
                with contextlib.suppress(OSError):  # a read-only disk: nothing is written there either
                    quarantine(path, path.with_name(f"{path.name}.damaged"))


def quarantine(path: Path, aside: Path) -> bool:
    """Rename `path` (file, folder, FIFO or link) to `aside`. False: there is nothing of that name."""
    discard(aside)
    try:
        os.rename(path, aside)  # noqa: PTH104 - Path.rename would say the same, and os.rename names what it does
    except FileNotFoundError:
        return False
    return True


def derived_folder(path: Path) -> Path:
    """A folder for the owner's eyes alone, made if it is not there. Anything else of that name is moved aside."""
    try:
        mode = path.stat().st_mode
    except OSError:
        mode = 0
    if mode and not stat.S_ISDIR(mode):
        quarantine(path, path.with_name(f"{path.name}.damaged"))
    if not stat.S_ISDIR(mode):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(mode) != 0o700 and not path.is_symlink():  # a folder behind a link is not ours to close
        with contextlib.suppress(OSError):  # a read-only disk; one that an older version left open to others is closed
            path.chmod(0o700)
    return path


def discard(path: Path) -> None:
    """Delete the file, folder, FIFO or link of this name, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
