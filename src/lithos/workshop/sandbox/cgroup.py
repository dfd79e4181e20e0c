"""A control group for one run: the kernel refuses more processes and more memory than its limits.

A watch that counts cannot do this: a fork bomb starves it, and memory can be taken faster than it looks. RLIMIT_NPROC
binds everyone but root.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from lithos.workshop.values import MB, RunLimits

ROOM = 4  # above the limit of a run: its own processes, and one that shows the watch that it was reached
MEMORY_ROOM = 64 * MB  # the watch, which counts what processes hold, says first that the limit was reached
ROUNDS = 50  # looks at the members until none is left; each kills what was forked since the last one


class RunGroup:
    """Groups below the host's own in the hierarchies that count: v2 where delegated; of v1, processes alone."""

    def __init__(self, folders: Sequence[Path], limited: frozenset[str]) -> None:
        self._folders = folders
        self.limited = limited  # the controllers whose limit the kernel took

    def add(self, pid: int) -> None:
        """Its children are born in the groups."""
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def limits_processes(self) -> bool:
        """Whether the kernel will: by this group, by that of the host, or, for all users but root, by RLIMIT_NPROC."""
        return "pids" in self.limited or os.geteuid() != 0 or _inherited_limit()

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the run for its memory."""
        for folder in self._folders:
            with suppress(OSError):
                facts = dict(line.split() for line in (folder / "memory.events").read_text().splitlines())
                if int(facts.get("oom_kill", 0)):
                    return True
        return False

    def close(self) -> None:
        """Kill what is left, then remove the groups."""
        for _ in range(ROUNDS):
            members = self.members()
            if not members:
                break
            for pid in members:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for folder in self._folders:
            with suppress(OSError):  # an empty group that stays costs nothing
                folder.rmdir()

    def members(self) -> list[int]:
        found: set[int] = set()
        for folder in self._folders:
            with suppress(OSError):
                found.update(map(int, (folder / "cgroup.procs").read_text().split()))
        return sorted(found)


def run_group(limits: RunLimits) -> RunGroup:
    """With those limits that this machine and user allow; without any, it is empty."""
    folders: list[Path] = []
    limited: set[str] = set()
    name = f"lithos-run-{os.getpid()}-{secrets.token_hex(4)}"
    for parent in dict.fromkeys(_hierarchies()):
        folder = parent / name
        try:
            folder.mkdir()
        except OSError:
            continue
        _remove_stale(parent)
        taken = set(_set_limits(folder, limits)) - limited
        if taken:
            folders.append(folder)
            limited |= taken
        else:
            with suppress(OSError):
                folder.rmdir()
    return RunGroup(folders, frozenset(limited))


def _set_limits(folder: Path, limits: RunLimits) -> Iterator[str]:
    """The controllers whose limit was taken."""
    memory = limits.memory_bytes + MEMORY_ROOM
    files = (
        ("pids", "pids.max", limits.processes + ROOM),
        ("memory", "memory.max", memory),
        ("", "memory.swap.max", 0),
    )
    for controller, name, value in files:
        if (folder / name).exists():
            with suppress(OSError):
                (folder / name).write_text(str(value))
                if controller:
                    yield controller


@cache
def processes_limited() -> bool:
    """Whether the kernel can limit the processes of a run here; tried once. A fork bomb starves a watch."""
    group = run_group(RunLimits())
    group.close()
    return group.limits_processes()


def _inherited_limit() -> bool:
    """Whether the host's own group, as that of a container, already has a limit of processes."""
    for folder in _hierarchies():
        for each in (folder, *folder.parents):
            with suppress(OSError, ValueError):
                int((each / "pids.max").read_text())  # "max" is none
                return True
    return False


def _remove_stale(parent: Path) -> None:
    """Groups of hosts that were killed; one that still has a process stays."""
    for folder in parent.glob("lithos-run-*"):
        if not Path("/proc", folder.name.split("-")[2]).exists():
            with suppress(OSError):
                folder.rmdir()


def _hierarchies() -> Iterator[Path]:
    """Folders of this process's own groups that can count processes."""
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
