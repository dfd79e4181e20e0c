"""Slugs, cuts, token estimates and near names."""

from __future__ import annotations

import pytest

from lithos.core.text import cut, estimate_tokens, nearest, slug


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("asyncio.gather", "asyncio-gather"),
        ("  Hello,  World! ", "hello-world"),
        ("Über Größe", "über-größe"),
        ("日本語 ノート", "日本語-ノート"),
        ("हिन्दी", "हिन्दी"),
        ("!!!", ""),
        ("Cafe\u0301", "café"),
    ],
)
def test_slugs_keep_letters_and_digits_of_any_script(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_a_slug_never_cuts_a_character_in_half() -> None:
    assert slug("語" * 100) == "語" * 40


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("short", 10, "short"),
        ("One. Two. Three.", 10, "One. Two."),
        ("para one\n\npara two", 12, "para one"),
        ("abcdefghij", 4, "abcd"),
        ("Wait. What", 0, ""),
    ],
)
def test_text_is_cut_at_a_boundary_where_there_is_one(text: str, longest: int, expected: str) -> None:
    assert cut(text, longest) == expected


def test_tokens_are_four_bytes_each_rounded_up() -> None:
    assert [estimate_tokens(t) for t in ("", "a", "abcd", "abcde", "語語")] == [0, 1, 1, 2, 2]


def test_nearest_names_what_a_typo_meant() -> None:
    assert nearest("lithos_serach", ["lithos_search", "lithos_write"]) == "lithos_search"
    assert nearest("zzz", ["lithos_search"]) is None
