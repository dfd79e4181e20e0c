"""Waiting for the board on PostgreSQL, through LISTEN and NOTIFY: the very tests that run on SQLite."""

from __future__ import annotations

from tests.flows.test_board_waiting import *  # noqa: F403 the suite itself
