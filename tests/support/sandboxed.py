"""Runs in the sandbox for tests: the walls of this machine, small limits, and a short way to run Python."""

from __future__ import annotations

import pytest

from lithos.workshop.sandbox import Command, Sandbox, bubblewrap
from lithos.workshop.sandbox.landlock import LEAST_ABI, landlock_abi
from lithos.workshop.values import MB, Completed, RunLimits, Worktree
from tests.support.attacks import PYTHON

WALLS = [
    pytest.param(
        "bubblewrap", marks=pytest.mark.skipif(not bubblewrap.bubblewrap_works(), reason="no user namespaces")
    ),
    pytest.param("landlock", marks=pytest.mark.skipif(landlock_abi() < LEAST_ABI, reason="no Landlock of ABI 3")),
]
LIMITS = RunLimits(seconds=60, output_bytes=MB, memory_bytes=300 * MB, processes=64, disk_bytes=50 * MB)


def run(
    place: Worktree, *argv: str, limits: RunLimits = LIMITS, network: bool = False, seconds: float = 60
) -> Completed:
    sandbox = Sandbox(place.path.parent / ".scratch", limits)
    return sandbox.run(place, Command(argv, place.path, seconds, network=network))


def python(place: Worktree, code: str, **more: object) -> Completed:
    return run(place, PYTHON, "-c", code, **more)  # type: ignore[arg-type]
