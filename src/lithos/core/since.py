"""`since` as people say it: a time, "2h", "1d", "yesterday"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from lithos.core.clock import parse_time, rfc3339
from lithos.errors import InvalidInput

_AGO = re.compile(r"(\d{1,5})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)(?:\s+ago)?\Z", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
HINT = 'Use a time (ISO 8601), "2h", "1d", "1w", "today" or "yesterday".'


def parse_since(text: str, now: datetime, field: str = "since") -> datetime:
    """The moment meant; one in the future is refused, for it would look like "nothing changed"."""
    said = text.strip()
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if said.lower() == "today":
        return midnight
    if said.lower() == "yesterday":
        return midnight - timedelta(days=1)
    if found := _AGO.match(said):
        return now - timedelta(seconds=int(found[1]) * _UNITS[found[2][0].lower()])
    try:
        moment = parse_time(said, field)
    except InvalidInput:
        raise InvalidInput(f"{field}: {said[:60]!r} is no time", hint=HINT) from None
    if moment > now + timedelta(days=1):  # a day: the caller's clock and ours may differ
        raise InvalidInput(f"{field}: {said[:60]!r} is in the future", hint=HINT)
    return moment


def check_bounds(since: datetime | None, until: datetime | None) -> None:
    """Refuse bounds in the wrong order: their empty result would look like "nothing happened"."""
    if since is not None and until is not None and since > until:
        raise InvalidInput(
            f"since ({rfc3339(since)}) is later than until ({rfc3339(until)})", hint="Swap them, or leave one out."
        )


def absolute(text: str | None, now: datetime, field: str = "since") -> str | None:
    """`1d` as the time that it means; other texts as they are, for the part that parses them."""
    if text is None:
        return None
    said = text.strip().lower()
    return rfc3339(parse_since(said, now, field)) if said in ("today", "yesterday") or _AGO.match(said) else text
