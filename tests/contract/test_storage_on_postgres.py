"""Once, events and effects on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from tests.unit.test_effects_commit import *  # noqa: F403 the suite itself
from tests.unit.test_events import *  # noqa: F403
