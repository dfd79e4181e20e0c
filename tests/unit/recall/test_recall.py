"""Recall joins what each kind finds, fits it into a budget, and says what was not searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from lithos.core.call import Call
from lithos.errors import InvalidInput
from lithos.recall import Changed, ChangesQuery, KindHits, Question, Recall
from lithos.search import Hit, Query, SearchResult


@dataclass
class Shelf:
    """A kind over a fixed list of hits."""

    name: str
    hits: Sequence[tuple[str, float, str]]  # id, score, passage
    degraded: str = ""
    relevant: bool = True
    asked: list[Query] = field(default_factory=list)

    def begin(self, question: Question) -> Any:
        return lambda least=0.0: self.find(question)

    def find(self, question: Question) -> KindHits:
        self.asked.append(question.query)
        hits = tuple(Hit(id_, id_, "", "", "", "", passage, 0, score) for id_, score, passage in self.hits)
        trace: dict[str, Any] | None = {self.name: len(hits)} if question.query.explain else None
        return KindHits(SearchResult(hits, self.relevant, self.degraded, trace=trace), self._render)

    def _render(self, hit: Hit) -> dict[str, Any]:
        row = {"id": hit.id, "title": hit.title, "heading": "", "passage": hit.passage, "score": hit.score}
        return {**row, "kind": self.name}

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        return []


def question(text: str = "what?", limit: int = 10, *, explain: bool = False) -> Question:
    return Question(Call("lithos_recall"), Query(text, limit=limit, explain=explain))


def ids(answer: Any) -> list[str]:
    return [hit["id"] for hit in answer["results"]]


def test_the_hits_of_two_kinds_are_joined_by_score() -> None:
    notes = Shelf("note", [("n1", 0.9, "a"), ("n2", 0.4, "b")])
    tasks = Shelf("task", [("t1", 0.7, "c")])
    answer = Recall([notes, tasks]).recall(question())
    assert [(hit["id"], hit["kind"]) for hit in answer["results"]] == [("n1", "note"), ("t1", "task"), ("n2", "note")]  # type: ignore[typeddict-item]


def test_one_kind_keeps_the_order_in_which_it_ranked_its_hits() -> None:
    assert ids(Recall([Shelf("note", [("old", 0.2, "a"), ("new", 0.9, "b")])]).recall(question())) == ["old", "new"]


def test_a_limit_above_the_most_is_clamped_and_named() -> None:
    notes = Shelf("note", [(f"n{number}", 1.0, "x") for number in range(9)])
    answer = Recall([notes], most=3).recall(question(limit=4))
    assert (len(answer["results"]), answer["limit"], notes.asked[0].limit) == (
        3,
        3,
        4,
    )  # one more, to know of a further page
    assert "limit" not in Recall([notes], most=3).recall(question(limit=3))


def test_with_a_budget_a_document_may_give_three_of_sixty_passages() -> None:
    notes = Shelf("note", [("n", 1.0, "x")])
    Recall([notes]).recall(question(limit=5), token_budget=100)
    assert (notes.asked[0].limit, notes.asked[0].per_document) == (60, 3)
    Recall([notes]).recall(question(limit=5))
    assert (notes.asked[1].limit, notes.asked[1].per_document) == (6, 1)


def test_what_fits_the_budget_is_taken_and_the_first_is_cut_rather_than_left_out() -> None:
    notes = Shelf("note", [("big", 0.9, "word " * 400), ("small", 0.5, "tiny")])
    answer = Recall([notes]).recall(question(), token_budget=50)
    assert ids(answer)[0] == "big"
    assert 0 < len(answer["results"][0]["passage"]) < 400
    assert answer["tokens_used"] <= 50
    assert ids(Recall([notes]).recall(question(), token_budget=10_000)) == ["big", "small"]


def test_an_answer_is_degraded_when_any_kind_is_and_names_each_reason_once() -> None:
    kinds = [Shelf("note", [], "files not read yet: 3"), Shelf("task", [], "files not read yet: 3"), Shelf("skill", [])]
    answer = Recall(kinds).recall(question())
    assert (answer["degraded"], answer["degraded_reason"]) == (True, "files not read yet: 3")


def test_an_answer_is_relevant_when_any_kind_found_one() -> None:
    dull, good = Shelf("note", [], relevant=False), Shelf("task", [])
    assert Recall([dull, good]).recall(question())["relevant"] is True
    assert Recall([dull]).recall(question())["relevant"] is False


def test_the_trace_holds_what_every_kind_explains() -> None:
    answer = Recall([Shelf("note", []), Shelf("task", [("t", 1.0, "")])]).recall(question(explain=True))
    assert answer["trace"] == {"note": 0, "task": 1}


@pytest.mark.parametrize("text", ["", "  \n", "x" * 200_001])
def test_a_query_without_words_or_without_end_is_refused_before_any_kind_is_asked(text: str) -> None:
    notes = Shelf("note", [])
    with pytest.raises(InvalidInput):
        Recall([notes]).recall(question(text))
    assert notes.asked == []


def test_every_kind_begins_before_one_is_finished_and_only_hits_that_can_be_shown_are_fetched() -> None:
    happened: list[tuple[str, str, float]] = []

    class Begun(Shelf):
        def begin(self, question: Question) -> Any:
            happened.append((self.name, "begins", 0.0))

            def finish(least: float = 0.0) -> KindHits:
                happened.append((self.name, "ends", least))
                return self.find(question)

            return finish

    notes = Begun("note", [(f"n{number}", 0.8, "a") for number in range(3)])
    answer = Recall([notes, Begun("task", [("t1", 1.1, "c")])]).recall(question(limit=2))
    assert happened == [("note", "begins", 0), ("task", "begins", 0), ("note", "ends", 0), ("task", "ends", 1.0)]
    assert ids(answer) == ["t1", "n0"] and answer["next_cursor"]
