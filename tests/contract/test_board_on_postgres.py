"""The board on PostgreSQL: the very tests that run on SQLite."""

from __future__ import annotations

from tests.flows.test_board import *  # noqa: F403 the suite itself

# Half a minute together; `make torture` runs them.
del test_a_thousand_paused_holders_wake_up_and_none_is_accepted  # noqa: F821
del test_ten_thousand_duplicates_have_one_effect_each  # noqa: F821
