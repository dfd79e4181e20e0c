"""Recall in scripts that the packaged model hardly reads: full text carries them, so a fake model will do here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lithos.search import Collection, Embedding, HashedEmbedder, Query
from tests.support.collections_at_hand import note, opened
from tests.support.languages import NOTES, notes, questions, strange


@pytest.fixture(scope="module", params=NOTES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def library(language: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    embedding = Embedding(HashedEmbedder())
    made = opened(tmp_path_factory.mktemp(language), embedding)
    made.apply(note(str(number), text, title="") for number, text in enumerate(notes(language)))
    assert made.settle(300)
    yield made
    made.close()
    embedding.close()


def test_the_sets_are_large_enough_to_tell(language: str) -> None:
    assert len(set(notes(language))) >= 30
    assert len(questions(language)) >= 20
    assert {number for number, _ in questions(language)} <= set(range(30))


@pytest.mark.parametrize(("by", "first", "among_five"), [("words", 0.85, 0.95), ("both", 0.85, 0.95)])
def test_questions_find_their_note(
    library: Collection, language: str, by: str, first: float, among_five: float
) -> None:
    found = [
        ([hit.id for hit in library.query(Query(text, by, 5)).hits], str(number))  # type: ignore[arg-type]
        for number, text in questions(language)
    ]
    missed = [number for hits, number in found if number not in hits]
    assert len(missed) <= (1 - among_five) * len(found), missed
    wrong = [number for hits, number in found if hits[:1] != [number]]
    assert len(wrong) <= (1 - first) * len(found), wrong


def test_most_questions_are_seen_to_be_answered_and_strange_ones_are_not(library: Collection, language: str) -> None:
    unsure = [number for number, text in questions(language) if not library.query(Query(text)).relevant]
    assert len(unsure) <= 0.2 * len(questions(language)), unsure
    assert [text for text in strange(language) if library.query(Query(text)).relevant] == []
