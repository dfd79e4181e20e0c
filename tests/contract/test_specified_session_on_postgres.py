"""The suite of tests/flows/test_specified_session.py on PostgreSQL."""

from __future__ import annotations

from tests.flows.test_specified_session import *  # noqa: F403 the suite itself
