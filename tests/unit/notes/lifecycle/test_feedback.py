"""Feedback moves notes for similar queries, a little, whatever is entry; duplicates are found without comparing all."""

from __future__ import annotations

import random
import re

import pytest

from lithos.notes.lifecycle.feedback import LARGEST_BOOST, FeedbackEntry, FeedbackIndex, bounded
from lithos.notes.lifecycle.near_duplicates import (
    NEAR,
    ComparedText,
    clusters,
    common_share,
    likeness,
    near_pairs,
    words_of,
)


def index(*entry: FeedbackEntry) -> FeedbackIndex:
    made = FeedbackIndex()
    for each in entry:
        made.add(each)
    return made


@pytest.mark.parametrize("text", ["Plain, words_2 a 7 it's", "x" * 64, "x" * 65 + " y2", "Ünï cödé " + "z" * 70, ""])
def test_words_are_runs_of_two_to_sixty_four_letters_and_digits_in_any_script(text: str) -> None:
    assert words_of(text) == set(re.findall(r"\w{2,64}", text.lower()))


def test_what_helped_rises_and_what_hurt_sinks_for_similar_queries() -> None:
    known = index(
        FeedbackEntry("retry flaky calls", ("good",), 1.0), FeedbackEntry("retrying flaky calls", ("bad",), -1.0)
    )
    boosts = known.boosts("how do we retry flaky calls?")
    assert 0 < boosts["good"] <= LARGEST_BOOST and -LARGEST_BOOST <= boosts["bad"] < 0


def test_other_queries_are_left_alone() -> None:
    known = index(FeedbackEntry("retry flaky calls", ("good",), 1.0))
    assert known.boosts("how to bake bread") == {}
    assert known.boosts("retry the deployment of the new database cluster") == {}
    assert index().boosts("anything") == {}


@pytest.mark.parametrize("worth", [1.0, -1.0])
def test_a_thousand_voices_move_a_note_no_further_than_the_bound(worth: float) -> None:
    known = index(*(FeedbackEntry("retry flaky calls", ("note",), worth) for _ in range(1000)))
    assert known.boosts("retry flaky calls") == {"note": worth * LARGEST_BOOST}


def test_voices_that_disagree_cancel_out() -> None:
    assert index(FeedbackEntry("a topic", ("n",), 1.0), FeedbackEntry("a topic", ("n",), -1.0)).boosts("a topic") == {}


def test_agreement_counts_but_less_and_less() -> None:
    steps = [bounded(total) for total in (0, 1, 2, 3, 100)]
    assert steps[0] == 0 and steps == sorted(steps) and steps[2] == LARGEST_BOOST / 2 and steps[4] == LARGEST_BOOST


def text(name: str, content: str, title: str = "") -> ComparedText:
    return ComparedText(name, title or name, words_of(content))


def test_the_same_title_or_most_of_the_same_words_make_notes_alike() -> None:
    one = text("a", "retry three times with exponential backoff", "Retries")
    assert likeness(one, text("b", "something else entirely", "retries")) == 1.0
    assert likeness(one, text("c", "retry three times with exponential backoff and jitter")) > NEAR
    assert likeness(one, text("d", "bread needs flour and water")) == 0.0


def test_near_pairs_are_all_pairs_above_the_share_and_no_other() -> None:
    chance = random.Random(3)
    words = [f"w{number}" for number in range(60)]
    texts = [ComparedText(str(n), str(n), frozenset(chance.sample(words, chance.randint(3, 20)))) for n in range(60)]
    texts += [ComparedText(f"{each.id}x", "", each.words | {"more"}) for each in texts[:10]]
    expected = {
        frozenset((one.id, other.id))
        for one in texts
        for other in texts
        if one.id < other.id and common_share(one.words, other.words) >= NEAR
    }
    assert {frozenset(pair) for pair in near_pairs(texts)} == expected and expected


def test_clusters_join_what_any_chain_of_pairs_joins() -> None:
    texts = [ComparedText(name, "", frozenset()) for name in "abcdef"]
    assert clusters(texts, [("a", "b"), ("b", "c"), ("e", "f")]) == [["a", "b", "c"], ["e", "f"]]
