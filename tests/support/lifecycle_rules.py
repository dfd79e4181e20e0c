"""Decapod's rule of what was current at a moment, to compare the filters with."""

from __future__ import annotations

from datetime import datetime

from lithos.notes.lifecycle.decisions import LifecycleTimes


def was_current(times: LifecycleTimes, at: datetime) -> bool:
    """Whether the note counted at that moment: created, not yet superseded, not yet expired."""
    if times.created_at is not None and times.created_at > at:
        return False
    if times.ttl_policy != "persistent" and times.expires_at is not None and times.expires_at <= at:
        return False
    if times.superseded_at is not None:
        return times.superseded_at > at
    return times.status in ("active", "stale")
