"""The control group of a run: the kernel refuses processes above its limit, and closing it kills what is left."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lithos.workshop.sandbox.cgroup import ROOM, process_group
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
    group = process_group(8)
    if group is None:
        pytest.skip("this user may not make a control group here")
    with subprocess.Popen([sys.executable, "-c", FORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        group.add(process.pid)
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert int(process.stdout.readline()) == 8 + ROOM - 1
        group.close()
        assert process.wait(30) != 0
    until(lambda: not group._members(), "an empty group")
    group.close()
    assert not group._folder.exists()
