"""How long a claim lasts: measured on a steady clock, so that no setting of the wall clock moves it.

A lease ends at a reading of the steady clock (seconds since boot, sleep included) under the id of that era (the boot);
the wall clock serves display only. After a reboot the old readings mean nothing; `carried_over` then gives each lease
that was alive a short grace, once: a lease that lives on grace and is not renewed ends with the next reboot.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lithos.storage import Moment

# A shown time follows the wall clock only when that was set: readings of two clocks differ by microseconds.
_SAME_MOMENT = timedelta(seconds=1)

# The decision of `Lease.alive` for lists that the database filters; its values are (era, steady).
ALIVE_SQL = "era = ? AND until >= ?"


@dataclass(frozen=True, slots=True)
class Lease:
    era: str
    until: float
    expires_at: datetime
    grace: bool = False

    def alive(self, now: Moment) -> bool:
        """The one place that decides expiry. The spec's `expires_at < now()`: at the very moment it still holds."""
        return self.era == now.era and self.until >= now.steady

    def shown_until(self, now: Moment) -> datetime:
        """When it ends by the wall clock as that is set now."""
        if self.era != now.era:
            return self.expires_at
        current = now.wall + timedelta(seconds=self.until - now.steady)
        return self.expires_at if abs(current - self.expires_at) < _SAME_MOMENT else current


def lease_from(now: Moment, seconds: float) -> Lease:
    return Lease(now.era, now.steady + seconds, now.wall + timedelta(seconds=seconds))


def carried_over(lease: Lease, last: float, now: Moment, grace: float) -> Lease | None:
    """The lease after a reboot: none when it had ended by the last known reading of the old clock, or lived on grace.

    How long the machine was off is not known for certain (the wall clock may be wrong), so nobody gets more than
    `grace`, and nobody more than was left.
    """
    left = lease.until - last
    if left < 0 or lease.grace:
        return None
    seconds = min(left, grace)
    return Lease(now.era, now.steady + seconds, now.wall + timedelta(seconds=seconds), grace=True)
