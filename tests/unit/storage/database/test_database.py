"""Database on SQLite: what callers of `write` and `read` may rely on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from lithos.core.clock import FakeClock
from lithos.errors import Damaged, Forbidden, Internal, NotFound, Unavailable, Unsupported
from lithos.storage import Crash, Database, Migration, PlannedFaults, Tx, open_database
from tests.support.one_batch import hold_writer, in_one_batch
from tests.support.waiting import until

THINGS = (Migration(1, "things", "CREATE TABLE things (name {text} PRIMARY KEY, size {integer}) {strict};"),)


@pytest.fixture
def database(tmp_path: Path):
    opened = open_database(tmp_path / "state.db", THINGS)
    yield opened
    opened.close()


def add(name: str, size: int = 1):
    return lambda tx: tx.run("INSERT INTO things (name, size) VALUES (?, ?)", name, size)


def names(database: Database) -> list[str]:
    return [row["name"] for row in database.read(lambda tx: tx.all("SELECT name FROM things ORDER BY name"))]


def test_a_write_is_seen_by_every_read_after_it(database: Database) -> None:
    assert database.write(add("a")) == 1
    assert database.read(lambda tx: tx.one("SELECT * FROM things")) == {"name": "a", "size": 1}


def test_a_failing_work_undoes_itself_and_leaves_the_others_of_its_batch(database: Database) -> None:
    def refuse(tx: Tx) -> None:
        add("half")(tx)
        raise NotFound("no such thing")

    results = in_one_batch(database, [add("a"), refuse, add("b"), add("a")])
    assert results[0] == results[2] == 1
    assert isinstance(results[1], NotFound)
    assert isinstance(results[3], Internal)
    assert names(database) == ["a", "b"]


def test_callers_that_wait_with_the_same_work_are_one_list_and_each_gets_its_own_answer(database: Database) -> None:
    lists: list[list[str]] = []

    def add_all(tx: Tx, items: Sequence[str]) -> list[int | NotFound]:
        lists.append([*items])
        tx.many("INSERT INTO things (name, size) VALUES (?, 1)", [(each,) for each in items if each != "bad"])
        return [NotFound("no such thing") if each == "bad" else len(each) for each in items]

    results = in_one_batch(
        database, [lambda each=each: database.write_together(add_all, each) for each in ("a", "bad", "ccc")], calls=True
    )
    assert lists == [["a", "bad", "ccc"]]
    assert results[0] == 1 and isinstance(results[1], NotFound) and results[2] == 3
    assert names(database) == ["a", "ccc"]


def test_a_shared_work_that_fails_is_done_for_each_caller_alone(database: Database) -> None:
    def add_all(tx: Tx, items: Sequence[str]) -> list[int]:
        return [add(each)(tx) for each in items]

    results = in_one_batch(
        database, [lambda each=each: database.write_together(add_all, each) for each in ("a", "a", "b")], calls=True
    )
    assert results[0] == results[2] == 1 and isinstance(results[1], Internal)
    assert names(database) == ["a", "b"]


def test_a_batch_that_breaks_is_done_again_one_by_one(tmp_path: Path) -> None:
    faults = PlannedFaults()
    faults.plan("commit.send", OSError(5, "I/O error"), visit=2)
    database = open_database(tmp_path / "state.db", THINGS, faults=faults)
    assert in_one_batch(database, [add("a"), add("b")]) == [1, 1]
    assert names(database) == ["a", "b"]
    database.close()


def test_after_commit_was_sent_nothing_is_done_twice(tmp_path: Path) -> None:
    faults = PlannedFaults()
    faults.plan("commit.done", OSError(5, "I/O error"), visit=2)
    database = open_database(tmp_path / "state.db", THINGS, faults=faults)
    results = in_one_batch(database, [add("a"), add("b")])
    assert all(isinstance(result, Unavailable) for result in results)
    assert names(database) == ["a", "b"]
    database.close()


def test_no_call_waits_for_a_writer_that_died(tmp_path: Path) -> None:
    faults = PlannedFaults()
    faults.plan("commit.send", "crash", visit=2)
    database = open_database(tmp_path / "state.db", THINGS, faults=faults)
    assert all(isinstance(result, Crash) for result in in_one_batch(database, [add("a"), add("b")]))
    with pytest.raises(Unavailable):
        database.write(add("c"))
    database.close()


def test_an_interrupted_caller_leaves_no_other_waiting(database: Database) -> None:
    release = hold_writer(database)

    def interrupt() -> None:
        until(lambda: database._jobs, "the write is queued")
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        database.write(add("given up"))
    release.set()
    assert database.write(add("after")) == 1
    assert names(database) == ["after"]


def test_an_error_of_the_caller_keeps_its_own_type(database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        database.write(lambda tx: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        database.read(lambda tx: 1 // 0)
    assert database.write(add("after")) == 1


def test_a_transaction_inside_a_transaction_is_refused_instead_of_hanging(database: Database) -> None:
    with pytest.raises(Internal, match="inside a transaction"):
        database.write(lambda tx: database.write(add("a")))


def test_a_read_cannot_write(database: Database) -> None:
    with pytest.raises(Forbidden):
        database.read(add("a"))
    assert names(database) == []


def test_a_read_is_one_snapshot(database: Database) -> None:
    database.write(add("a"))

    def twice(tx: Tx) -> tuple[int, int]:
        first = len(tx.all("SELECT * FROM things"))
        database.write(add("b"))
        return first, len(tx.all("SELECT * FROM things"))

    assert database.read(twice) == (1, 1)
    assert names(database) == ["a", "b"]


def test_more_readers_than_connections_take_turns(database: Database) -> None:
    database.write(add("a"))
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(len(names(database)))) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [1] * 40


def test_listeners_are_woken_after_commits_that_notify_and_after_no_other(database: Database) -> None:
    seen: list[list[str]] = []
    stop = database.listen("board", lambda: seen.append(names(database)))

    def notify(tx: Tx) -> None:
        add("a")(tx)
        tx.notify("board")

    def fail(tx: Tx) -> None:
        tx.notify("board")
        raise NotFound("no")

    database.write(add("quiet"))
    with pytest.raises(NotFound):
        database.write(fail)
    assert seen == []
    database.write(notify)
    database.write(lambda tx: None)
    assert seen == [["a", "quiet"]]
    stop()
    database.write(lambda tx: tx.notify("board"))
    database.write(lambda tx: None)
    assert len(seen) == 1


def test_a_closed_database_has_finished_what_it_accepted_and_refuses_more(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db", THINGS)
    release = hold_writer(database)
    caller = threading.Thread(target=database.write, args=(add("accepted"),))
    caller.start()
    while len(database._jobs) < 1:
        caller.join(0.001)
    closer = threading.Thread(target=database.close)
    closer.start()
    release.set()
    closer.join(60)
    caller.join(60)
    with pytest.raises(Unavailable):
        database.write(add("late"))
    again = open_database(tmp_path / "state.db", THINGS)
    assert names(again) == ["accepted"]
    again.close()


def test_a_read_after_the_close_is_refused_instead_of_hanging(tmp_path: Path) -> None:
    database = open_database(tmp_path / "test.db", ())
    database.close()
    with pytest.raises(Unavailable):
        database.read(lambda tx: tx.one("SELECT 1"))


def test_the_moment_comes_from_the_injected_clock(tmp_path: Path) -> None:
    clock = FakeClock("2026-02-03T04:05:06Z")
    database = open_database(tmp_path / "state.db", THINGS, clock=clock)
    moment = database.write(lambda tx: tx.now())
    assert (moment.wall, moment.steady, moment.era) == (clock.now(), 1000.0, "boot-1")
    database.close()


@pytest.mark.parametrize(("asked", "level"), [("FULL", 2), ("NORMAL", 1)])
def test_pragmas_are_in_force_on_the_writer(tmp_path: Path, asked: str, level: int) -> None:
    database = open_database(tmp_path / "state.db", THINGS, synchronous=asked)

    def pragmas(tx: Tx) -> list[object]:
        return [next(iter((tx.one(f"PRAGMA {name}") or {}).values())) for name in ("synchronous", "journal_mode")]

    assert database.write(pragmas) == [level, "wal"]
    database.close()


def test_migrations_run_once_each_and_in_order_of_number(tmp_path: Path) -> None:
    first = open_database(tmp_path / "state.db", THINGS)
    first.write(add("kept"))
    first.close()
    column = Migration(2, "colour", "ALTER TABLE things ADD COLUMN colour {text} NOT NULL DEFAULT '{}';")
    for _ in range(2):
        again = open_database(tmp_path / "state.db", (*THINGS, column))
        assert again.read(lambda tx: tx.one("SELECT * FROM things")) == {"name": "kept", "size": 1, "colour": "{}"}
        again.close()


def test_an_existing_file_is_backed_up_before_its_first_change(tmp_path: Path) -> None:
    first = open_database(tmp_path / "state.db", THINGS)
    first.write(add("kept"))
    first.close()
    assert not list(tmp_path.glob("*.bak"))
    drop = Migration(2, "drop", "DROP TABLE things;")
    open_database(tmp_path / "state.db", (*THINGS, drop)).close()
    backup = open_database(tmp_path / "state.db.before-0002.bak", THINGS)
    assert names(backup) == ["kept"]
    backup.close()


def test_a_failing_migration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    first = open_database(tmp_path / "state.db", THINGS)
    first.write(add("kept"))
    first.close()
    wrong = Migration(2, "wrong", "DROP TABLE things; CREATE TABLE things (;")
    with pytest.raises(Internal):
        open_database(tmp_path / "state.db", (*THINGS, wrong))
    again = open_database(tmp_path / "state.db", THINGS)
    assert names(again) == ["kept"]
    again.close()


def test_a_file_from_the_future_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    newer = Migration(7, "wings", "CREATE TABLE wings (name {text}) {strict};")
    open_database(tmp_path / "state.db", (*THINGS, newer)).close()
    before = (tmp_path / "state.db").read_bytes()
    with pytest.raises(Unsupported, match=r"state\.db was changed by a newer Lithos \(0007_wings\)") as refusal:
        open_database(tmp_path / "state.db", THINGS)
    assert refusal.value.hint
    assert (tmp_path / "state.db").read_bytes() == before


def test_a_file_that_is_no_database_is_damaged_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"not a database, but somebody's text " * 100)
    with pytest.raises(Damaged):
        open_database(tmp_path / "state.db", THINGS)
    assert (tmp_path / "state.db").read_bytes().startswith(b"not a database")


def test_a_lock_held_by_another_process_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.storage.database.sqlite.BUSY_MS", 20)
    database = open_database(tmp_path / "state.db", THINGS)
    other = apsw.Connection(str(tmp_path / "state.db"))  # of the same library: POSIX locks are one per process
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked") as refusal:
        database.write(add("a"))
    assert refusal.value.retryable
    other.execute("ROLLBACK")
    other.close()
    assert database.write(add("a")) == 1
    database.close()
