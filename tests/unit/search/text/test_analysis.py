"""The terms that documents get are those that questions ask for, however they were made."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lithos.search.text import analysis
from lithos.search.text.analysis import IndexedText, compounds, phrase_terms, query_terms, splitter, whole_words

_PIECES = st.sampled_from(
    [
        *"aB9_.'’ \n-(=",
        "os.path.join",
        "parseQuery",
        "user's",
        "ERR_4021",
        "HTTPServer",
        "été",
        "日本語",
        "👍🏽",
        "½",
        "running",
        "v1.2",
        "C++",
        "e-mail",
        "HTML5Doc",
        "प्रधान",
        "#",
    ]
)


@given(st.lists(_PIECES, max_size=30).map("".join))
@example(".foo.bar foo_bar. a..b 'quoted' x" * 9)
@example("a" * 300 + " after")
@example(
    "self.parse_query. models.ForeignKey__in. my_parseQuery.fooBar_ " + "abc." * 12 + "x " + ".".join(["z" * 41] * 9)
)
def test_the_index_gets_the_terms_that_a_phrase_asks_for(text: str) -> None:
    made = IndexedText.of(text)
    assert splitter().analyze(made.stems) == phrase_terms(text)
    if text.isascii():
        assert set(whole_words(text)) <= set(splitter().analyze(made.words)) | {"s"}


def test_ever_new_numbers_fill_no_memory() -> None:
    IndexedText.of("the words")
    before = [len(each) for each in (analysis._WORDS, analysis._STEMS)]
    assert IndexedText.of("words 700123 and 700124").stems.split()[-1] == "700124"
    IndexedText.of(" ".join(map(str, range(10**6, 10**6 + 500))))
    after = [len(each) for each in (analysis._WORDS, analysis._STEMS)]
    assert max(now - then for now, then in zip(after, before, strict=True)) <= 2


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("by e-mail", "email"),
        ("by email", "e-mail"),
        ("the header x-forwarded-for", "xForwardedFor"),
        ("class parseHTML5Doc", "HTML5"),
        ("class parseHTML5Doc", "html doc"),
        ("written in C++", "c++"),
        ("written in C#.", "csharp"),
    ],
)
def test_a_name_is_found_by_its_other_spellings(text: str, question: str) -> None:
    assert query_terms(question)[0] in IndexedText.of(text).stems.split()


def test_a_letter_is_no_programming_language() -> None:
    for language in ("C++", "C#", "F#"):
        assert set(query_terms(language)) - set(IndexedText.of("the letters C and F").stems.split())
    assert "iplusplus" not in IndexedText.of("a i+++b ab# #c").stems


@pytest.mark.parametrize("question", ["1.2.3", "v1.2.3", "V1.2.3,"])
def test_a_version_is_found_with_its_v_and_without(question: str) -> None:
    assert sorted(compounds(question)) == [["1", "2", "3"], ["v1", "2", "3"]]
