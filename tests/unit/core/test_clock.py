"""Times as people write them, and the clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lithos.core.clock import FakeClock, SystemClock, parse_time, rfc3339
from lithos.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T12:30:00", "2026-01-31T12:30:00Z"),
        ("2026-01-31T12:30:00+02:00", "2026-01-31T10:30:00Z"),
        ("2026-01-31T12:30:00.25Z", "2026-01-31T12:30:00.250000Z"),
        ("1767225600Z", "2026-01-01T00:00:00Z"),
    ],
)
def test_times_are_read_as_utc_in_every_form(text: str, meant: str) -> None:
    assert rfc3339(parse_time(text)) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "99999999999999999999Z", "10000-01-01"])
def test_what_is_no_time_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_time(text, "since")
    assert refusal.value.message.startswith("since:")
    assert "ISO 8601" in refusal.value.hint


def test_a_fake_clock_moves_wall_and_boot_time_apart() -> None:
    clock = FakeClock()
    before = clock.since_boot()
    clock.set_wall("2030-01-01")
    assert (clock.since_boot(), clock.now()) == (before, datetime(2030, 1, 1, tzinfo=UTC))
    clock.advance(5)
    assert clock.since_boot() == before + 5


def test_the_system_clock_counts_from_boot_under_one_boot_id() -> None:
    clock = SystemClock()
    assert clock.boot_id() == clock.boot_id()
    assert clock.since_boot() <= clock.since_boot()
