"""Repeating: how much a plan is what failed before."""

from __future__ import annotations

from collections.abc import Iterable

from lithos.habits.matching import Matcher, overlap
from lithos.habits.wording import wording

# Chosen on the three sets of benchmarks/sets/mistakes*.tsv: mean recall 0.82 at 5% false alarms.
REPEATS, LEAST_TRIED = 0.55, 0.2
WORD_SHARE, MOST_WORDS, COVERED_SHARE = 0.1, 2.5, 0.15
FIX_WORDS, FIX_MEANING, FIX_LEAD = 0.7, 0.45, 0.05


def repeats(matcher: Matcher, approach: str, pattern: str, error: str, fix: str) -> float:
    """From 0 to 1; at least `REPEATS` is a warning. An approach that is the fix rather than the failure is none."""
    plan, failed, reason, cure = wording(approach), wording(pattern), wording(error), wording(fix)
    if plan.undoes(failed):
        return 0.0
    near = [matcher.apart(approach, text) for text in (pattern, f"{pattern}: {error}", f"{pattern}. {error}. {fix}")]
    tried = [each for each in near if each is not None]
    if not tried:  # no model answers
        return overlap(plan.all, failed.all) if len(plan.all & failed.all) > 1 else 0.0
    meaning = sum(tried) / len(tried)
    if meaning < LEAST_TRIED:
        return 0.0
    own = _weight(matcher, plan.all & (cure.does - failed.all - reason.all))
    if own >= FIX_WORDS and (matcher.apart(approach, fix) or 0.0) >= max(FIX_MEANING, max(tried[:2]) - FIX_LEAD):
        return 0.0
    shared = _weight(matcher, plan.all & (failed.all | reason.all | cure.all))
    covered = _weight(matcher, plan.all & failed.all) / max(_weight(matcher, failed.all), 1.0)
    return max(0.0, min(1.0, meaning + WORD_SHARE * min(shared, MOST_WORDS) + COVERED_SHARE * covered))


def _weight(matcher: Matcher, words: Iterable[str]) -> float:
    return sum(map(matcher.weight, words))
