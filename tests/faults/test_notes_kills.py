"""A process that dies at any step of a change leaves it whole or undone, never half; a retry makes no second note."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support import fork_server
from tests.support.notes_kills import OPERATIONS

REPOSITORY = Path(__file__).parent.parent.parent


# A move rewrites another note and moves its own: with a creation, every kind of step is in these two.
QUICK = ("create", "move")
CASES = [pytest.param(each, marks=() if each in QUICK else pytest.mark.torture) for each in OPERATIONS]


@pytest.mark.parametrize("operation", CASES)
def test_a_kill_at_every_step_leaves_the_change_whole_or_undone(operation: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.notes_kills", operation, str(tmp_path)]
    ended = fork_server.run(command, cwd=REPOSITORY, timeout=150)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert int(ended.stdout) >= 8
