"""The board's tools on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from tests.flows.test_board_tools import *  # noqa: F403 the suite itself
