"""The control group of a run: the kernel refuses processes above its limit, and closing it kills what is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lithos.workshop.sandbox.cgroup import ROOM, RunGroup, run_group
from lithos.workshop.values import RunLimits
from tests.support.waiting import until

FORK = """
import os, sys, time
sys.stdin.readline()
made = 0
try:
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(600)
        made += 1
except BlockingIOError:
    pass
print(made, flush=True)
time.sleep(600)
"""


def test_the_kernel_refuses_processes_above_the_limit_and_closing_ends_them() -> None:
    group = run_group(RunLimits(processes=8))
    if "pids" not in group.limited:
        pytest.skip("this user may not make a control group here")
    with subprocess.Popen([sys.executable, "-c", FORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        group.add(process.pid)
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert int(process.stdout.readline()) == 8 + ROOM - 1
        group.close()
        assert process.wait(30) != 0
    until(lambda: not group.members(), "an empty group")
    group.close()
    assert not any(Path(each).exists() for each in group._folders)


def test_a_group_whose_process_the_kernel_killed_for_memory_says_so(tmp_path: Path) -> None:
    """The file of version 2, as the kernel writes it: no machine of the suite need have that version."""
    group = RunGroup([str(tmp_path)], frozenset({"memory"}))
    assert not group.out_of_memory()
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n")
    assert not group.out_of_memory()
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\n")
    assert group.out_of_memory()
