"""Limits of messages, from the settings."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.messages.model import CRITICAL
from lithos.messages.rules.retries import MODEL_RETRY, USUAL_RETRY, RetryPolicy

RESERVE = 0.05  # of the limits, for critical messages


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
