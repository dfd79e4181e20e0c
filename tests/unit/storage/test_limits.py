"""Limits of storage and the board, by number: a changed constant turns one of these red."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.errors import Damaged
from lithos.storage import EventDraft, EventFilter, Outcome, Tx
from lithos.storage.audit.keys import Keyring
from lithos.storage.journal.journal import KEPT_ENTRIES, MOST_ENTRIES, TRIM_EVERY
from tests.support.storage_bench import StorageBench, keyed


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[StorageBench]:
    made = StorageBench(tmp_path)
    yield made
    made.close()


def append(bench: StorageBench, count: int) -> None:
    drafts = tuple(EventDraft("counter", "add", f"thing {number}") for number in range(count))
    bench.effects.commit(keyed(None), lambda tx: Outcome({}, drafts))


def test_a_page_of_events_has_at_most_five_hundred(bench: StorageBench) -> None:
    append(bench, 501)

    def read(tx: Tx) -> int:
        page = bench.events.find(tx, EventFilter(), limit=10_000)
        assert page["next_cursor"] is not None
        return len(page["events"])

    assert bench.database.read(read) == 500


def test_the_journal_keeps_what_its_documentation_promises() -> None:
    assert (KEPT_ENTRIES, MOST_ENTRIES, TRIM_EVERY) == (10_000, 200, 256)


def test_verify_lists_a_hundred_problems_and_counts_all(bench: StorageBench) -> None:
    append(bench, 101)
    bench.database.write(lambda tx: tx.run("UPDATE events SET op = 'forged'"))
    verdict = bench.database.read(bench.events.verify)
    assert len(verdict["problems"]) == 100
    assert verdict["problem_count"] >= 101


def test_a_key_of_events_has_32_bytes_and_one_of_another_length_is_damage(tmp_path: Path) -> None:
    keys = Keyring(tmp_path)
    assert len(keys.add(1)) == 32
    (tmp_path / "events-0001.key").chmod(0o600)
    (tmp_path / "events-0001.key").write_text("00" * 31)
    with pytest.raises(Damaged):
        Keyring(tmp_path).key(1)
