"""Eight agents in eight processes, over stdio and HTTP, on one memory whose host is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hammer import hammer


@pytest.mark.timeout(900)
def test_eight_agents_on_one_board_never_trip_over_each_other(tmp_path: Path) -> None:
    hammer(tmp_path, turns=25, kills=1)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_eight_agents_for_long_with_many_kills(tmp_path: Path) -> None:
    hammer(tmp_path, turns=300, kills=12)
