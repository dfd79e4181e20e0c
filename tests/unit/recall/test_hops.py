"""One more step from the best hits of a question that names two things or compares."""

from __future__ import annotations

import pytest

from lithos.recall.hops import Scored, asks_for_two, further_questions, names, with_further, with_linked
from lithos.search import Hit


def scored(id: str, score: float, passage: str = "") -> Scored:
    return Scored(score, "note", Hit(id, id, "", "", "", "", passage, 0, score), lambda hit: {})


@pytest.mark.parametrize(
    ("text", "two"),
    [
        ("What do Melanie and Caroline both like?", True),
        ("How does Redis compare with Postgres for queues?", True),
        ("Which is faster, tantivy or FTS5, and than what?", True),
        ('Does "retry policy" name "dead letters"?', True),
        ("When did Caroline go to the support group?", False),
        ("how many retries are allowed", False),
    ],
)
def test_a_question_that_names_two_things_or_compares(text: str, two: bool) -> None:
    assert asks_for_two(text) is two


def test_names_lose_the_words_that_ask() -> None:
    assert names("When did The Blue Team meet Anna's sister?") == ["Blue Team", "Anna"]


def test_a_further_question_says_what_the_best_hits_say() -> None:
    assert further_questions("who?", [scored("a", 1, "Ann"), scored("b", 1), scored("c", 1, "Bob")]) == ["who? Ann"]


def test_hits_of_the_second_round_add_a_little() -> None:
    found = with_further([scored("a", 1.0), scored("b", 0.95)], [[scored("b", 0.9), scored("c", 0.5)]])
    assert [(each.hit.id, round(each.score, 2)) for each in found] == [("b", 1.13), ("a", 1.0), ("c", 0.1)]


def test_what_a_hit_is_linked_to_has_half_of_its_score_and_keeps_what_is_more() -> None:
    first = [scored("a", 1.0), scored("b", 0.9), scored("c", 0.2)]
    linked = {first[0].key: [scored("b", 0.1).hit, scored("c", 0.1).hit, scored("d", 0.1).hit]}
    found = with_linked(first, linked)
    assert [(each.hit.id, each.score) for each in found] == [("a", 1.0), ("b", 0.9), ("c", 0.5), ("d", 0.5)]
    assert found[3].hit.score == 0.5
