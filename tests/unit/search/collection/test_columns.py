"""Columns for filters: right after any number of writes, and no larger than what they hold needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.search import Query, Where
from lithos.search.collection import columns
from tests.support.collections_at_hand import collection, note


def test_notes_that_are_written_over_and_over_fill_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LEAST_REPLACED", 10)
    asked = Query("lava", by="words", where=Where(path_prefix="x/"), limit=50)
    with collection(tmp_path) as notes:
        for number in range(40):
            notes.apply([note("a", f"lava {number}", path="x/a.md"), note("b", f"lava {number}", path="y/b.md")])
            assert notes.settle()
            assert [hit.id for hit in notes.query(asked).hits] == ["a"]
        held = notes._indexer.columns._paths
        assert len(held) <= 2 * 2 + 10 + 2
