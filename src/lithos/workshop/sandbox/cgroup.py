"""A control group for one run: the kernel refuses more processes than its limit.

A watch that counts cannot do this: a fork bomb starves it. RLIMIT_NPROC binds everyone but root.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOM = 4  # above the limit of a run: its own processes, and one that shows the watch that it was reached
ROUNDS = 50  # looks at the members until none is left; each kills what was forked since the last one


class ProcessGroup:
    """Made below the host's own group in the hierarchy that counts processes: v2 where delegated, else v1."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        (folder / "pids.max").write_text(str(most + ROOM))

    def add(self, pid: int) -> None:
        """Its children are born in the group."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    def close(self) -> None:
        """Kill what is left, then remove the group."""
        for _ in range(ROUNDS):
            members = self._members()
            if not members:
                break
            for pid in members:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with suppress(OSError):  # an empty group that stays costs nothing
            self._folder.rmdir()

    def _members(self) -> list[int]:
        try:
            return [int(each) for each in (self._folder / "cgroup.procs").read_text().split()]
        except OSError:
            return []


def process_group(most: int) -> ProcessGroup | None:
    """None where this machine or user may not make one."""
    for parent in _hierarchies():
        folder = parent / f"lithos-run-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        _remove_stale(parent)
        try:
            return ProcessGroup(folder, most)
        except OSError:
            with suppress(OSError):
                folder.rmdir()
    return None


def _remove_stale(parent: Path) -> None:
    """Groups of hosts that were killed; one that still has a process stays."""
    for folder in parent.glob("lithos-run-*"):
        if not Path("/proc", folder.name.split("-")[2]).exists():
            with suppress(OSError):
                folder.rmdir()


def _hierarchies() -> Iterator[Path]:
    """Folders of this process's own group that can count processes."""
    try:
        own = dict(_own_groups())
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return
    for _, place, kind, options, *_ in mounts:
        if kind == "cgroup2" and "" in own:
            yield Path(place) / own[""].lstrip("/")
        if kind == "cgroup" and "pids" in options.split(",") and "pids" in own:
            yield Path(place) / own["pids"].lstrip("/")


def _own_groups() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            yield name, path
