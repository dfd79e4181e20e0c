"""Ids: their forms, and the order of sortable ones."""

from __future__ import annotations

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
