"""Changes of files with their rows on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from tests.faults.test_saga_faults import *  # noqa: F403 the suite itself
