"""Repeating: how much a plan is what failed before."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lithos.habits.matching import Matcher, overlap
from lithos.habits.wording import Wording, wording

REPEATS = 0.5
# A logistic regression (scripts/fit_repeats.py) over the sets of benchmarks/sets/mistakes*.tsv, but for the half that
# the benchmark holds out. Its decision is put at 0.5: a twentieth of the harmless plans of those sets is above it.
WEIGHTS = {
    "reason": 3.32,  # meaning beside what was tried and what went wrong
    "whole": 6.76,  # beside the whole report
    "rare": 3.72,  # beside what was tried, less how near both are to anything
    "covered": 3.70,  # key words of what was tried that the plan has
    "lead": 3.57,  # nearer to what was tried than to the fix
    "words_lead": 1.99,
    "restores": -4.37,  # does all that was left out when it failed
    "leaves_out": -1.49,  # leaves out what was done when it failed
}
CONSTANT = -7.54
LEAD_WITHOUT_FIX = 0.15
PART_OF_WORD, LEAST_PART = 0.7, 5  # "unpickle" and "pickle"


def repeats(matcher: Matcher, approach: str, pattern: str, error: str, fix: str) -> float:
    """From 0 to 1; at least `REPEATS` is a warning. An approach that is the fix rather than the failure is none."""
    plan, failed = wording(approach), wording(pattern)
    found = features(matcher, approach, (pattern, error, fix))
    if found is None:  # no model answers
        return overlap(plan.all, failed.all) if len(plan.all & failed.all) > 1 and not plan.undoes(failed) else 0.0
    return 1 / (1 + math.exp(-CONSTANT - sum(WEIGHTS[name] * value for name, value in found.items())))


def features(matcher: Matcher, approach: str, report: tuple[str, str, str]) -> dict[str, float] | None:
    pattern, error, fix = report
    plan, failed, reason, cure = map(wording, (approach, *report))
    tried, rare = matcher.apart(approach, pattern), matcher.rare(approach, pattern)
    reasoned, whole = (matcher.apart(approach, each) for each in (f"{pattern}: {error}", f"{pattern}. {error}. {fix}"))
    if tried is None or reasoned is None or whole is None or rare is None:
        return None
    cured = matcher.apart(approach, fix) if fix else None
    own_cure = cure.all - failed.all - reason.all
    return {
        "reason": reasoned,
        "whole": whole,
        "rare": rare,
        "covered": _met(matcher, failed.all, plan, 1.0),
        "lead": LEAD_WITHOUT_FIX if cured is None else tried - cured,
        "words_lead": _met(matcher, failed.all - cure.all, plan, 0.5) - _met(matcher, own_cure, plan, 0.5),
        "restores": float(plan.restores(failed)),
        "leaves_out": float(plan.leaves_out_done(failed)),
    }


def _met(matcher: Matcher, words: Iterable[str], plan: Wording, least: float) -> float:
    """The share of some words, by weight, that a plan has; of few and common words less."""
    met = total = 0.0
    for word in words:
        weight = matcher.weight(word)
        total += weight
        met += weight * (1.0 if word in plan.all else PART_OF_WORD if _has_part(plan.all, word) else 0.0)
    return met / max(least, total)


def _has_part(words: Iterable[str], wanted: str) -> bool:
    if len(wanted) < LEAST_PART:
        return False
    return any(len(each) >= LEAST_PART and (wanted in each or each in wanted) for each in words)
