"""Limits of outside sources at their values."""

from __future__ import annotations

import orjson
import pytest

from lithos.errors import TooLarge
from lithos.graph.sources.bibliography import from_csl
from lithos.graph.sources.extraction import extracted
from lithos.graph.sources.texts import title_of


def entries(count: int) -> bytes:
    return orjson.dumps([{"title": f"Paper {number}"} for number in range(count)])


def test_a_bibliography_has_at_most_2000_entries_and_five_million_bytes() -> None:
    assert len(from_csl(entries(2_000))) == 2_000
    for wrong in (entries(2_001), entries(1).ljust(5_000_001)):
        with pytest.raises(TooLarge):
            from_csl(wrong)
    assert from_csl(entries(1).ljust(5_000_000))


def test_a_file_of_more_than_50_mb_is_refused_before_it_is_read() -> None:
    with pytest.raises(TooLarge, match="52428800 is the most"):
        extracted(bytes(50 * 1024 * 1024 + 1), "paper.txt")


def test_a_title_has_at_most_200_characters() -> None:
    assert len(title_of("# " + "x" * 500, "")) == 200
