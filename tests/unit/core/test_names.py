"""Names of agents: which are refused."""

from __future__ import annotations

import pytest

from lithos.core.names import agent_name
from lithos.errors import InvalidInput


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "a\x00", "\ud800"])
def test_agent_names_that_would_break_a_table_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        agent_name(name)
