"""Conflicts: found from claims, one row per pair, resolved for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.graph.code import GraphFacts
from lithos.graph.trust import ConflictType, Statement, detect_conflicts
from tests.support.code_repos import code_graph, repository

DAY = 86_400.0
FILES = {
    "shop/cart.py": "def check_stock(item, count=1):\n    return item\n",
    "shop/store.py": "class Store:\n    pass\n",
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphFacts]:
    folder: Path = tmp_path_factory.mktemp("conflicts")
    with code_graph(folder / "data", ("shop", repository(folder / "shop", FILES))) as code:
        yield GraphFacts(code, code.roots())


def said(id: str, text: str, day: float = 0.0) -> Statement:
    return Statement(id, "history", text, day * DAY)


def test_two_values_of_one_thing_are_a_semantic_conflict(facts: GraphFacts) -> None:
    found = detect_conflicts(
        [said("b", "We use Redis for caching."), said("a", "We use Memcached for caching.", 3)], facts
    )
    assert [(each.type, each.a, each.b) for each in found] == [(ConflictType.SEMANTIC, "a", "b")]


def test_the_same_pair_a_month_apart_is_temporal_and_age_alone_is_none(facts: GraphFacts) -> None:
    old = said("a", "We use Redis for caching.")
    assert (
        detect_conflicts([old, said("b", "We use Memcached for caching.", 40)], facts)[0].type is ConflictType.TEMPORAL
    )
    assert detect_conflicts([old, said("b", "We use Redis for caching.", 400)], facts) == []
    assert detect_conflicts([old, said("b", "We use Redis for sessions.", 400)], facts) == []


def test_a_text_that_code_contradicts_is_a_source_mismatch(facts: GraphFacts) -> None:
    found = detect_conflicts([said("z", "`Store` is defined in `shop/cart.py`.")], facts)
    assert found[0].type is ConflictType.SOURCE_MISMATCH
    assert (found[0].a, found[0].b) == ("shop:shop/store.py#Store", "z")
    assert found[0].resolution == "Code is source of truth - history may be outdated"


def test_a_negation_contradicts(facts: GraphFacts) -> None:
    found = detect_conflicts([said("a", "`x_one` calls `y_two`."), said("b", "`x_one` does not call `y_two`.")], facts)
    assert [each.type for each in found] == [ConflictType.SEMANTIC]


def test_one_conflict_per_pair_however_many_sentences(facts: GraphFacts) -> None:
    a = "We use Redis for caching. We use Celery for jobs."
    b = "We use Memcached for caching. We use Dramatiq for jobs."
    assert len(detect_conflicts([said("a", a), said("b", b)], facts)) == 1
