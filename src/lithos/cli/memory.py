"""Which folder a verb means, and whether there is a memory in it. Only verbs that write make one."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from lithos.errors import NotFound

# Either file says that a host has worked here; a folder of notes alone does not.
_MARKS = (".lithos/store-id", ".lithos/coordination.db")
OLD_DEFAULT = "data"  # `./data` was the default before `~/lithos`


def is_memory(folder: Path) -> bool:
    return any(os.path.lexists(folder / mark) for mark in _MARKS)


def is_own_memory(folder: Path) -> bool:
    """Whether this user's Lithos made it. A cloned repository may contain a folder that only looks like one."""
    try:
        found = os.lstat(folder / _MARKS[0])
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()


def no_memory(folder: Path, *, named: bool) -> NotFound:
    """The refusal of a verb that reads."""
    if not named and (older := offer()):
        return NotFound(f"there is no memory in {folder}", hint=older)
    first = "Check the path" if named else "`lithos setup` makes it and connects your clients"
    return NotFound(
        f"there is no memory in {folder}",
        hint=f"{first}; `lithos serve` and every verb that writes make a new one.",
    )


def offer() -> str | None:
    """How to go on with the memory that an older Lithos kept in `./data`."""
    older = Path.cwd() / OLD_DEFAULT
    if not is_own_memory(older):
        return None
    quoted = shlex.quote(str(older))
    return (
        f"{older} is a memory of yours: `export LITHOS_DATA_DIR={quoted}` or --data-dir uses it, "
        f"`mv {quoted} ~/lithos` makes it the default."
    )
