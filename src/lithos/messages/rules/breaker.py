"""The circuit breaker of a receiver: decided without I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lithos.storage import Moment, Row

Breaker = Literal["closed", "open", "half_open"]
OPENS_AFTER = 5  # failures in a row
HALF_OPEN_SECONDS = 30.0
PROBES = 3
CLOSES_AFTER = 2  # successes


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
