"""Which pieces of evidence an answer has room for."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.graph.answers.selection import choose


@dataclass(frozen=True)
class Piece:
    text: str
    quality: float
    tokens: int


def test_what_does_not_fit_the_budget_is_skipped() -> None:
    big, small, poor = Piece("one large piece", 0.9, 90), Piece("another small", 0.8, 20), Piece("poor one", 0.29, 1)
    first = Piece("the first of all", 0.95, 20)
    found = choose([small, poor, big, first], 50)
    assert found.pieces == (first, small) and found.tokens == 40 and found.left_out == 1


def test_near_equal_pieces_count_once() -> None:
    text = "retry the request three times with a growing pause between the tries"
    found = choose([Piece(text, 0.9, 5), Piece(f"{text}!", 0.8, 5), Piece("another matter", 0.7, 5)], 100)
    assert [piece.quality for piece in found.pieces] == [0.9, 0.7]
