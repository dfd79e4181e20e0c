"""Freshness: how much the age of a piece of knowledge counts against it. Nothing is deleted for age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CODE, HISTORY, ACADEMIC = "code", "history", "academic"
SUPERSEDED_SCORE: Final = 0.1
EXPIRED_FACTOR: Final = 0.5


@dataclass(frozen=True, slots=True)
class Decay:
    """max(least, 1 − days/span · drop), with a warning after `warn` days."""

    span: float
    drop: float
    least: float
    warn: float


# The specification's formulas; its comment (0.95, 0.8, 0.6, 0.3) contradicts them.
DECAYS: Final[Mapping[str, Decay]] = {
    HISTORY: Decay(180.0, 0.8, 0.2, 30.0),
    ACADEMIC: Decay(365.0, 0.7, 0.3, 180.0),
}


@dataclass(frozen=True, slots=True)
class Age:
    """The facts that freshness is computed from. `days`: since it was written; for a source since it was published."""

    domain: str
    days: float = 0.0
    unchanged: bool = True  # code: its hash is that of the file
    superseded_by: str = ""
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Freshness:
    score: float
    warning: str = ""
    superseded_by: str = ""


def freshness(age: Age, decays: Mapping[str, Decay] = DECAYS) -> Freshness:
    if age.superseded_by:
        warning = f"⚠️ SUPERSEDED - newer information available: {age.superseded_by}"
        return Freshness(SUPERSEDED_SCORE, warning, age.superseded_by)
    days = max(0.0, age.days)
    score, warning = 1.0, ""
    if age.domain == CODE:
        score = 1.0 if age.unchanged else 0.0
        warning = "" if age.unchanged else "⚠️ the file changed since it was read"
    elif (decay := decays.get(age.domain)) is not None:
        score = max(decay.least, 1.0 - days / decay.span * decay.drop)
        if days > decay.warn:
            ending = "may be outdated" if age.domain == HISTORY else "verify still current"
            warning = f"⚠️ {int(days)} days old - {ending}"
    if age.expired:
        return Freshness(score * EXPIRED_FACTOR, "⚠️ EXPIRED - should be refreshed")
    return Freshness(score, warning)
