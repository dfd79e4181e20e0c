"""The journal: numbered in commit order, kept within bounds, followed without polling; on both databases."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from lithos.core.clock import FakeClock
from lithos.errors import CursorExpired, Damaged
from lithos.storage import (
    Database,
    Followers,
    Journal,
    JournalPage,
    Migration,
    NewEntry,
    Tx,
    coordination_migrations,
    open_postgres,
)
from lithos.storage.journal.journal import KEPT_ENTRIES, MOST_ENTRIES, TRIM_EVERY
from tests.support import states
from tests.support.states import PostgresStates, open_state
from tests.support.waiting import until_async

pytestmark = pytest.mark.both_databases

SOON = 120.0
SEAT = "INSERT INTO journal_heads (topic, seq, era, steady) VALUES (?, 0, '', 0)"
JOURNAL = Journal("tests")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_state(tmp_path, FakeClock())
    opened.write(lambda tx: tx.many(SEAT, [("tests",), ("others",)]))
    yield opened
    opened.write(lambda tx: tx.run("DELETE FROM journal_heads WHERE topic IN ('tests', 'others')"))
    opened.close()


@pytest.fixture
def followers(database: Database) -> Iterator[Followers]:
    made = Followers(database, JOURNAL)
    yield made
    made.close()


def append(tx: Tx, *subjects: str, journal: Journal = JOURNAL, kind: str = "changed") -> int:
    head = journal.lock(tx)()
    return journal.append(tx, head, *(NewEntry(kind, subject, "ann", {"of": subject}) for subject in subjects))


def write(database: Database, *subjects: str) -> int:
    return database.write(lambda tx: append(tx, *subjects))


def numbers(page: JournalPage) -> list[int]:
    return [entry.seq for entry in page.entries]


async def settled(followers: Followers, count: int) -> None:
    await until_async(lambda: len(followers) >= count, f"{count} followers")


def test_entries_are_numbered_from_one_and_come_back_as_they_were_written(
    database: Database, followers: Followers
) -> None:
    assert write(database, "a") == 1
    assert write(database, "b", "c") == 3
    page = followers.read(0)
    assert [(each.seq, each.kind, each.subject, each.agent, dict(each.details)) for each in page.entries] == [
        (1, "changed", "a", "ann", {"of": "a"}),
        (2, "changed", "b", "ann", {"of": "b"}),
        (3, "changed", "c", "ann", {"of": "c"}),
    ]
    assert (page.cursor, page.more) == (3, False)
    found = database.read(lambda tx: JOURNAL.entry(tx, 2))
    assert found is not None and found.subject == "b"
    assert database.read(lambda tx: JOURNAL.entry(tx, 4)) is None


def test_an_entry_is_there_only_if_its_transaction_is(database: Database, followers: Followers) -> None:
    def fail(tx: Tx) -> None:
        append(tx, "a")
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        database.write(fail)
    assert followers.read(None).cursor == 0
    assert write(database, "b") == 1


def test_topics_count_by_themselves(database: Database, followers: Followers) -> None:
    write(database, "a")
    assert database.write(lambda tx: append(tx, "x", journal=Journal("others"))) == 1
    assert [each.subject for each in followers.read(0).entries] == ["a"]


def test_subjects_choose_entries_and_the_cursor_passes_the_others(database: Database, followers: Followers) -> None:
    write(database, "a", "b", "a", "c")
    page = followers.read(0, ["a", "c"])
    assert numbers(page) == [1, 3, 4] and page.cursor == 4
    assert followers.read(0, []) == JournalPage((), 4)


def test_a_page_is_bounded_and_says_that_there_is_more(database: Database, followers: Followers) -> None:
    write(database, *["a"] * (MOST_ENTRIES + 5))
    first = followers.read(0)
    assert (len(first.entries), first.cursor, first.more) == (MOST_ENTRIES, MOST_ENTRIES, True)
    rest = followers.read(first.cursor)
    assert numbers(rest) == list(range(MOST_ENTRIES + 1, MOST_ENTRIES + 6)) and not rest.more


def test_an_expired_cursor_is_an_error_with_the_way_out(database: Database, followers: Followers) -> None:
    write(database, "a", "b")
    newest = 80 * TRIM_EVERY  # the entry of this number trims
    database.write(lambda tx: tx.run("UPDATE journal_heads SET seq = ? WHERE topic = 'tests'", newest - 1))
    assert write(database, "c") == newest
    for cursor in (0, 1, newest - 2, newest + 1):
        with pytest.raises(CursorExpired) as refused:
            followers.read(cursor)
        assert refused.value.details["cursor"] == newest and str(newest) in refused.value.hint
    assert numbers(followers.read(newest - 1)) == [newest]
    assert followers.read(newest) == JournalPage((), newest)


def test_as_many_entries_are_kept_as_promised_and_no_more_than_one_trim_beyond(
    database: Database, followers: Followers
) -> None:
    def fill(tx: Tx) -> None:
        sql = "INSERT INTO journal (topic, seq, kind, subject, agent, at) VALUES ('tests', ?, 'k', 's', 'a', 0)"
        tx.many(sql, [(number,) for number in range(1, newest)])
        tx.run("UPDATE journal_heads SET seq = ? WHERE topic = 'tests'", newest - 1)

    newest = -(-KEPT_ENTRIES // TRIM_EVERY) * TRIM_EVERY  # the first number at which something is old enough to go
    database.write(fill)
    write(database, "s")
    assert numbers(followers.read(newest - KEPT_ENTRIES))[0] == newest - KEPT_ENTRIES + 1
    with pytest.raises(CursorExpired):
        followers.read(newest - KEPT_ENTRIES - 1)
    for _ in range(TRIM_EVERY - 1):
        write(database, "s")
    row = database.read(lambda tx: tx.one("SELECT count(*) AS n FROM journal WHERE topic = 'tests'"))
    assert row is not None and row["n"] == KEPT_ENTRIES + TRIM_EVERY - 1


def test_a_transaction_that_crosses_the_trim_with_several_entries_trims(database: Database) -> None:
    newest = 80 * TRIM_EVERY
    write(database, "old")
    database.write(lambda tx: tx.run("UPDATE journal_heads SET seq = ? WHERE topic = 'tests'", newest - 2))
    write(database, "a", "b", "c")  # newest - 1, newest, newest + 1
    assert database.read(lambda tx: JOURNAL.entry(tx, 1)) is None


def test_a_lost_head_is_damage_and_never_a_new_beginning(database: Database, followers: Followers) -> None:
    write(database, "a")
    database.write(lambda tx: tx.run("DELETE FROM journal_heads WHERE topic = 'tests'"))
    with pytest.raises(Damaged, match="tests"):
        write(database, "b")
    with pytest.raises(Damaged, match="tests"):
        followers.read(0)


def test_the_head_records_the_clock_of_the_newest_entry(database: Database) -> None:
    write(database, "a")
    head = database.write(lambda tx: JOURNAL.lock(tx)())
    assert (head.seq, head.last_era, head.last_steady) == (1, head.now.era, head.now.steady)


def test_one_wake_for_more_entries_than_a_page_reaches_a_waiter_for_the_last_of_them(
    database: Database, followers: Followers
) -> None:
    async def run() -> JournalPage:
        waiting = asyncio.create_task(followers.wait(None, SOON, ["mine"]))
        await settled(followers, 1)
        await asyncio.to_thread(write, database, *["other"] * (2 * MOST_ENTRIES), "mine")
        return await waiting

    assert numbers(asyncio.run(run())) == [2 * MOST_ENTRIES + 1]


def test_a_commit_that_concerns_none_that_waits_wakes_no_loop_and_the_next_one_still_arrives(
    database: Database, followers: Followers
) -> None:
    reads: list[int | None] = []
    read = followers.read

    def counted(cursor: int | None, subjects: Collection[str] | None = None) -> JournalPage:
        reads.append(cursor)
        return read(cursor, subjects)

    async def run() -> JournalPage:
        waiting = asyncio.create_task(followers.wait(None, SOON, ["mine"]))
        await settled(followers, 1)
        followers.read = counted  # type: ignore[method-assign]
        for _ in range(5):
            await asyncio.to_thread(write, database, *["other"] * MOST_ENTRIES)
        assert database.commits(JOURNAL.channel) is None or reads == []
        await asyncio.to_thread(write, database, "mine")
        return await waiting

    page = asyncio.run(run())
    assert numbers(page) == [5 * MOST_ENTRIES + 1] and page.cursor == 5 * MOST_ENTRIES + 1
    if database.commits(JOURNAL.channel) is not None:
        assert reads == [5 * MOST_ENTRIES]  # what was passed over is not read afterwards


def test_a_waiter_whose_time_ends_goes_on_after_what_was_passed_over(database: Database, followers: Followers) -> None:
    async def run() -> int:
        waiting = asyncio.create_task(followers.wait(None, 2.0, ["mine"]))
        await settled(followers, 1)
        await asyncio.to_thread(write, database, "other", "other")
        return (await waiting).cursor

    assert asyncio.run(run()) == 2


def test_a_waiter_whose_cursor_has_expired_is_refused_at_once(database: Database, followers: Followers) -> None:
    with pytest.raises(CursorExpired):
        asyncio.run(followers.wait(7, SOON))


def test_followers_of_several_loops_see_every_entry_once_and_in_order(database: Database, followers: Followers) -> None:
    count = 90

    async def follow() -> list[int]:
        cursor, seen = 0, []
        while len(seen) < count:
            page = await followers.wait(cursor, SOON)
            seen += numbers(page)
            cursor = page.cursor
        return seen

    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(follow()))) for _ in range(2)]
    writers = [threading.Thread(target=lambda: [write(database, "s") for _ in range(count // 3)]) for _ in range(3)]
    for thread in threads + writers:
        thread.start()
    for thread in threads + writers:
        thread.join(SOON)
    assert found == [list(range(1, count + 1))] * 2


def test_a_closed_follower_is_woken_no_more(database: Database) -> None:
    followers = Followers(database, JOURNAL)

    async def run() -> JournalPage:
        waiting = asyncio.create_task(followers.wait(None, 0.05))
        await settled(followers, 1)
        followers.close()
        await asyncio.to_thread(write, database, "a")
        return await waiting

    assert asyncio.run(run()) == JournalPage((), 0)


def test_the_boards_own_journal_of_earlier_versions_moves_here_with_its_counter(tmp_path: Path) -> None:
    migrations = coordination_migrations()
    older = open_at(tmp_path, tuple(each for each in migrations if each.number < 8))
    older.write(lambda tx: tx.run("UPDATE board_state SET counter = 42, era = 'boot-1', steady = 7.5"))
    changes = [(41, "created", "t1", None, "ann", 10), (42, "claimed", "t1", 'co"de\n', "böb", 20)]
    sql = "INSERT INTO board_changes (seq, kind, task_id, aspect, agent, at) VALUES (?, ?, ?, ?, ?, ?)"
    older.write(lambda tx: tx.many(sql, changes))
    older.close()
    database = open_at(tmp_path, migrations)
    board = Journal("board")
    head = database.write(lambda tx: board.lock(tx)())
    page = database.read(lambda tx: board.since(tx, 40))
    database.close()
    assert (head.seq, head.last_era, head.last_steady) == (42, "boot-1", 7.5)
    assert [(each.seq, each.kind, each.subject, each.agent, dict(each.details)) for each in page.entries] == [
        (41, "created", "t1", "ann", {}),
        (42, "claimed", "t1", "böb", {"aspect": 'co"de\n'}),
    ]


def open_at(folder: Path, migrations: tuple[Migration, ...]) -> Database:
    """The same place each time, with these migrations."""
    if isinstance(states.current, PostgresStates):
        return open_postgres(states.current.fresh(folder), migrations)
    return open_state(folder, migrations=migrations)
