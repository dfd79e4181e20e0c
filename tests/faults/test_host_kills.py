"""The host is killed -9 again and again under writing guests: every acknowledged write is there exactly once."""

from __future__ import annotations

import pytest

from tests.support.guests import Household
from tests.support.host_kills import GentleKiller, Killer, Tally, check, write_from_all


def test_every_write_has_its_effect_once_while_the_host_is_killed(home: Household) -> None:
    tally = Tally()
    with GentleKiller(home, tally, guests=4, most=2) as killer:
        write_from_all(home, 4, 20, tally, lambda: killer.kills < 2)
    assert tally.errors == []
    check(home, tally)


@pytest.mark.torture
@pytest.mark.parametrize("after_seconds", [0.3, 1.0])
def test_every_write_has_its_effect_once_while_the_host_is_killed_again_and_again(
    home: Household, after_seconds: float
) -> None:
    tally = Tally()
    with Killer(home, after_seconds, most=100) as killer:
        write_from_all(home, 8, 200, tally, lambda: killer.kills < 2)
    print(f"{killer.kills} kills, {len(tally.errors)} errors seen by clients")
    assert {error["result"]["structuredContent"]["error"]["code"] for error in tally.errors} <= {"host_restarted"}
    check(home, tally)
