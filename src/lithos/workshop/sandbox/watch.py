"""Watch: memory, processes and disk of a run while it runs. RLIMIT_AS is no substitute: it breaks node and Go."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from lithos.workshop.values import MB, KilledBy, RunLimits

_PAGE = os.sysconf("SC_PAGE_SIZE")
FIRST_DISK_LOOK_S = 1.0
DISK_SHARE = 20  # a look at the disk may take a twentieth of the time
MEMORY_SHARE = 20
LEAST_FILE = 512  # bytes that an empty file takes
RESERVE_BYTES, RESERVE_FILES = 512 * MB, 20_000  # of a file system, that no run takes


class Watch:
    """Judges one run by its processes, the files that they hold open, and the files that changed since it began."""

    def __init__(self, root_pid: int, limits: RunLimits, folders: Sequence[Path]) -> None:
        self._root = root_pid
        self._limits = limits
        self._folders = folders
        self._since = time.time() - 1  # file systems round times down
        self._next_disk = time.monotonic() + FIRST_DISK_LOOK_S
        self._next_memory = 0.0
        by_device = {each.stat().st_dev: str(each) for each in folders}
        self._devices = by_device.keys()
        self._least_room = {each: _least_room(each) for each in by_device.values()}

    def exceeded(self) -> KilledBy | None:
        now = time.monotonic()
        if any(_lacks_room(_room(each), least) for each, least in self._least_room.items()):
            return "disk"
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
        resident: dict[int, int] = {}
        nameless: dict[tuple[int, int], int] = {}
        for count, pid in enumerate(tree(self._root), 1):
            if count > self._limits.processes + 2:  # two are bubblewrap's
                return "processes"
            resident[pid] = _resident(pid)
            nameless |= _nameless(pid)
        on_disk = sum(size for (device, _), size in nameless.items() if device in self._devices)
        in_memory = sum(nameless.values()) - on_disk
        if on_disk > self._limits.disk_bytes:
            return "disk"
        most = self._limits.memory_bytes
        return "memory" if in_memory > most or _exceeds(resident, most) else None


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


def _exceeds(resident: Mapping[int, int], most: int) -> bool:
    """Whether processes take more memory together. Pages that forks share count once, but only the share of each
    process (`smaps_rollup`) says which they are: 4 ms for 150 MB, asked only where the cheap sum is too high."""
    if sum(resident.values()) <= most:
        return False
    total = 0
    for pid, size in resident.items():
        share = _share(pid)
        total += size if share is None else share
        if total > most:
            return True
    return False


def _share(pid: int) -> int | None:
    """Resident bytes, each page divided by the processes that hold it. None: it may not be read."""
    with suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return None


def _nameless(pid: int) -> dict[tuple[int, int], int]:
    """(device, inode) → bytes of open files that were deleted, or that `memfd_create` made: no folder shows them."""
    found = {}
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - polled
            with suppress(OSError):
                facts = os.stat(f"/proc/{pid}/fd/{number}")  # noqa: PTH116
                if facts.st_nlink == 0 and stat.S_ISREG(facts.st_mode):
                    found[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return found


def _room(folder: str) -> tuple[int, int]:
    """Bytes and files that its file system still takes."""
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize, facts.f_favail


def _least_room(folder: str) -> tuple[int, int]:
    """A run that hides its files from the count must not fill the disk either."""
    size, files = _room(folder)
    return min(RESERVE_BYTES, size // 2), min(RESERVE_FILES, files // 2)


def _lacks_room(room: tuple[int, int], least: tuple[int, int]) -> bool:
    return room[0] < least[0] or room[1] < least[1]


def changed_bytes(folder: Path, since: float, enough: int) -> int:
    """Bytes on disk of files and folders that changed after `since`; counting stops above `enough`."""
    total, pending = 0, [str(folder)]
    while pending and total <= enough:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    with suppress(OSError):
                        facts = entry.stat(follow_symlinks=False)
                        if facts.st_ctime >= since:
                            total += max(facts.st_blocks * 512, LEAST_FILE)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # only who hides files goes so deep
                return enough + 1
    return total
