"""Retries, circuit breakers, limits and turns: decided without I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lithos.core.fair_turns import Contender, next_turn
from lithos.messages.model import CRITICAL
from lithos.storage import Answer, Moment, Outcome, Row

Breaker = Literal["closed", "open", "half_open"]
OPENS_AFTER = 5  # failures in a row
HALF_OPEN_SECONDS = 30.0
PROBES = 3
CLOSES_AFTER = 2  # successes
LOWEST_EVERY = 8  # of so many picks, one serves the lowest lane that has something
RESERVE = 0.05  # of the limits, for critical messages
BEAT_SECONDS = 10.0
DEAD_BEATS = 6
UNHEALTHY_BEATS = 3
UNHEALTHY_LEASES = 2  # ended in a row: a client cannot send heartbeats while its model thinks
POISON_DEATHS = 2


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    attempts: int
    first_ms: float
    most_ms: float
    jitter: float

    def delay_ms(self, attempt: int, chance: float) -> float:
        """Before the next try after this many; `chance` from 0 to 1 spreads those that failed together."""
        delay = min(self.most_ms, self.first_ms * float(2 ** max(0, attempt - 1)))
        return delay * (1 + self.jitter * (2 * chance - 1))


USUAL_RETRY = RetryPolicy(3, 100, 10_000, 0.2)
MODEL_RETRY = RetryPolicy(5, 200, 30_000, 0.3)  # for receivers that call a model, which fails more often


@dataclass(frozen=True, slots=True)
class MessageLimits:
    parent_chain: int = 32
    correlation: int = 500
    per_minute: int = 600
    receivers: int = 64
    per_target: int = 1_000
    per_session: int = 10_000
    ttl_seconds: float = 7 * 86_400
    settled_days: float = 30
    settled_rows: int = 200_000
    dead_days: float = 30
    dead_rows: int = 10_000
    hop_days: float = 7
    model_targets: frozenset[str] = frozenset()

    def retry(self, target: str) -> RetryPolicy:
        return MODEL_RETRY if target in self.model_targets else USUAL_RETRY

    def full(self, waiting: int, most: int, lane: int) -> bool:
        return waiting >= (int(most * (1 + RESERVE)) if lane == CRITICAL else most)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """Of one receiver."""

    breaker: Breaker = "closed"
    failures: int = 0
    era: str = ""
    steady: float = 0
    probes: int = 0
    successes: int = 0

    def at(self, now: Moment) -> BreakerState:
        """An open one is half open after its pause; a reboot ends the pause too."""
        if self.breaker != "open":
            return self
        rested = self.era != now.era or now.steady - self.steady >= HALF_OPEN_SECONDS
        return replace(self, breaker="half_open", probes=0, successes=0) if rested else self

    @property
    def allows(self) -> int | None:
        """How many messages that are not critical may be handed out now; None: any number."""
        if self.breaker == "closed":
            return None
        return max(0, PROBES - self.probes) if self.breaker == "half_open" else 0

    def taken(self, count: int) -> BreakerState:
        return replace(self, probes=self.probes + count) if self.breaker == "half_open" else self

    def after(self, now: Moment, *, success: bool) -> BreakerState:
        state = self.at(now)
        if success:
            if state is CLOSED:
                return state
            successes = state.successes + 1
            if state.breaker == "half_open" and successes < CLOSES_AFTER:
                return replace(state, failures=0, successes=successes, probes=max(0, state.probes - 1))
            return CLOSED if state.breaker != "open" else replace(state, failures=0)
        failures = state.failures + 1
        if state.breaker == "half_open" or failures >= OPENS_AFTER:
            return BreakerState("open", failures, now.era, now.steady)
        return replace(state, failures=failures)


CLOSED = BreakerState()


def breaker_of(row: Row | None) -> BreakerState:
    """Of a row that may have none: its name has not received anything yet."""
    if row is None or row["breaker"] is None or (row["breaker"] == "closed" and not row["failures"]):
        return CLOSED
    steady, era = row["opened_steady"], row["opened_era"]
    return BreakerState(row["breaker"], row["failures"], era, steady, row["probes"], row["successes"])


@dataclass(frozen=True, slots=True)
class LaneRow:
    """Messages that wait for one receiver in one lane of one session."""

    lane: int
    session_id: str
    ready: int
    contender: Contender[tuple[int, str]]


def next_lane(rows: Sequence[LaneRow], pick: int) -> LaneRow | None:
    """The highest lane first, every eighth time the lowest; within a lane, sessions take turns."""
    waiting = [each for each in rows if each.ready > 0]
    if not waiting:
        return None
    choose = min if pick % LOWEST_EVERY == LOWEST_EVERY - 1 else max
    lane = choose(each.lane for each in waiting)
    chosen = {each.contender.key: each for each in waiting if each.lane == lane}
    turn = next_turn(each.contender for each in chosen.values())
    return None if turn is None else chosen[turn.key]


def refused(reason: str, hint: str, **more: Any) -> Outcome:
    return Outcome(refusal(reason, hint, **more), refused=True)


def refusal(reason: str, hint: str, **more: Any) -> Answer:
    return {"success": False, **more, "reason": reason, "hint": hint}
