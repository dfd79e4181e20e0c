"""Limits of what is read of a repository and shown of it, at their values."""

from __future__ import annotations

import pytest

from lithos.graph.code.questions.files import _fitting
from lithos.graph.code.roots.rule import Rule


@pytest.mark.parametrize(
    ("data", "refused"),
    [
        (b"x\n" * 500_000, None),
        (b"x\n" * 500_000 + b"x", "large"),
        ((b"x" * 399 + b"\n") * 10, None),
        ((b"x" * 450 + b"\n") * 10, "minified"),
        ((b"x" * 999 + b"\n") * 2, None),
    ],
)
def test_a_file_is_indexed_up_to_a_million_bytes_unless_its_lines_are_endless(data: bytes, refused: str | None) -> None:
    assert Rule().refuses_content(data) == refused


def test_an_answer_shows_2000_lines_and_200000_characters_of_a_file() -> None:
    assert _fitting(["a\n"] * 3_000, 1, 3_000)[1] == 2_000
    assert _fitting(["a\n"] * 3_000, 500, 3_000)[1] == 2_499
    text, until = _fitting(["x" * 999 + "\n"] * 300, 1, 300)
    assert (len(text), until) == (200_000, 200)
    assert len(_fitting(["x" * 300_000], 1, 1)[0]) == 200_000
