"""The suite of tests/flows/test_skills.py on PostgreSQL."""

from __future__ import annotations

from tests.flows.test_skills import *  # noqa: F403 the suite itself
