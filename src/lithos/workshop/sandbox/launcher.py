"""Launcher: the process between the host and a command where namespaces are forbidden. Standard library only.

    python -I -S launcher.py LIFE START SPEC

When START, another pipe, is closed (the host has put us into a control group), it starts the command behind Landlock.
It adopts every process that the command leaves behind, and kills all of them when the command ends or when LIFE, a pipe
that the host holds open, is closed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

_ADOPT, _DIE_WITH_PARENT = 36, 1
_FAILED = 126


def main(life: int, start: int, spec: dict[str, Any]) -> int:
    """The exit code of the command; 128 and the signal's number where one ended it."""
    os.read(start, 1)
    os.close(start)
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_ADOPT, 1, 0, 0, 0)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.close(life)
        library.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        _become(spec)
    descriptor = os.pidfd_open(child)
    ready, _, _ = select.select([descriptor, life], [], [])
    if descriptor not in ready:
        _kill_all()
        return 128 + signal.SIGKILL
    _, status = os.waitpid(child, 0)
    _kill_all()
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _become(spec: dict[str, Any]) -> None:
    """Take the limits and walls, then become the command."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import landlock  # type: ignore[import-not-found]

        os.setsid()
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        for name, value in spec["limits"].items():
            resource.setrlimit(getattr(resource, name), (value, value))
        if spec["landlock"]:
            landlock.restrict([*spec["readable"], f"/proc/{os.getpid()}"], spec["writable"], tcp=spec["tcp"])
            landlock.drop_capabilities()
        landlock.forbid_new_privileges()
        if spec["seccomp"]:
            landlock.load_filter(bytes.fromhex(spec["seccomp"]))
        os.execve(spec["argv"][0], spec["argv"], spec["environment"])  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.stderr.write(f"the sandbox could not start: {error}\n")
        sys.stderr.flush()
    os._exit(_FAILED)


def _kill_all() -> None:
    """Everything that descends from us. Orphans become our children, so that the loop ends when there is none."""
    while True:
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def _descendants() -> list[int]:
    found, pending = [], [os.getpid()]
    while pending:
        pid = pending.pop()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - against a fork bomb, speed counts
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    children = [int(each) for each in file.read().split()]
                found += children
                pending += children
        except OSError:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])))
