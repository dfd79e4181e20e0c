"""Names of sources in a text."""

from __future__ import annotations

import pytest

from lithos.graph.knowledge.mentions import keys_of, named, url_key


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("as RFC 7519 says, and rfc-8446 too", ["rfc:7519", "rfc:8446"]),
        ("see https://www.rfc-editor.org/rfc/rfc7519#section-4", ["rfc:7519"]),
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


def test_a_source_bears_its_id_title_address_and_numbers() -> None:
    keys = keys_of("ID", "JSON Web Token (RFC 7519)", "https://example.org/jwt/")
    assert keys == ["id:id", "title:json web token (rfc 7519)", "url:example.org/jwt", "rfc:7519"]
    assert url_key("http://a.org/x#y") == url_key("https://www.a.org/x/")
