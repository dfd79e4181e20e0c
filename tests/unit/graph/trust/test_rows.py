"""Rows of trust on either database: verdicts, words, provenance, conflicts, forgetting, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lithos.core.clock import FakeClock
from lithos.core.ids import SeededIds
from lithos.graph.trust import (
    CheckRow,
    CheckRows,
    Conflict,
    ConflictRows,
    ConflictType,
    Evidence,
    ProvenanceRow,
    SourceType,
)
from lithos.storage import Database, Effects, Events, Idempotency, Keyring, coordination_migrations
from tests.support import states


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = states.current.open(tmp_path, FakeClock(), coordination_migrations())
    yield opened
    opened.close()


def row(id: str, at: int = 1) -> CheckRow:
    claims = [{"claim": "`a` calls `b`.", "kind": "calls", "verdict": "confirmed", "proof": ["r:a.py#a"]}]
    return CheckRow(
        id, "history", "h", Evidence(user=True, source=True), True, 1, 0.75, False, False, claims, ["w"], at, 5
    )


def test_a_verdict_comes_back_as_it_was_and_is_replaced_whole(database: Database) -> None:
    rows = CheckRows(database)
    source = ProvenanceRow("t1", SourceType.CODE, "r:a.py#a", "r:a.py", "", 0.75, 9)
    rows.put([row("t1")], {"t1": {"a", "b"}}, [source])
    assert rows.get(["t1", "t2"]) == {"t1": row("t1")} and rows.provenance("t1") == [source]
    assert rows.touching(["b", "zz"], 10) == ["t1"]
    later = replace(row("t1", 2), was_true_until=None, verified=False)
    rows.put([later], {"t1": {"c"}}, [])
    assert rows.get(["t1"]) == {"t1": later}
    assert rows.touching(["b"], 10) == [] and rows.provenance("t1") == []


def conflicts(database: Database, folder: Path) -> ConflictRows:
    clock, ids = FakeClock(), SeededIds()
    events = Events("store", Keyring(folder / "keys"), clock=clock, ids=ids)
    effects = Effects(database, events, Idempotency(clock), {}, clock=clock)
    return ConflictRows(database, effects, clock, ids)


def test_a_pair_has_one_row_and_forgetting_a_side_drops_it(database: Database, tmp_path: Path) -> None:
    stored = conflicts(database, tmp_path)
    pair = Conflict(ConflictType.SEMANTIC, "cache", "a", "b", "'x' contradicts 'y'")
    stored.record([pair])
    stored.record([pair, replace(pair, b="c")])
    assert sorted(each["node_b"] for each in stored.of_nodes(["a"])) == ["b", "c"]
    assert [
        each["subject"] for each in stored.find("Cache", ConflictType.SEMANTIC, False, lambda id: id != "c", 9)
    ] == ["cache"]
    rows = CheckRows(database)
    rows.put([row("b")], {"b": {"a"}}, [])
    rows.forget(["b"])
    assert rows.get(["b"]) == {} and [each["node_b"] for each in stored.of_nodes(["a"])] == ["c"]


def test_the_oldest_verdicts_go_above_the_bound(database: Database) -> None:
    rows = CheckRows(database)
    rows.put([row(f"t{number}", number) for number in range(5)], {"t0": {"a"}}, [])
    assert rows.prune(3) == 2
    assert sorted(rows.get([f"t{number}" for number in range(5)])) == ["t2", "t3", "t4"]
    assert rows.touching(["a"], 9) == []
