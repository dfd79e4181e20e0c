"""Retries: after which pause a failed message is handed out again, and how often."""

from __future__ import annotations

from dataclasses import dataclass

POISON_DEATHS = 2  # workers of ours that one message may kill before it is set aside


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
