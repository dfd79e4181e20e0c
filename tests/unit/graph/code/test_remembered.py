"""Results that are remembered have a bound, and long arguments are not kept."""

from __future__ import annotations

from lithos.graph.code.remembered import Remembered


def test_a_result_is_made_once_and_all_are_forgotten_when_there_are_too_many() -> None:
    asked: list[str] = []

    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    remembered = Remembered(upper, most=2, longest=3)
    assert [remembered[each] for each in ("a", "a", "b", "long", "long")] == ["A", "A", "B", "LONG", "LONG"]
    assert asked == ["a", "b", "long", "long"]
    assert remembered["c"] == "C" and list(remembered) == ["c"]
