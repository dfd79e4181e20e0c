"""The suite of tests/flows/test_events_tools.py on PostgreSQL."""

from __future__ import annotations

from tests.flows.test_events_tools import *  # noqa: F403 the suite itself
