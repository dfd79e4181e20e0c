"""A first build writes its rows without indexes; none may be missing afterwards, however it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.core.clock import SystemClock
from lithos.graph.code import index
from lithos.graph.code.schema import INDEXES
from lithos.graph.code.store import Store, open_store
from tests.support.code_repos import SHOP, code_graph, graph, write


def indexes(store: Store) -> set[str]:
    rows = store.read(lambda tx: tx.all("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"))
    return {row["name"] for row in rows} & set(INDEXES)


def test_a_first_build_ends_with_every_index_and_the_graph_of_small_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = write(tmp_path / "shop", SHOP)
    with code_graph(tmp_path / "small", ("r", shop)) as code:
        expected = graph(code.roots()[0])
    monkeypatch.setattr(index, "AT_ONCE", 2)
    with code_graph(tmp_path / "large", ("r", shop)) as code:
        assert graph(code.roots()[0]) == expected
        assert indexes(code.roots()[0].store) == set(INDEXES)


def test_a_first_build_that_fails_leaves_every_index(tmp_path: Path) -> None:
    store = open_store(tmp_path / "r.db", SystemClock())
    with pytest.raises(OSError, match="disk"), store.first_build():
        assert indexes(store) == set()
        raise OSError("disk")
    assert indexes(store) == set(INDEXES)
    store.close()


def test_a_start_makes_the_indexes_that_a_kill_left_missing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "r.db", SystemClock())
    store.first_build().__enter__()
    store.close()
    again = open_store(tmp_path / "r.db", SystemClock())
    assert indexes(again) == set(INDEXES)
    again.close()
