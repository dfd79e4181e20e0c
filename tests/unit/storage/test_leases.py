"""Leases: measured since boot, shown by the wall clock, carried over a reboot once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithos.core.clock import parse_time
from lithos.storage import Moment
from lithos.storage.leases import Lease, carried_over, lease_from

NOW = Moment(parse_time("2026-01-01T12:00:00Z"), 1000.0, "boot-1")


def later(seconds: float) -> Moment:
    return replace(NOW, steady=NOW.steady + seconds, wall=NOW.wall + timedelta(seconds=seconds))


@pytest.mark.parametrize(("after", "alive"), [(0, True), (59.999, True), (60, True), (60.001, False), (3600, False)])
def test_a_lease_holds_up_to_and_including_its_last_moment(after: float, alive: bool) -> None:
    assert lease_from(NOW, 60).alive(later(after)) is alive


@pytest.mark.parametrize("hours", [-1, 1, 24 * 365])
def test_setting_the_wall_clock_neither_ends_nor_extends_a_lease(hours: int) -> None:
    lease = lease_from(NOW, 60)
    moved = timedelta(hours=hours)
    inside, outside = later(60), later(61)
    assert lease.alive(replace(inside, wall=inside.wall + moved))
    assert not lease.alive(replace(outside, wall=outside.wall + moved))


def test_the_shown_end_follows_a_wall_clock_that_was_set() -> None:
    lease = lease_from(NOW, 60)
    assert lease.shown_until(later(30)) == lease.expires_at
    moved = replace(later(30), wall=later(30).wall + timedelta(hours=1))
    assert lease.shown_until(moved) == lease.expires_at + timedelta(hours=1)


def test_microseconds_between_two_clocks_do_not_make_the_shown_end_flicker() -> None:
    lease = lease_from(NOW, 60)
    assert lease.shown_until(replace(later(10), steady=1010.0004)) == lease.expires_at


@pytest.mark.parametrize(
    ("left", "lives_for"),
    [(3600, 120), (120, 120), (30, 30), (0, 0)],
    ids=["long", "exactly the grace", "less than the grace", "its last moment"],
)
def test_after_a_reboot_a_live_lease_gets_the_grace_but_never_more_than_it_had(left: float, lives_for: float) -> None:
    rebooted = Moment(NOW.wall, 7.0, "boot-2")
    carried = carried_over(lease_from(NOW, left), NOW.steady, rebooted, grace=120)
    assert carried is not None and carried.grace
    assert carried.alive(replace(rebooted, steady=7.0 + lives_for))
    assert not carried.alive(replace(rebooted, steady=7.001 + lives_for))


def test_a_reboot_does_not_wake_a_lease_that_had_ended() -> None:
    assert carried_over(lease_from(NOW, 60), later(60.5).steady, Moment(NOW.wall, 7.0, "boot-2"), grace=120) is None


def test_grace_is_given_once() -> None:
    lease = Lease("boot-2", 127.0, NOW.wall, grace=True)
    assert carried_over(lease, 7.0, Moment(NOW.wall, 7.0, "boot-3"), grace=120) is None


def test_a_reading_of_another_boot_counts_for_nothing() -> None:
    assert not lease_from(NOW, 1e9).alive(Moment(NOW.wall, 1.0, "boot-2"))
