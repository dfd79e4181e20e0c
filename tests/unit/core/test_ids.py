"""Ids: their forms, and the order of sortable ones."""

from __future__ import annotations

import time

import pytest

from lithos.core.ids import RandomIds, SeededIds, is_uuid


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


def test_ids_of_one_millisecond_sort_by_age() -> None:
    ids = RandomIds()
    for made in ([ids.sortable() for _ in range(5_000)], [ids.event() for _ in range(5_000)]):
        assert made == sorted(set(made))


def test_a_clock_set_back_makes_no_older_id(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = RandomIds()
    before = ids.sortable()
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    assert before < ids.sortable() < ids.sortable()
