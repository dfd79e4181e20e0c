"""Clock: all times come from one injected clock, so that tests can set it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from lithos.errors import InvalidInput

# CLOCK_BOOTTIME counts while a laptop sleeps, CLOCK_MONOTONIC does not; macOS has only the latter under this name.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    def now(self) -> datetime: ...

    def since_boot(self) -> float:
        """Seconds since boot, sleep included; no wall-clock change moves it."""
        ...

    def boot_id(self) -> str:
        """Changes with every boot: readings of `since_boot` compare only under the same id."""
        ...


class SystemClock:
    def __init__(self) -> None:
        self._boot: str | None = None  # constant for the process; reading the file again would cost 40 µs per lease

    def now(self) -> datetime:
        return datetime.now(UTC)

    def since_boot(self) -> float:
        return time.clock_gettime(_SINCE_BOOT)

    def boot_id(self) -> str:
        self._boot = self._boot or self._read_boot_id()
        return self._boot

    def _read_boot_id(self) -> str:
        try:
            return _BOOT_ID.read_text(encoding="ascii").strip()
        except OSError:  # macOS: the time of boot, to ten seconds, distinguishes boots
            return f"boot-{round((time.time() - self.since_boot()) / 10)}"


class FakeClock:
    """For tests: moves only when a test moves it; wall clock and time since boot move separately."""

    def __init__(self, start: str = "2026-01-01T00:00:00Z", boot: str = "boot-1") -> None:
        self._now = parse_time(start)
        self._since_boot = 1000.0
        self._boot = boot

    def now(self) -> datetime:
        return self._now

    def since_boot(self) -> float:
        return self._since_boot

    def boot_id(self) -> str:
        return self._boot

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._since_boot += seconds

    def set_wall(self, when: str | datetime) -> None:
        self._now = parse_time(when) if isinstance(when, str) else when

    def reboot(self, boot: str, since_boot: float = 10.0) -> None:
        self._boot, self._since_boot = boot, since_boot


def rfc3339(moment: datetime) -> str:
    """UTC with `Z`; microseconds only where there are any."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def micros(moment: datetime) -> int:
    """Microseconds since 1970: how tables hold a time (RFC 3339 text with a fraction sorts before the same without)."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_micros(count: int) -> datetime:
    return _EPOCH + timedelta(microseconds=count)


def parse_time(text: str, field: str = "time") -> datetime:
    """ISO 8601 (date only and zone-less are UTC), or Decapod's `<epoch seconds>Z`."""
    raw = text.strip()
    try:
        if raw.endswith("Z") and raw[:-1].isdigit():
            return datetime.fromtimestamp(int(raw[:-1]), UTC)
        moment = datetime.fromisoformat(raw)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{field}: {text[:80]!r} is not a time",
            hint="Use ISO 8601, for example 2026-01-31 or 2026-01-31T12:00:00Z.",
        ) from None
