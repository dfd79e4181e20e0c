"""Limits of what is read from a statement, at their values."""

from __future__ import annotations

from lithos.graph.trust.claims.extraction import claims_in


def sentence(number: int) -> str:
    return f"The function `name_{number}` is in `src/file_{number}.py`. "


def test_at_most_50_claims_are_read_from_a_text_and_none_after_20000_characters() -> None:
    assert claims_in(sentence(1))
    assert len(claims_in("".join(map(sentence, range(80))))) == 50
    filler = "a b.\n"
    assert claims_in(filler * 3_980 + sentence(1))
    assert claims_in(filler * 4_000 + sentence(1)) == []
