"""Limits of sections, by number: how many an error offers, and how long a name may be to be offered."""

from __future__ import annotations

import pytest

from lithos.errors import NotFound
from lithos.garden.sections import outline


def offered(text: str) -> list[str]:
    with pytest.raises(NotFound) as missed:
        outline(text).find("nowhere")
    return list(missed.value.details["candidates"])


def test_an_error_offers_thirty_sections() -> None:
    assert len(offered("".join(f"## S{number}\n" for number in range(31)))) == 30


def test_a_name_of_400_characters_is_offered_and_a_longer_one_by_its_line() -> None:
    assert offered(f"## {'a' * 400}\n\n## {'b' * 401}\n") == ["a" * 400, "(line 3)"]
