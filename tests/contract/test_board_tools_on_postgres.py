"""The board's tools on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from tests.flows.test_board_tools import *  # noqa: F403 the suite itself

del test_wrong_types_and_values_are_tool_errors  # noqa: F821 refused before the database is asked
