"""The long tests of the board on PostgreSQL."""

from __future__ import annotations

import pytest

from tests.flows.test_board import (  # noqa: F401 fixtures and tests
    desk,
    test_a_thousand_paused_holders_wake_up_and_none_is_accepted,
    test_ten_thousand_duplicates_have_one_effect_each,
)

pytestmark = pytest.mark.torture
