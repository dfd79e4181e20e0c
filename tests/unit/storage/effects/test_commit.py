"""Effects.commit with once: one effect per key, whatever is repeated, refused or fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lithos.core.call import Delivery
from lithos.errors import KeyReused, NotFound
from lithos.storage import Outcome, Tx
from tests.support.storage_bench import StorageBench, keyed

pytestmark = pytest.mark.both_databases


@pytest.fixture
def bench(tmp_path: Path):
    made = StorageBench(tmp_path)
    yield made
    made.close()


def test_the_same_key_and_arguments_give_the_first_answer_and_no_second_effect(bench: StorageBench) -> None:
    assert bench.effects.commit(keyed(), bench.count) == {"count": 1}
    assert bench.effects.commit(keyed(), bench.count) == {"count": 1}
    assert bench.counted() == 1
    assert bench.rows("events") == 1


def test_without_a_key_every_call_takes_effect(bench: StorageBench) -> None:
    for expected in (1, 2, 3):
        assert bench.effects.commit(keyed(None), bench.count) == {"count": expected}


def test_a_key_with_other_arguments_is_refused_and_changes_nothing(bench: StorageBench) -> None:
    bench.effects.commit(keyed(), bench.count)
    with pytest.raises(KeyReused) as refusal:
        bench.effects.commit(keyed(arguments_hash="h2"), bench.count)
    assert refusal.value.hint
    assert bench.counted() == 1


@pytest.mark.parametrize("other", [{"tool": "recount"}, {"agent": "bob"}, {"agent": None}])
def test_a_key_belongs_to_one_tool_and_one_agent(bench: StorageBench, other: dict[str, str]) -> None:
    bench.effects.commit(keyed(), bench.count)
    assert bench.effects.commit(keyed(**other), bench.count) == {"count": 2}


def test_a_refused_outcome_is_answered_but_writes_nothing_and_leaves_its_key_free(bench: StorageBench) -> None:
    def refuse(tx: Tx) -> Outcome:
        bench.count(tx)
        return Outcome({"success": False, "reason": "held"}, refused=True)

    assert bench.effects.commit(keyed(), refuse) == {"success": False, "reason": "held"}
    assert (bench.counted(), bench.rows("events"), bench.rows("once")) == (0, 0, 0)
    assert bench.effects.commit(keyed(), bench.count) == {"count": 1}


def test_a_failed_attempt_leaves_its_key_free(bench: StorageBench) -> None:
    def fail(tx: Tx) -> Outcome:
        bench.count(tx)
        raise NotFound("no such counter")

    with pytest.raises(NotFound):
        bench.effects.commit(keyed(), fail)
    assert (bench.counted(), bench.rows("once")) == (0, 0)
    assert bench.effects.commit(keyed(), bench.count) == {"count": 1}


def test_a_second_call_waits_for_the_first_that_runs(bench: StorageBench) -> None:
    inside, release = threading.Event(), threading.Event()

    def slow(tx: Tx) -> Outcome:
        inside.set()
        assert release.wait(60)
        return bench.count(tx)

    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda work=work: answers.append(bench.effects.commit(keyed(), work)))
        for work in (slow, bench.count)
    ]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    release.set()
    for thread in threads:
        thread.join(60)
    assert answers == [{"count": 1}, {"count": 1}]
    assert bench.counted() == 1


def test_a_waiting_call_takes_effect_itself_when_the_first_fails(bench: StorageBench) -> None:
    inside, release = threading.Event(), threading.Event()

    def fail(tx: Tx) -> Outcome:
        inside.set()
        assert release.wait(60)
        raise NotFound("no")

    def call_failing() -> None:
        with pytest.raises(NotFound):
            bench.effects.commit(keyed(), fail)

    answers: list[object] = []
    first = threading.Thread(target=call_failing)
    second = threading.Thread(target=lambda: answers.append(bench.effects.commit(keyed(), bench.count)))
    first.start()
    assert inside.wait(60)
    second.start()
    release.set()
    first.join(60)
    second.join(60)
    assert answers == [{"count": 1}]


def test_a_record_is_forgotten_after_48_hours(bench: StorageBench) -> None:
    bench.effects.commit(keyed(), bench.count)
    bench.clock.advance(47.9 * 3600)
    assert bench.effects.commit(keyed(), bench.count) == {"count": 1}
    bench.clock.advance(0.2 * 3600)
    assert bench.effects.commit(keyed(arguments_hash="h2"), bench.count) == {"count": 2}
    assert bench.effects.commit(keyed(arguments_hash="h2"), bench.count) == {"count": 2}


def test_pruning_drops_old_records_and_keeps_young_ones(bench: StorageBench) -> None:
    delivery = Delivery("guest", "1")
    bench.effects.commit(keyed("old", delivery=delivery), bench.count)
    bench.clock.advance(49 * 3600)
    bench.effects.commit(keyed("young"), bench.count)
    assert bench.database.write(bench.once.prune) == 2
    assert (bench.rows("once"), bench.rows("deliveries")) == (1, 0)


def test_a_resent_delivery_gets_the_first_answer(bench: StorageBench) -> None:
    first = keyed(None, delivery=Delivery("guest", "7"))
    again = keyed(None, delivery=Delivery("guest", "7", resent=True))
    assert bench.effects.commit(first, bench.count) == {"count": 1}
    assert bench.effects.commit(again, bench.count) == {"count": 1}
    assert bench.counted() == 1


def test_a_client_that_reuses_its_request_ids_is_served_each_time(bench: StorageBench) -> None:
    first = keyed(None, delivery=Delivery("guest", "7"))
    assert bench.effects.commit(first, bench.count) == {"count": 1}
    assert bench.effects.commit(first, bench.count) == {"count": 2}
    again = keyed(None, delivery=Delivery("guest", "7", resent=True))
    assert bench.effects.commit(again, bench.count) == {"count": 2}
    other = keyed(None, arguments_hash="h2", delivery=Delivery("guest", "7", resent=True))
    assert bench.effects.commit(other, bench.count) == {"count": 3}


def test_locks_take_no_memory_once_no_call_waits(bench: StorageBench) -> None:
    for number in range(20):
        bench.effects.commit(keyed(f"k{number}", delivery=Delivery("guest", str(number))), bench.count)
    assert bench.once._locks._locks == {}
