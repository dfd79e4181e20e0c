"""Agents, tokens and the audit's tools on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from tests.flows.test_agents import *  # noqa: F403 the suite itself
from tests.flows.test_tokens import *  # noqa: F403
