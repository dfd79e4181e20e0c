"""A commit, broken at every step: killed, failing, on a full disk. What was acknowledged is there, and only once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lithos.errors import StorageFull, Unavailable
from lithos.storage import Crash, Migration, PlannedFaults, open_database
from tests.support.commit_kills import PAIRS, STEPS, acknowledged_until_killed, add_pair, whole_pairs
from tests.support.small_disk import run_on_a_small_disk


@pytest.mark.parametrize("point", STEPS)
def test_a_kill_at_any_step_of_a_commit_loses_nothing_that_was_acknowledged(tmp_path: Path, point: str) -> None:
    acknowledged = acknowledged_until_killed(tmp_path / "state.db", point, 9, callers=4)
    assert acknowledged
    assert acknowledged <= whole_pairs(tmp_path / "state.db")


@pytest.mark.parametrize("point", STEPS)
def test_an_error_at_any_step_is_raised_and_leaves_the_writer_at_work(tmp_path: Path, point: str) -> None:
    faults = PlannedFaults()
    database = open_database(tmp_path / "state.db", PAIRS, faults=faults)
    faults.plan(point, OSError(5, "Input/output error"), 2)
    add_pair(database, "first")
    with pytest.raises(Unavailable) as refusal:
        add_pair(database, "second")
    assert refusal.value.retryable
    add_pair(database, "third")
    database.close()
    expected = {"first", "third"} | ({"second"} if point == "commit.done" else set())
    assert whole_pairs(tmp_path / "state.db") == expected


@pytest.mark.parametrize("number", [1, 2])
def test_a_crash_inside_a_migration_leaves_the_state_before_it(tmp_path: Path, number: int) -> None:
    path = tmp_path / "state.db"
    second = Migration(2, "more", "ALTER TABLE pairs ADD COLUMN more {text}; CREATE TABLE extra (x {text}) {strict};")
    if number == 2:
        first = open_database(path, PAIRS)
        add_pair(first, "kept")
        first.close()
    faults = PlannedFaults()
    faults.plan(f"migrate.{number:04d}.commit", "crash")
    with pytest.raises(Crash):
        open_database(path, (*PAIRS, second), faults=faults)
    again = open_database(path, (*PAIRS, second))
    assert again.read(lambda tx: tx.all("SELECT more FROM pairs UNION SELECT x FROM extra")) == (
        [{"more": None}] if number == 2 else []
    )
    again.close()


def test_a_full_file_is_storage_full_and_only_closing_work_may_use_the_reserve(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db", PAIRS)
    reserve = tmp_path / "state.db.reserve"
    assert reserve.stat().st_size > 0
    pages = database.write(lambda tx: tx.one("PRAGMA page_count"))
    database.write(lambda tx: tx.one(f"PRAGMA max_page_count={pages['page_count']}"))
    with pytest.raises(StorageFull) as refusal:
        add_pair(database, "large", "x" * 100_000)
    assert refusal.value.retryable
    assert reserve.exists()
    with pytest.raises(StorageFull):
        add_pair(database, "closing", "x" * 100_000, reserve=True)
    assert not reserve.exists()
    database.write(lambda tx: tx.one("PRAGMA max_page_count=1000000"))
    add_pair(database, "later", "x" * 100_000)
    database.close()
    assert whole_pairs(tmp_path / "state.db") == {"later"}
    assert reserve.exists()


FULL_DISK = """
import os
from pathlib import Path
from lithos.errors import StorageFull
from lithos.storage import open_database
from tests.support.commit_kills import PAIRS, add_pair
from tests.support.small_disk import fill_the_disk
database = open_database(Path("/mnt/state.db"), PAIRS)
Path("/mnt/hold").write_bytes(bytes(4_000_000))
written = 0
try:
    while True:
        add_pair(database, f"pair-{written}", "x" * 40_000)
        written += 1
except StorageFull as error:
    assert error.retryable and error.hint
fill_the_disk()
database.write(lambda tx: tx.run("DELETE FROM pairs WHERE id = 'pair-0'"), reserve=True)
os.unlink("/mnt/hold")
add_pair(database, "after", "x" * 40_000)
database.close()
again = open_database(Path("/mnt/state.db"), PAIRS)
rows = again.read(lambda tx: tx.all("SELECT id, count(*) AS sides FROM pairs GROUP BY id"))
assert {row["id"] for row in rows} == {"after", *(f"pair-{n}" for n in range(1, written))}, (written, rows)
assert all(row["sides"] == 2 for row in rows)
print("whole")
"""


def test_a_really_full_disk_refuses_keeps_what_was_acknowledged_and_lets_work_that_frees_through() -> None:
    assert run_on_a_small_disk(FULL_DISK, megabytes=32) == "whole\n"


def test_many_callers_and_one_writer_lose_and_double_nothing(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db", PAIRS)
    callers = [
        threading.Thread(target=lambda c=caller: [add_pair(database, f"{c}-{n}") for n in range(50)])
        for caller in range(16)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    database.close()
    assert whole_pairs(tmp_path / "state.db") == {f"{c}-{n}" for c in range(16) for n in range(50)}
