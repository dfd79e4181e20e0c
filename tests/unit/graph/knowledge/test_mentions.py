"""Names of sources in a text."""

from __future__ import annotations

import pytest

from lithos.graph.knowledge.mentions import cited, cited_key, keys_of, named, url_key


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("as RFC 7519 says, and rfc-8446 too", ["rfc:7519", "rfc:8446"]),
        ("see https://www.rfc-editor.org/rfc/rfc7519#section-4", ["rfc:7519"]),
        ("serialized to :rfc:`822` strings", ["rfc:822"]),
        ("doi 10.1145/3377811.3380330.", ["doi:10.1145/3377811.3380330"]),
        ("https://doi.org/10.1145/3377811.3380330", ["doi:10.1145/3377811.3380330"]),
        ("arXiv:1706.03762v5 and https://arxiv.org/abs/1706.03762", ["arxiv:1706.03762"]),
        ("(https://Example.org/A/b/)", ["url:example.org/A/b"]),
        ("[[Stateless Auth|that paper]]", ["title:stateless auth"]),
        ("1d3fc9a0-1111-4222-8333-abcdefabcdef", ["id:1d3fc9a0-1111-4222-8333-abcdefabcdef"]),
        ("nothing here, not even rfc or 10.5 percent", []),
    ],
)
def test_a_source_is_named_by_number_address_title_or_id(text: str, keys: list[str]) -> None:
    found = [each.key for each in named(text) if not each.key.startswith("url:doi")]
    assert [each for each in found if each not in ("url:www",)] == keys


def test_the_words_before_a_name_say_that_it_validates() -> None:
    (one,) = named("This was validated by RFC 7519.")
    (other,) = named("RFC 7519 is long.")
    assert (one.validated, other.validated) == (True, False)


def test_a_source_bears_its_id_title_path_address_and_numbers() -> None:
    keys = keys_of("ID", "JSON Web Token (RFC 7519)", "https://example.org/jwt/", "academic/jwt.md")
    assert keys == [
        "id:id",
        "title:json web token (rfc 7519)",
        "title:academic/jwt",
        "title:jwt",
        "cited:jsonwebtokenrfc7519",
        "url:example.org/jwt",
        "rfc:7519",
    ]
    assert url_key("http://a.org/x#y") == url_key("https://www.a.org/x/")


@pytest.mark.parametrize(
    "entry",
    [
        '[1] L. Lamport, "Time, clocks, and the ordering of events in a distributed system," CACM, 1978.',
        "LAMPORT, L. Time, clocks, and the ordering\nof events in a distributed system. Commun. ACM 21, 7 (1978).",
        "Lamport, L. (1978). Time, Clocks, and the Ordering of Events in a Distributed System. CACM.",
    ],
)
@pytest.mark.parametrize("heading", ["## References", "7 REFERENCES", "Bibliography"])
def test_references_name_titles_in_the_usual_styles(entry: str, heading: str) -> None:
    title = "Time, Clocks, and the Ordering of Events in a Distributed System"
    text = f"A text. Others speak of it too.\n\n{heading}\n\n{entry}\n"
    assert cited_key(title) in cited(text)
    assert cited(text.replace(heading, "Methods")) == []


def test_short_titles_are_not_looked_for() -> None:
    assert cited_key("Tidy Data") == "" and cited_key("Liquid Types for all") != ""
