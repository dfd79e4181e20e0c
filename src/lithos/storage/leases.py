"""Leases: rights that end by themselves, measured on a steady clock that no change of the wall clock moves.

A lease ends at a reading of the steady clock (seconds since boot, sleep included) within an era (one boot). The wall
clock is for display only. After a reboot the old readings mean nothing: `carry_over` then gives each lease that was
alive a short grace, once. A lease on grace that is not renewed ends with the next reboot.

A table of leases has the columns `expires_at`, `era`, `until` and `grace`; its owner adds its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lithos.core.clock import from_micros, micros
from lithos.storage.values import Moment, Row, Tx

# The shown time follows the wall clock only after that was set: readings of two clocks differ by microseconds.
_SAME_MOMENT = timedelta(seconds=1)

# `Lease.alive` for lists that the database filters; its values are (era, steady) of now.
ALIVE_SQL = "era = ? AND until >= ?"
LEASE_COLUMNS = ("expires_at", "era", "until", "grace")


@dataclass(frozen=True, slots=True)
class Lease:
    era: str
    until: float
    expires_at: datetime
    grace: bool = False

    def alive(self, now: Moment) -> bool:
        """The one place that decides expiry. The spec's `expires_at < now()`: at its last moment it still holds."""
        return self.era == now.era and self.until >= now.steady

    def shown_until(self, now: Moment) -> datetime:
        """When it ends by the wall clock as that is set now."""
        if self.era != now.era:
            return self.expires_at
        current = now.wall + timedelta(seconds=self.until - now.steady)
        return self.expires_at if abs(current - self.expires_at) < _SAME_MOMENT else current

    def values(self) -> tuple[int, str, float, int]:
        """For LEASE_COLUMNS."""
        return micros(self.expires_at), self.era, self.until, int(self.grace)


def lease_from(now: Moment, seconds: float) -> Lease:
    return Lease(now.era, now.steady + seconds, now.wall + timedelta(seconds=seconds))


def lease_of(row: Row) -> Lease:
    return Lease(row["era"], row["until"], from_micros(row["expires_at"]), bool(row["grace"]))


def carried_over(lease: Lease, last_steady: float, now: Moment, grace: float) -> Lease | None:
    """The lease after a reboot; None if it had ended by the last reading of the old clock, or was on grace already.

    How long the machine was off is not known for certain (the wall clock may be wrong), so no lease gets more than
    `grace`, and none more than it had left.
    """
    left = lease.until - last_steady
    if left < 0 or lease.grace:
        return None
    seconds = min(left, grace)
    return Lease(now.era, now.steady + seconds, now.wall + timedelta(seconds=seconds), grace=True)


def carry_over(tx: Tx, table: str, last_era: str, last_steady: float, now: Moment, grace: float) -> int:
    """Give the leases of an earlier boot their grace; how many live on. Within one boot there is nothing to do."""
    if last_era == now.era:
        return 0
    lived = 0
    for row in tx.all(f"SELECT * FROM {table} WHERE era = ?", last_era):
        lease = carried_over(lease_of(row), last_steady, now, grace)
        if lease:
            prolong(tx, table, row["id"], lease)
            lived += 1
    return lived


def prolong(tx: Tx, table: str, row_id: object, lease: Lease) -> None:
    """Give the row of this `id` another lease."""
    changes = ", ".join(f"{column} = ?" for column in LEASE_COLUMNS)
    tx.put(f"UPDATE {table} SET {changes} WHERE id = ?", *lease.values(), row_id)
