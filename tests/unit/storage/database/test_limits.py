"""Limits of the database, by number."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lithos.core.clock import FakeClock
from lithos.storage import Database, Migration, Tx, open_database
from lithos.storage.database.page_checksums import has_checksums
from lithos.storage.effects.idempotency import Idempotency
from tests.support.one_batch import in_one_batch

THINGS = (Migration(1, "things", "CREATE TABLE things (name {text} NOT NULL) {strict};"),)


@pytest.fixture
def database(tmp_path: Path):
    opened = open_database(tmp_path / "state.db", THINGS)
    yield opened
    opened.close()


def test_a_connection_waits_ten_seconds_for_a_lock_and_keeps_64_mib_of_log(database: Database) -> None:
    def asked(tx: Tx) -> list[int]:
        return [next(iter(tx.one(f"PRAGMA {name}").values())) for name in ("busy_timeout", "journal_size_limit")]

    assert database.write(asked) == [10_000, 64 * 2**20]


def test_a_batch_has_at_most_256_writes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    taken = database._next_batch

    def counted():
        batch = taken()
        sizes.append(len(batch))
        return batch

    monkeypatch.setattr(database, "_next_batch", counted)
    in_one_batch(database, [lambda tx: tx.put("INSERT INTO things VALUES ('x')")] * 300)
    assert max(sizes) == 256
    assert database.read(lambda tx: tx.one("SELECT count(*) AS n FROM things"))["n"] == 300


def test_an_answer_is_remembered_for_48_hours() -> None:
    clock = FakeClock()
    assert Idempotency(clock)._oldest() == Idempotency(clock, 48)._oldest()


def test_pages_end_in_eight_bytes_of_checksum_as_byte_20_of_the_file_says(tmp_path: Path) -> None:
    open_database(tmp_path / "state.db", THINGS).close()
    assert (tmp_path / "state.db").read_bytes()[20] == 8
    assert has_checksums(tmp_path / "state.db") is True
    sqlite3.connect(tmp_path / "plain.db").execute("CREATE TABLE t (x)").connection.close()
    assert has_checksums(tmp_path / "plain.db") is False
