"""Limits of queries and snippets, by number."""

from __future__ import annotations

import pytest

from lithos.search.text import analysis
from lithos.search.text.snippets import Snippets
from lithos.search.text.syntax import NotSyntax, _bounded, _tree


def test_a_snippet_has_240_characters_and_is_whole_up_to_there() -> None:
    text = "word " * 47 + "valve"
    assert len(text) == 240 and Snippets({"valv"}).of(text) == text.replace("valve", "<b>valve</b>")
    longer = Snippets({"valv"}).of("word " * 47 + "valves")
    assert longer.startswith("… ") and longer.endswith("<b>valves</b>")
    inside = Snippets({"valv"}).of("filler " * 100 + "valve " + "filler " * 100)
    assert 200 < len(inside.replace("<b>", "").replace("</b>", "")) <= 240 + 4


def test_what_is_longer_than_2000_characters_is_no_query_syntax() -> None:
    _tree("a" * 1999 + "b")
    with pytest.raises(NotSyntax):
        _tree("a" * 2001)


def test_brackets_are_nested_32_deep_at_most() -> None:
    _tree("(" * 32 + "a" + ")" * 32)
    with pytest.raises(NotSyntax):
        _tree("(" * 33 + "a" + ")" * 33)


class Index:
    def frequency(self, term: str) -> int:
        return int(term[1:]) + 1


@pytest.mark.parametrize(("terms", "kept"), [(64, 64), (65, 64)])
def test_a_page_of_text_asks_for_its_64_rarest_words(terms: int, kept: int) -> None:
    words = [f"w{number}" for number in range(terms)]
    assert _bounded(words, Index(), set) == words[:kept]  # type: ignore[arg-type]


def test_a_word_has_at_most_255_bytes() -> None:
    assert analysis.analyzed("a" * 254) and not analysis.analyzed("a" * 256)


def test_eight_compounds_of_a_question_count_each_of_at_most_twelve_parts() -> None:
    assert len(analysis.compounds(" ".join(f"a{n}-b{n}" for n in range(9)))) == 8
    assert analysis.compounds("-".join("123456789abc")) and not analysis.compounds("-".join("123456789abcd"))


@pytest.mark.parametrize(
    ("question", "text", "shown"),
    [
        ("die", "Dying, dies; diet, iced", "<b>Dying</b>, <b>dies</b>; diet, iced"),
        ("sky", "skies sky,sky", "<b>skies</b> <b>sky</b>,<b>sky</b>"),
        ("relation rel", "Relational_rel relate", "<b>Relational</b>_<b>rel</b> <b>relate</b>"),
    ],
)
def test_a_snippet_marks_words_whose_letters_their_stem_does_not_have(question: str, text: str, shown: str) -> None:
    assert Snippets(analysis.query_terms(question)).of(text) == shown
