"""Whether a plan repeats a failure: by meaning, key words, and whether it is nearer to the fix."""

from __future__ import annotations

import numpy as np

from lithos.habits.matching import Matcher
from lithos.habits.repeating import REPEATS, repeats

PATTERN, ERROR, FIX = "comparing prices as floats", "totals were off by a cent", "use Decimal"
AXES = {"float": 0, "price": 0, "Decimal": 1, "photo": 2}


def directions(text: str) -> np.ndarray:
    """A model of four words: the same word is the same direction."""
    vector = np.full(4, 0.05)
    for word, axis in AXES.items():
        vector[axis] += text.count(word)
    return vector


def judged(approach: str, fix: str = FIX) -> float:
    return repeats(Matcher(directions, lambda: ["photo"]), approach, PATTERN, ERROR, fix)


def test_a_plan_that_is_the_failure_is_known_and_one_that_is_the_fix_is_not() -> None:
    assert judged("compare the prices as floats") >= REPEATS
    assert judged("use Decimal for the total") < REPEATS
    assert judged("crop the photo") < REPEATS


def test_a_report_without_a_fix_is_judged_by_the_failure() -> None:
    assert judged("compare the prices as floats", fix="") >= REPEATS
    assert judged("crop the photo", fix="") < REPEATS


def test_a_plan_that_does_what_was_left_out_is_no_repetition() -> None:
    matcher = Matcher(directions, lambda: ["photo"])
    report = ("sum prices as floats without rounding", ERROR, FIX)
    assert repeats(matcher, "sum prices as floats", *report) > repeats(matcher, "sum prices with rounding", *report)


def test_inflected_and_composed_words_count_where_no_model_tells_them_apart() -> None:
    matcher = Matcher(directions, lambda: ["photo"])
    report = ("unpickling a request", "remote code", "JSON")
    assert repeats(matcher, "pickle the float price", *report) > repeats(matcher, "store the float price", *report)
