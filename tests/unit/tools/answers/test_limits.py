"""Limits of short answers, by number."""

from __future__ import annotations

from typing import Any

from lithos.tools.answers.lean import fitting_limit, lean


def recalled(hits: int, relevant: bool) -> list[dict[str, Any]]:
    results = [{"id": str(number), "kind": "note", "passage": "word " * 60} for number in range(hits)]
    answer = {"results": results, "relevant": relevant, "tokens_used": 1, "degraded": False}
    return lean("lithos_recall", answer)["results"]


def test_the_first_two_passages_are_whole_and_the_others_have_120_characters() -> None:
    lengths = [len(hit["passage"]) for hit in recalled(4, True)]
    assert lengths[:2] == [300, 300] and all(100 < length <= 122 for length in lengths[2:])


def test_three_hits_are_shown_of_what_is_not_relevant() -> None:
    assert len(recalled(5, False)) == 3


def test_a_list_is_cut_at_4000_tokens() -> None:
    def answer(characters: int) -> dict[str, Any]:
        return {"items": ["x" * (characters // 10 - 3)] * 10}

    assert fitting_limit(answer(15_900)) is None
    assert fitting_limit(answer(16_100)) == 9
    assert fitting_limit(answer(32_000)) == 4
