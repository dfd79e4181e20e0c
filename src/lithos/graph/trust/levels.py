"""Trust levels: computed from what a piece is, never stored. Code is ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lithos.graph.trust.freshness import ACADEMIC, CODE, HISTORY

GROUND, RECENT, STANDARD, SCHOLARLY, OLD, INFORMAL, UNVERIFIED = 100, 80, 70, 60, 40, 30, 20
MONTH_OLD: Final = 60  # verified history of 7 to 30 days
UNCHECKED_MOST: Final = 40  # a text without a checkable claim
_SOURCES: Final = {
    "rfc": STANDARD,
    "documentation": STANDARD,
    "paper": SCHOLARLY,
    "best_practice": SCHOLARLY,
    "tutorial": SCHOLARLY,
    "stackoverflow": INFORMAL,
    "blog": INFORMAL,
}
_NAMES: Final = (
    (GROUND, "Ground Truth (Code)", ""),
    (RECENT, "Recent Verified", "From recent history, may need verification"),
    (STANDARD, "Authoritative", "From external docs, verify applies to your context"),
    (SCHOLARLY, "Academic", "Academic source, may not apply directly"),
    (OLD, "Old History", "⚠️ OLD DATA - verify this is still accurate"),
    (INFORMAL, "Informal", "⚠️ Informal source - verify independently"),
    (0, "Unverified/Inferred", "⚠️ UNVERIFIED - LLM inference, may be incorrect"),
)
_UNCHECKED: Final = ("Unchecked", "⚠️ UNCHECKED - no statement in it could be checked")


@dataclass(frozen=True, slots=True)
class Standing:
    """The facts that trust is computed from. `ceiling`: the least that a note's confidence and its lineage allow."""

    domain: str
    verified: bool = False
    unchecked: bool = False
    kind: str = ""  # of a source
    days: float = 0.0
    confidence: float = 1.0
    ceiling: int = GROUND
    lost: bool = False  # a resolved conflict went against it


def trust_level(standing: Standing) -> int:
    """0 to 100. In the specification every RFC would be 20: here a source whose original was read is verified."""
    level = _plain(standing)
    if standing.domain != CODE:
        level = min(level, standing.ceiling, round(GROUND * max(0.0, min(1.0, standing.confidence))))
    return min(level, UNVERIFIED) if standing.lost else level


def _plain(standing: Standing) -> int:
    if standing.domain == CODE:
        return GROUND
    if not standing.verified:
        return min(UNCHECKED_MOST, _age_level(standing)) if standing.unchecked else UNVERIFIED
    if standing.domain == ACADEMIC:
        return _SOURCES.get(standing.kind, SCHOLARLY)
    return _age_level(standing)


def _age_level(standing: Standing) -> int:
    if standing.domain != HISTORY:
        return _SOURCES.get(standing.kind, SCHOLARLY)
    return RECENT if standing.days < 7 else MONTH_OLD if standing.days < 30 else OLD


def trust_name(level: int, *, unchecked: bool = False) -> str:
    return _named(level, unchecked)[0]


def trust_warning(level: int, *, unchecked: bool = False) -> str:
    return _named(level, unchecked)[1]


def _named(level: int, unchecked: bool) -> tuple[str, str]:
    if unchecked and UNVERIFIED < level <= UNCHECKED_MOST:  # it has the level of old history, and may be of today
        return _UNCHECKED
    return next((name, warning) for least, name, warning in _NAMES if level >= least)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a conflict."""

    id: str
    domain: str
    trust: int
    time: float


def winner(a: Side, b: Side) -> tuple[Side, str]:
    """Code wins, then trust, then time; with the reason."""
    if (a.domain == CODE) != (b.domain == CODE):
        return (a if a.domain == CODE else b), "Code is source of truth"
    if a.trust != b.trust:
        first, second = (a, b) if a.trust > b.trust else (b, a)
        return first, f"{trust_name(first.trust)} > {trust_name(second.trust)}"
    return (a if a.time > b.time else b), "Same trust level, preferring newer"
