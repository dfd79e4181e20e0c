"""Limits of a collection, by number: how much text a question takes apart before it answers."""

from __future__ import annotations

import pytest

from lithos.search import Document, Passage, Remove, Where
from lithos.search.collection.unindexed import UnindexedChanges, comparable, match_unindexed
from lithos.search.text.syntax import Reading


def changes(*sizes: int) -> UnindexedChanges:
    """One document of each size; cutting it is counted in `cut`."""
    found = UnindexedChanges()
    for number, size in enumerate(sizes):
        found.put(number, Document(id=str(number), title="", text="x " * (size // 2), hash="h"), _cut)
    return found


def _cut(document: Document) -> tuple[Passage, ...]:
    return (Passage(document.text, "", 0),)


@pytest.mark.parametrize(("characters", "is_large"), [(200_000, False), (200_002, True)])
def test_no_query_waits_for_a_document_of_more_than_200000_characters(characters: int, is_large: bool) -> None:
    (change,) = changes(characters).values()
    assert change.large is is_large


@pytest.mark.parametrize(
    ("sizes", "large"),
    [
        ((199_000, 199_000, 199_000), [False, True, True]),
        ((90_000, 90_000, 30_000, 19_000), [False, False, True, False]),
        ((19_000,) * 30, [False] * 30),  # notes of a usual size are waited for
        ((250_000, 150_000), [True, False]),
    ],
)
def test_no_query_waits_for_documents_of_more_than_200000_characters_in_sum(
    sizes: tuple[int, ...], large: list[bool]
) -> None:
    assert [each.large for each in changes(*sizes).values()] == large


def test_a_question_takes_at_most_200000_characters_apart_however_many_documents_there_are() -> None:
    found = changes(*(19_000,) * 30, 150_000)
    assert not found.are_few(100, most=256)  # it waits for the index first
    taken = comparable(found.values())
    assert 100_000 < sum(each.size for each in taken) <= 200_000
    match_unindexed(taken, Reading(["x"]), {"x": 1.0}, Where())
    again = comparable(found.values())  # those are known now, so that the next question takes others apart
    assert 100_000 < sum(each.left for each in again) <= 200_000 and {*map(id, taken)} < {*map(id, again)}


def test_a_commit_takes_a_million_characters_or_one_large_document() -> None:
    found = changes(*(19_000,) * 60, 900_000, 900_000)
    first = found.batch(1000)
    assert 900_000 < sum(each.size for each in first.values()) <= 1_000_000
    for id in first:
        del found[id]
    assert len(found.batch(1000)) == 60 - len(first)
    for id in found.batch(1000):
        del found[id]
    assert [each.size for each in found.batch(1000).values()] == [900_000]


def test_a_later_change_takes_the_place_of_an_earlier_one() -> None:
    found = changes(150_000)
    found.put(5, Remove("0"), _cut)
    assert [(each.sequence, each.size, each.large) for each in found.values()] == [(5, 0, False)]
