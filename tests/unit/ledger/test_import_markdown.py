"""How a MEMORY.md is cut into thoughts: bullets with what belongs to them, and paragraphs."""

from __future__ import annotations

import pytest

from lithos.ledger.import_markdown import read_memory


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("- a\n- b\n\nA paragraph.\n\n- c\n", ["a", "b", "A paragraph.", "c"]),
        ("- a\n\n\n\nOne.\nTwo.\n\nThree.\n", ["a", "One.\nTwo.", "Three."]),
        ("* a\n  more of a\n\n  a paragraph of a\n\nnot of a\n", ["a\nmore of a\n\na paragraph of a", "not of a"]),
        ("- a\nlazy continuation\n", ["a\nlazy continuation"]),
        ("- a\n\n## Heading\ntext\n", ["a", "text"]),
        ("- a\n\n```\ncode\n\nmore\n```\n", ["a", "```\ncode\n\nmore\n```"]),
        ("text\n- a\n", ["text", "a"]),
    ],
)
def test_a_paragraph_after_a_list_is_a_separate_thought(text: str, contents: list[str]) -> None:
    assert [item.content for item in read_memory(text)] == contents
