"""Short documents beside each other share some of their score."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lithos.search import Document, Embedding, Query, Remove, SequencePlace, open_embedder, place_in
from lithos.search.collection.sequences import Sequences
from tests.support.collections_at_hand import opened


def test_the_ones_before_and_after_are_beside() -> None:
    order = Sequences()
    for ordinal, at in ((7, 0.0), (3, 1.0), (9, 2.0), (4, 10.0)):
        order.add(ordinal, SequencePlace("a", at, 1.5))
    order.add(5, SequencePlace("b", 1.0, 1.5))
    assert [order.beside(each) for each in (7, 3, 9, 4, 5, 99)] == [[3], [7, 9], [3], [], [], []]
    order.remove([3, 99])
    assert order.beside(7) == [] and order.beside(3) == []


def test_any_order_of_changes_ends_the_same() -> None:
    rng = random.Random(1)
    kept: dict[int, SequencePlace] = {}
    order = Sequences()
    for ordinal in range(300):
        kept[ordinal] = SequencePlace(rng.choice("ab"), rng.randrange(20), 2)
        order.add(ordinal, kept[ordinal])
        if rng.random() < 0.4:
            gone = rng.choice([*kept])
            del kept[gone]
            order.remove([gone])
        around = {each: near for each in range(300) if (near := order.beside(each))}
        assert order.beside_each(range(300)) == around  # what it kept of the last question is not stale
    fresh = Sequences()
    for ordinal, place in kept.items():
        fresh.add(ordinal, place)
    assert [order.beside(each) for each in kept] == [fresh.beside(each) for each in kept]


def test_a_long_text_is_part_of_no_sequence() -> None:
    assert place_in("a", 1, 1, "x" * 400) is not None and place_in("a", 1, 1, "x" * 401) is None


TURNS = ["We talked about the harbour.", "The lighthouse was painted red.", "It took nine days and two ladders."]


@pytest.mark.parametrize("reopened", [False, True])
def test_the_answer_beside_a_match_comes_before_an_equal_text_elsewhere(tmp_path: Path, reopened: bool) -> None:
    """The second half of an answer says none of its words; what stands beside it does."""
    model = Embedding(open_embedder("all-MiniLM-L6-v2"))
    made = opened(tmp_path, model)
    turns = [*TURNS, "Nothing was said.", *(f"Filler number {each} of the log." for each in range(8))]
    documents = [
        Document(f"t{at}", "", text, f"h{at}", sequence=SequencePlace("talk", at, 1)) for at, text in enumerate(turns)
    ]
    twin = Document("twin", "", TURNS[2], "h")
    made.apply([*documents, twin])
    assert made.settle()
    if reopened:
        made.close()
        made = opened(tmp_path, model)
    found = [hit.id for hit in made.query(Query("when was the lighthouse painted", limit=20)).hits]
    assert found[0] == "t1" and found.index("t2") < found.index("twin")
    made.apply([Remove("t1")])
    assert made.settle()
    left = {hit.id: hit.score for hit in made.query(Query("when was the lighthouse painted", limit=20)).hits}
    assert left["t2"] == pytest.approx(left["twin"])
    made.close()
    model.close()
