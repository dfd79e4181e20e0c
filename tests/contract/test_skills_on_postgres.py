"""The suite of tests/flows/test_skills.py on PostgreSQL."""

from __future__ import annotations

from tests.flows.test_skills import *  # noqa: F403 the suite itself

del test_bad_input_is_refused_and_changes_nothing  # noqa: F821 refused before the database is asked
