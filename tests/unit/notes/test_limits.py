"""Every limit of a note at its value: the last thing that is taken, and the first that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lithos.core.clock import parse_time
from lithos.errors import InvalidInput, TooLarge
from lithos.notes import checked_query
from lithos.notes.fields import checked_fields
from lithos.notes.format.frontmatter import parse_frontmatter
from lithos.notes.format.links import find_links, find_property_links
from lithos.notes.format.naming import file_names
from lithos.notes.index.schema import MIGRATIONS
from lithos.notes.lifecycle.effective_status import NEVER
from lithos.notes.lifecycle.feedback import FeedbackEntry, FeedbackIndex, bounded
from lithos.notes.lifecycle.near_duplicates import ComparedText, near_pairs, words_of
from lithos.notes.lifecycle.search_scope import SearchScope
from lithos.notes.vault.writing import checked_tags, checked_title
from lithos.search import Hit, Query, SearchResult

NOON = parse_time("2026-01-10T12:00:00Z")


@pytest.mark.parametrize(
    ("check", "most"),
    [
        (lambda size: checked_title("x" * size), 500),
        (lambda size: checked_tags(["x" * size]), 100),
        (lambda size: checked_tags([f"t{number}" for number in range(size)]), 100),
        (lambda size: checked_query("x" * size), 200_000),
        (lambda size: checked_fields({"claim_id": "x" * size}), 500),
        (lambda size: checked_fields({"merge_key": "x" * size}), 500),
        (lambda size: checked_fields({"supersedes": "x" * size}), 500),
        (lambda size: checked_fields({"source": "x" * size}), 2_000),
        (lambda size: checked_fields({"provenance": "cmd:" + "x" * (size - 4)}), 2_000),
        (lambda size: checked_fields({"derived_from": [f"n{number}" for number in range(size)]}), 100),
    ],
)
def test_an_argument_is_taken_up_to_its_limit(check: Callable[[int], Any], most: int) -> None:
    check(most)
    with pytest.raises((InvalidInput, TooLarge)):
        check(most + 1)


def test_a_file_name_has_at_most_120_characters_besides_its_suffix() -> None:
    names = file_names("a" * 300, "id")
    assert (len(next(names)), len(next(names))) == (123, 123)


@pytest.mark.parametrize(("extra", "is_read"), [(0, True), (1, False)])
def test_frontmatter_is_read_up_to_64_kib_and_100_brackets(extra: int, is_read: bool) -> None:
    long = "a: " + "x" * (65_536 - 3 + extra)
    deep = "a: " + "[" * (100 + extra) + "]" * (100 + extra)
    assert (parse_frontmatter(long).problem is None) is is_read
    assert (parse_frontmatter(deep).problem is None) is is_read


def test_a_number_beyond_64_bits_is_read_as_text() -> None:
    fields = parse_frontmatter(f"a: {2**63 - 1}\nb: {2**63}\nc: {-(2**63)}").fields
    assert fields == {"a": 2**63 - 1, "b": str(2**63), "c": -(2**63)}


def test_a_link_in_frontmatter_is_looked_back_on_for_1000_characters() -> None:
    assert find_property_links('# [[a]]\nb: "[[a]]"', ["[[a]]"])[0].start > 8
    assert find_property_links("#" + "x" * 998 + " [[a]]", ["[[a]]"]) == []
    assert len(find_property_links("#" + "x" * 999 + " [[a]]", ["[[a]]"])) == 1


def test_the_year_in_which_nothing_ends_is_the_one_that_the_tables_know() -> None:
    assert NEVER == 9_007_199_254_740_991
    assert str(NEVER) in MIGRATIONS[0].sql


def test_feedback_moves_a_note_by_a_tenth_at_most_and_half_of_it_at_two_votes() -> None:
    assert (bounded(1e9), bounded(-1e9), bounded(2.0)) == (0.1, -0.1, 0.05)


@pytest.mark.parametrize(("query", "counts"), [("red green", True), ("red blue black", False)])
def test_feedback_counts_for_queries_that_share_half_of_their_words(query: str, counts: bool) -> None:
    index = FeedbackIndex()
    index.add(FeedbackEntry("red green blue white" if counts else "red", ("n",), 1.0))
    assert bool(index.boosts(query)) is counts


def test_only_the_first_30000_characters_of_a_text_are_compared() -> None:
    assert words_of("x" * 29_994 + " early") == words_of("x" * 29_994 + " early" + " late")
    assert "early" in words_of("a " * 14_997 + " early late")


@pytest.mark.parametrize(("shared", "is_near"), [(6, True), (5, False)])
def test_texts_are_near_from_a_share_of_six_tenths_on(shared: int, is_near: bool) -> None:
    common = {f"common{number}" for number in range(shared)}
    one = ComparedText("a", "A", frozenset(common | {f"a{number}" for number in range(10 - shared)}))
    other = ComparedText("b", "B", frozenset(common))
    assert list(near_pairs([one, other])) == ([("b", "a")] if is_near else [])


def hit(note_id: str, score: float, created: str) -> Hit:
    moment = parse_time(created).timestamp()
    return Hit(note_id, note_id, "", "", "", "", "", 0, score, numbers={"created": moment})


def test_a_blended_rank_is_three_tenths_recency() -> None:
    scope = SearchScope(NOON, rank="blended")
    fresh, old = "2026-01-10T12:00:00Z", "2000-01-01"
    assert [each.id for each in scope.arranged([hit("old", 1.0, old), hit("new", 0.58, fresh)])] == ["new", "old"]
    assert [each.id for each in scope.arranged([hit("old", 1.0, old), hit("new", 0.56, fresh)])] == ["old", "new"]


def test_two_hundred_hits_are_put_into_another_order() -> None:
    asked: list[Query] = []

    def ask(query: Query) -> SearchResult:
        asked.append(query)
        return SearchResult((), relevant=True)

    SearchScope(NOON, rank="blended").find(ask, Query("q", limit=10))
    SearchScope(NOON, rank="recency_decay").find(ask, Query("q", limit=10))
    SearchScope(NOON).find(ask, Query("q", limit=10))
    assert [query.limit for query in asked] == [200, 200, 200, 10]
    assert [query.threshold for query in asked] == [0.0, 0.3, 0.3, 0.0]


def test_a_link_calls_its_note_by_at_most_120_characters() -> None:
    (link,) = find_links(f"[[a|{'w' * 200}]]")
    assert link.calls == "w" * 120
