"""The suite of tests/flows/test_garden.py on PostgreSQL."""

from __future__ import annotations

from tests.flows.test_garden import *  # noqa: F403 the suite itself
