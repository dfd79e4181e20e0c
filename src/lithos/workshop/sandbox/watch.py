"""Watch: memory, processes and disk of a run while it runs. RLIMIT_AS is no substitute: it breaks node and Go."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from lithos.workshop.values import KilledBy, RunLimits

_PAGE = os.sysconf("SC_PAGE_SIZE")
FIRST_DISK_LOOK_S = 1.0
DISK_SHARE = 20  # a look at the disk may take a twentieth of the time
MEMORY_SHARE = 20


class Watch:
    """Judges one run by its process tree and by the files that changed since it began."""

    def __init__(self, root_pid: int, limits: RunLimits, folders: Sequence[Path]) -> None:
        self._root = root_pid
        self._limits = limits
        self._folders = folders
        self._since = time.time() - 1  # file systems round times down
        self._next_disk = time.monotonic() + FIRST_DISK_LOOK_S
        self._next_memory = 0.0

    def exceeded(self) -> KilledBy | None:
        now = time.monotonic()
        if now >= self._next_memory:
            verdict = self._processes()
            self._next_memory = time.monotonic() + MEMORY_SHARE * (time.monotonic() - now)
            if verdict is not None:
                return verdict
        if now >= self._next_disk:
            begun = time.monotonic()
            used = sum(changed_bytes(each, self._since, self._limits.disk_bytes) for each in self._folders)
            self._next_disk = time.monotonic() + max(FIRST_DISK_LOOK_S, DISK_SHARE * (time.monotonic() - begun))
            if used > self._limits.disk_bytes:
                return "disk"
        return None

    def _processes(self) -> KilledBy | None:
        resident = 0
        for count, pid in enumerate(tree(self._root), 1):
            if count > self._limits.processes + 2:  # two are bubblewrap's
                return "processes"
            resident += _resident(pid)
        return "memory" if resident > self._limits.memory_bytes else None


def tree(root_pid: int) -> Iterator[int]:
    """The process and all that descend from it; orphans hang below the namespace's first process."""
    pending = [root_pid]
    while pending:
        pid = pending.pop()
        yield pid
        with suppress(OSError):  # it ended meanwhile
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - polled: Path costs ten times as much
                with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    pending += map(int, file.read().split())


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def changed_bytes(folder: Path, since: float, enough: int) -> int:
    """Bytes on disk of files that changed after `since`; counting stops above `enough`."""
    total, pending = 0, [str(folder)]
    while pending and total <= enough:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    continue
                with suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    if facts.st_ctime >= since:
                        total += facts.st_blocks * 512
    return total
