"""Limits of messages at their values: the last thing that is taken, and the first that is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lithos.errors import InvalidInput, TooLarge
from lithos.messages.model import CRITICAL, stored_payload
from lithos.messages.rules.breaker import CLOSED, BreakerState
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.topics import topic_name
from lithos.storage import Moment

FRAME = len('{"body":""}')


def moment(steady: float, era: str = "boot") -> Moment:
    return Moment(datetime(2026, 1, 1, tzinfo=UTC), steady, era)


def test_a_payload_has_at_most_262144_bytes() -> None:
    assert stored_payload({"body": "x" * (262_144 - FRAME)})[1] == 262_144
    with pytest.raises(TooLarge, match="262,144 is the most"):
        stored_payload({"body": "x" * (262_145 - FRAME)})


def test_a_topic_has_at_most_eight_words_of_64_characters() -> None:
    assert topic_name(".".join(["a" * 64] * 8))
    for wrong in (".".join("abcdefghi"), "a" * 65):
        with pytest.raises(InvalidInput):
            topic_name(wrong)


def test_a_breaker_opens_at_the_fifth_failure_in_a_row() -> None:
    state = CLOSED
    for _ in range(4):
        state = state.after(moment(0), success=False)
    assert state.breaker == "closed"
    assert state.after(moment(0), success=False).breaker == "open"


def test_an_open_breaker_rests_for_30_seconds_then_lets_three_through() -> None:
    opened = BreakerState("open", 5, "boot", 100.0)
    assert opened.at(moment(129.9)).allows == 0
    rested = opened.at(moment(130.0))
    assert (rested.breaker, rested.allows, rested.taken(2).allows, rested.taken(3).allows) == ("half_open", 3, 1, 0)
    assert opened.at(moment(0.0, era="another boot")).breaker == "half_open"


def test_two_successes_close_a_half_open_breaker() -> None:
    once = BreakerState("half_open").after(moment(0), success=True)
    assert once.breaker == "half_open"
    assert once.after(moment(0), success=True) == CLOSED


def test_a_full_inbox_keeps_a_twentieth_for_critical_messages() -> None:
    limits = MessageLimits()
    assert [limits.full(999, 1_000, 0), limits.full(1_000, 1_000, 0)] == [False, True]
    assert [limits.full(1_049, 1_000, CRITICAL), limits.full(1_050, 1_000, CRITICAL)] == [False, True]


@pytest.mark.parametrize(
    ("target", "attempts", "first", "third", "longest"),
    [("agent", 3, 100, 400, 10_000), ("model", 5, 200, 800, 30_000)],
)
def test_a_retry_waits_twice_as_long_each_time_up_to_a_limit(
    target: str, attempts: int, first: float, third: float, longest: float
) -> None:
    policy = MessageLimits(model_targets=frozenset({"model"})).retry(target)
    assert policy.attempts == attempts
    assert [policy.delay_ms(each, 0.5) for each in (1, 3, 30)] == [first, third, longest]
    assert policy.delay_ms(1, 1.0) == pytest.approx(first * (1.2 if target == "agent" else 1.3))
