"""Time scopes: "last month" and "recently" as an interval."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

RECENT_DAYS = 7
_RECENT = r"recently|recent|latest|lately"
_SCOPES = re.compile(
    rf"\b(?:(?P<day>today|yesterday)(?:'s)?|(?P<which>last|this|past|previous) (?:(?P<count>\d{{1,3}}) )?"
    rf"(?P<unit>day|week|month|year)s?|(?P<recent>{_RECENT})"
    r"|since (?P<since>\d{4}-\d\d-\d\d)|on (?P<on>\d{4}-\d\d-\d\d))\b",
    re.IGNORECASE,
)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class TimeScope:
    """[start, end). `name` is how it was said, in snake_case."""

    name: str
    start: datetime
    end: datetime


def time_scope(text: str, now: datetime) -> tuple[TimeScope | None, str]:
    """The first scope of a question, and the question without it."""
    match = _SCOPES.search(text)
    if match is None:
        return None, text
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    return _scope(match, now), " ".join(rest.split())


def _scope(match: re.Match[str], now: datetime) -> TimeScope:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = midnight + timedelta(days=1)
    if match.group("recent"):
        return TimeScope("recently", now - timedelta(days=RECENT_DAYS), now)
    if day := match.group("day"):
        back = 0 if day.lower() == "today" else 1
        return TimeScope(day.lower(), midnight - timedelta(days=back), tomorrow - timedelta(days=back))
    if since := match.group("since") or match.group("on"):
        start = datetime.fromisoformat(since).replace(tzinfo=now.tzinfo)
        if match.group("since"):
            return TimeScope(f"since_{since}", start, now)
        return TimeScope(f"on_{since}", start, start + timedelta(days=1))
    which, unit = match.group("which").lower(), match.group("unit").lower()
    if count := match.group("count"):
        return TimeScope(f"last_{int(count)}_{unit}s", now - timedelta(days=int(count) * _DAYS[unit]), now)
    return _calendar(which, unit, midnight, tomorrow)


def _calendar(which: str, unit: str, midnight: datetime, tomorrow: datetime) -> TimeScope:
    """ "Last week" is the week before this one; "this week" began on Monday."""
    if unit == "week":
        start = midnight - timedelta(days=midnight.weekday())
        before = start - timedelta(days=7)
    elif unit == "month":
        start = midnight.replace(day=1)
        before = (start - timedelta(days=1)).replace(day=1)
    elif unit == "year":
        start = midnight.replace(month=1, day=1)
        before = start.replace(year=start.year - 1)
    else:
        start, before = midnight, midnight - timedelta(days=1)
    if which == "this":
        return TimeScope(f"this_{unit}", start, tomorrow)
    return TimeScope(f"last_{unit}", before, start)
