"""The short form of `make torture`, and a planted bug for each part that turns it red."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lithos.app
from tests.torture import crash, judge, power_loss, sums
from tests.torture.load import Told
from tests.torture.system_calls import NO_COMPILER, library

needs_compiler = pytest.mark.skipif(library() is None, reason=NO_COMPILER)


@pytest.fixture(autouse=True)
def cheap_vectors() -> Iterator[None]:
    real = lithos.app.open_embedder  # type: ignore[attr-defined]
    judge.embed_cheaply()
    yield
    lithos.app.open_embedder = real  # type: ignore[attr-defined]


def test_every_acknowledged_operation_survives_kills_and_is_found(tmp_path: Path) -> None:
    told, counts = crash.campaign(tmp_path, seed=16, kills=8)
    print(counts)
    assert counts["kills"] >= 8 and told.answers
    judge.judge(tmp_path / "data", told)
    told.acknowledge(("note", "one that was never written"), "lost")  # the judge bites
    with pytest.raises(AssertionError, match="never written"):
        judge.judge(tmp_path / "data", told)


@needs_compiler
def test_what_was_acknowledged_survives_a_power_cut_at_any_change(tmp_path: Path) -> None:
    counts = power_loss.campaign(tmp_path, seed=5, cuts=12, operations=30)
    assert counts["cuts"] == 12


@needs_compiler
def test_what_was_acknowledged_survives_a_kill_between_any_two_system_calls(tmp_path: Path) -> None:
    counts = power_loss.campaign(tmp_path, seed=6, cuts=8, operations=30, kind="kill")
    assert counts["replayed kills"] == 8


@needs_compiler
@pytest.mark.parametrize("bug", ["the folder of a note is not flushed", "SQLite does not flush its log"])
def test_a_flush_that_is_left_out_turns_the_power_cuts_red(tmp_path: Path, bug: str) -> None:
    with pytest.raises(AssertionError, match="seed 5"):
        power_loss.campaign(tmp_path, seed=5, cuts=60, operations=30, without_flush_of=FLUSHES[bug])


FLUSHES = {"the folder of a note is not flushed": "/knowledge", "SQLite does not flush its log": "coordination.db-wal"}


def test_a_row_of_the_promises_adds_runs_up() -> None:
    page = f"before {sums.BEGIN}\n{sums.END} after"
    for seed, failed in ((7, False), (9, True)):
        page = sums.with_run(page, "2026-01-02", "crash", seed, {"kills": 1000, "calls": 5}, failed)
    page = sums.with_run(page, "2026-01-03", "crash", 11, {"kills": 1}, False)
    assert "| 2026-01-02 | crash | 2 | 7–9 | 2,000 kills, 10 calls | 1 |" in page
    assert "All runs: 2,001 kills, 10 calls; 1 failed." in page
    assert page.startswith("before ") and page.endswith(" after")


def test_a_call_in_flight_may_have_had_its_effect_or_not() -> None:
    told = Told()
    told.begin(("note", "a"), "one")
    assert told.may_be["note", "a"] == {None, "one"}
    told.acknowledge(("note", "a"), "one")
    told.begin(("note", "a"), None)
    told.fail()
    assert told.may_be["note", "a"] == {"one", None}
    assert told.sure("note") == {}
