"""A control group for one run: the kernel refuses more processes and more memory than its limits.

A watch that counts cannot do this: a fork bomb starves it, and memory can be taken faster than it looks. RLIMIT_NPROC
binds everyone but root.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from lithos.workshop.values import MB, RunLimits

ROOM = 4  # above the limit of a run: its own processes, and one that shows the watch that it was reached
MEMORY_ROOM = 64 * MB  # the watch, which counts what processes hold, says first that the limit was reached
ROUNDS = 50  # looks at the members until none is left; each kills what was forked since the last one


class RunGroup:
    """Groups below the host's own in the hierarchies that count: v2 where delegated; of v1, processes alone."""

    def __init__(self, folders: Sequence[str], limited: frozenset[str]) -> None:
        self._folders = folders
        self.limited = limited  # the controllers whose limit the kernel took

    def add(self, pid: int) -> None:
        """Its children are born in the groups."""
        for folder in self._folders:
            with open(f"{folder}/cgroup.procs", "wb", buffering=0) as file:
                file.write(str(pid).encode())

    def limits_processes(self) -> bool:
        """Whether the kernel will: by this group, by that of the host, or, for all users but root, by RLIMIT_NPROC."""
        return "pids" in self.limited or os.geteuid() != 0 or _inherited_limit()

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the run for its memory."""
        for folder in self._folders:
            with suppress(OSError), open(f"{folder}/memory.events") as file:
                facts = dict(line.split() for line in file)
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
                os.rmdir(folder)  # noqa: PTH106

    def members(self) -> list[int]:
        found: set[int] = set()
        for folder in self._folders:
            with suppress(OSError), open(f"{folder}/cgroup.procs", "rb") as file:
                found.update(map(int, file.read().split()))
        return sorted(found)


def run_group(limits: RunLimits) -> RunGroup:
    """With those limits that this machine and user allow; without any, it is empty."""
    return _make_group(limits, _counting(_own_groups()))


def _make_group(limits: RunLimits, parents: Iterable[str]) -> RunGroup:
    folders: list[str] = []
    limited: set[str] = set()
    name = f"lithos-run-{os.getpid()}-{secrets.token_hex(4)}"
    for parent in parents:
        folder = f"{parent}/{name}"
        try:
            os.mkdir(folder)  # noqa: PTH102 - here and below strings: Path costs a third of a short run
        except OSError:
            continue
        taken = set(_set_limits(folder, limits)) - limited
        if taken:
            folders.append(folder)
            limited |= taken
        else:
            with suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106
    return RunGroup(folders, frozenset(limited))


def _set_limits(folder: str, limits: RunLimits) -> Iterator[str]:
    """The controllers whose limit was taken."""
    memory = limits.memory_bytes + MEMORY_ROOM
    files = (
        ("pids", "pids.max", limits.processes + ROOM),
        ("memory", "memory.max", memory),
        ("", "memory.swap.max", 0),
    )
    for controller, name, value in files:
        with suppress(OSError), open(f"{folder}/{name}", "r+b", buffering=0) as file:
            file.write(str(value).encode())
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
    for folder in _hierarchies(_own_groups()):
        for each in (folder, *folder.parents):
            with suppress(OSError, ValueError):
                int((each / "pids.max").read_text())  # "max" is none
                return True
    return False


@cache
def _counting(groups: str) -> tuple[str, ...]:
    """Folders below which we may make groups whose limits the kernel takes; tried once, as long as we stay in ours.

    Groups of hosts that were killed are removed on the way."""
    found: list[str] = []
    limited: set[str] = set()
    for parent in dict.fromkeys(_hierarchies(groups)):
        _remove_stale(parent)
        probe = _make_group(RunLimits(), [str(parent)])
        probe.close()
        if probe.limited - limited:
            found.append(str(parent))
            limited |= probe.limited
    return tuple(found)


def _remove_stale(parent: Path) -> None:
    """One that still has a process stays."""
    for folder in parent.glob("lithos-run-*"):
        if not Path("/proc", folder.name.split("-")[2]).exists():
            with suppress(OSError):
                folder.rmdir()


def _hierarchies(groups: str) -> Iterator[Path]:
    """Folders of this process's own groups that can count processes."""
    own: dict[str, str] = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return
    for _, place, kind, options, *_ in mounts:
        if kind == "cgroup2" and "" in own:
            yield Path(place) / own[""].lstrip("/")
        if kind == "cgroup" and "pids" in options.split(",") and "pids" in own:
            yield Path(place) / own["pids"].lstrip("/")


def _own_groups() -> str:
    try:
        with open("/proc/self/cgroup") as file:
            return file.read()
    except OSError:
        return ""
