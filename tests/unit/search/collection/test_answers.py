"""A question that was asked before is answered from memory, until anything changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.search import Query, Remove
from tests.support.collections_at_hand import collection, note

ASKED = Query("blue whales", limit=3)


def test_the_same_question_has_the_same_answer_until_something_changes(tmp_path: Path) -> None:
    with collection(tmp_path) as made:
        made.apply([note("a", "Blue whales sing."), note("b", "Red foxes sleep.")])
        assert made.settle()
        first = made.query(ASKED)
        assert made.query(ASKED) is first
        assert made.query(Query("blue whales", limit=2)) is not first
        made.apply([note("c", "Blue whales, blue whales.")])
        assert "c" in {hit.id for hit in made.query(ASKED).hits}
        assert made.settle()
        assert "c" in {hit.id for hit in made.query(ASKED).hits}
        assert made.query(ASKED) is made.query(ASKED)
        made.apply([Remove("c")])
        assert "c" not in {hit.id for hit in made.query(ASKED).hits}


def test_a_purged_text_is_in_no_kept_answer(tmp_path: Path) -> None:
    with collection(tmp_path) as made:
        made.apply([note("a", "Blue whales sing.")])
        assert made.settle()
        made.query(ASKED)
        made.purge(["a"])
        assert made.query(ASKED).hits == ()
        assert "Blue whales" not in repr(made._answers._kept)


def test_a_trace_is_made_for_each_question(tmp_path: Path) -> None:
    with collection(tmp_path) as made:
        made.apply([note("a", "Blue whales sing.")])
        assert made.settle()
        asked = Query("blue whales", explain=True)
        assert made.query(asked) is not made.query(asked)


def test_files_deleted_under_it_are_noticed_by_a_question_asked_before(tmp_path: Path) -> None:
    with collection(tmp_path) as made:
        made.apply([note("a", "Blue whales sing.")])
        assert made.settle()
        assert not made.query(ASKED).degraded
        (tmp_path / ".tantivy" / "notes" / "catalogue.db").unlink()
        assert made.query(ASKED).degraded


@pytest.mark.parametrize("again", [False, True])
def test_hits_below_the_least_are_not_fetched_and_a_lower_least_gets_them(tmp_path: Path, again: bool) -> None:
    with collection(tmp_path) as made:
        made.apply([note(f"n{number}", "blue " * (number + 1) + "whales " + "x " * 9) for number in range(5)])
        assert made.settle()
        whole = made.query(Query("blue whales", limit=5)) if not again else None
        made._answers.forget()
        middle = 0.9 if whole is None else whole.hits[2].score
        some = made.begin(Query("blue whales", limit=5))(middle).hits
        assert all(hit.score >= middle for hit in some) and len(some) < 5
        assert len(made.begin(Query("blue whales", limit=5))(0.0).hits) == 5
