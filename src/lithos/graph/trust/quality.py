"""Quality of one piece of evidence: how much it is worth its tokens."""

from __future__ import annotations

SIMILARITY, TRUST, FRESHNESS, VERIFIED = 0.35, 0.25, 0.25, 0.15


def quality(similarity: float, trust: int, freshness: float, verified: bool) -> float:
    score = SIMILARITY * similarity + TRUST * trust / 100 + FRESHNESS * freshness + VERIFIED * verified
    return min(1.0, score)
