"""Times, ids, names and text: the small decisions that every part rests on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lithos.core.clock import FakeClock, SystemClock, parse_time, rfc3339
from lithos.core.ids import RandomIds, SeededIds, is_uuid
from lithos.core.names import agent_name
from lithos.core.text import cut, estimate_tokens, nearest, slug
from lithos.errors import InvalidInput, all_errors


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T12:30:00", "2026-01-31T12:30:00Z"),
        ("2026-01-31T12:30:00+02:00", "2026-01-31T10:30:00Z"),
        ("2026-01-31T12:30:00.25Z", "2026-01-31T12:30:00.250000Z"),
        ("1767225600Z", "2026-01-01T00:00:00Z"),
    ],
)
def test_times_are_read_as_utc_whatever_their_form(text: str, meant: str) -> None:
    assert rfc3339(parse_time(text)) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "99999999999999999999Z", "10000-01-01"])
def test_what_is_no_time_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_time(text, "since")
    assert refusal.value.message.startswith("since:")
    assert "ISO 8601" in refusal.value.hint


def test_a_fake_clock_moves_wall_and_boot_time_apart() -> None:
    clock = FakeClock()
    before = clock.since_boot()
    clock.set_wall("2030-01-01")
    assert (clock.since_boot(), clock.now()) == (before, datetime(2030, 1, 1, tzinfo=UTC))
    clock.advance(5)
    assert clock.since_boot() == before + 5


def test_the_system_clock_counts_from_boot_under_one_boot_id() -> None:
    clock = SystemClock()
    assert clock.boot_id() == clock.boot_id()
    assert clock.since_boot() <= clock.since_boot()


@pytest.mark.parametrize("ids", [RandomIds(), SeededIds(7)], ids=["random", "seeded"])
def test_ids_have_their_forms(ids: RandomIds | SeededIds) -> None:
    assert is_uuid(ids.note()) and ids.note()[14] == "4"
    sortable = ids.sortable()
    assert is_uuid(sortable) and sortable[14] == "7" and sortable[19] in "89ab"
    event = ids.event()
    assert len(event) == 26 and event.isupper() and event.isalnum()


def test_seeded_ids_repeat_and_sort_by_age() -> None:
    one, two = SeededIds(3), SeededIds(3)
    first = [one.sortable() for _ in range(20)]
    assert first == [two.sortable() for _ in range(20)] == sorted(first)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "a\x00", "\ud800"])
def test_agent_names_that_would_break_a_table_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        agent_name(name)


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


def test_every_error_has_a_code_of_its_own() -> None:
    codes = all_errors()
    assert len(codes) == len({type_.code for type_ in codes.values()})
    assert {"invalid_input", "not_found", "conflict", "key_reused", "busy"} <= set(codes)
