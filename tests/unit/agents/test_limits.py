"""Limits of agents and tokens, by number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.agents import Agents, Tokens
from lithos.core.call import Call
from lithos.errors import InvalidInput
from tests.support.storage_bench import StorageBench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[StorageBench]:
    made = StorageBench(tmp_path)
    yield made
    made.close()


def test_ten_thousand_agents_wait_to_be_written_and_no_more(bench: StorageBench) -> None:
    agents = Agents(bench.database, bench.effects, bench.clock)
    bench.database.close()  # nothing can be written, as on a full disk
    for number in range(10_001):
        agents.seen(f"agent {number}")
    assert len(agents._pending) == 10_000


def test_a_killed_host_leaves_an_agent_known_from_its_first_call(bench: StorageBench) -> None:
    Agents(bench.database, bench.effects, bench.clock).seen("ann")
    assert Agents(bench.database, bench.effects, bench.clock).knows("ann")


@pytest.mark.parametrize(("minutes", "is_new"), [(30, False), (31, True)])
def test_a_visit_ends_after_half_an_hour_without_a_call(bench: StorageBench, minutes: int, is_new: bool) -> None:
    agents = Agents(bench.database, bench.effects, bench.clock)
    agents.seen("ann")
    agents.flush()
    bench.clock.advance(minutes * 60)
    agents.seen("ann")
    agents.flush()
    row = bench.database.read(lambda tx: tx.one("SELECT visit_ended_at FROM agents WHERE id = 'ann'"))
    assert row is not None and (row["visit_ended_at"] is not None) is is_new


def test_a_token_is_remembered_for_two_seconds_and_a_thousand_at_once(bench: StorageBench) -> None:
    tokens = Tokens(bench.database, bench.effects, bench.clock)
    secret = tokens.new(Call("t", operator=True), "laptop")["token"]
    assert tokens.find(secret) and tokens.remembered(secret)
    bench.clock.advance(1.9)
    assert tokens.remembered(secret)
    bench.clock.advance(0.2)
    assert tokens.remembered(secret) is None
    tokens._known = {str(number): (0.0, {}) for number in range(999)}  # type: ignore[misc]
    tokens.find(secret)
    assert len(tokens._known) == 1000
    tokens.find(secret)
    assert len(tokens._known) == 1


def test_a_name_of_a_token_has_at_most_100_characters(bench: StorageBench) -> None:
    tokens = Tokens(bench.database, bench.effects, bench.clock)
    tokens.new(Call("t", operator=True), "n" * 100)
    with pytest.raises(InvalidInput):
        tokens.new(Call("t", operator=True), "n" * 101)
