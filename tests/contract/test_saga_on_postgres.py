"""Changes of files with their rows on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from pathlib import Path

from tests.faults.test_saga_faults import *  # noqa: F403 the suite itself

settled_after_a_kill = test_a_killed_process_is_settled_at_the_next_start  # noqa: F405
del test_a_killed_process_is_settled_at_the_next_start  # noqa: F821 crashes at every step come to the same


def test_a_process_killed_in_its_last_commit_is_settled_at_the_next_start(tmp_path: Path) -> None:
    settled_after_a_kill(tmp_path, "commit.send", 2)
