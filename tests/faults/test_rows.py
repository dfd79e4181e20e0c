"""Rows of coordination.db: a flipped bit in any table is found by the background check and by `lithos doctor`, and
commits that a damaged log loses are missed at the next start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from lithos.app import Lithos
from lithos.errors import Damaged, LithosError
from lithos.storage import coordination_migrations, open_database
from lithos.storage.database.page_checksums import PageCheck, checksum_vfs
from lithos.tools.catalogue import catalogue
from tests.faults.data import OPERATOR, everything, opened
from tests.support.waiting import until


def objects(path: Path) -> dict[str, list[int]]:
    """Table or index → its pages."""
    found: dict[str, list[int]] = {}
    connection = apsw.Connection(str(path), vfs=checksum_vfs())
    for name, page in connection.execute("SELECT name, pageno FROM dbstat ORDER BY pageno"):
        found.setdefault(name, []).append(page)
    connection.close()
    return found


def flip(path: Path, page: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    place = (page - 1) * size + bit // 8 % size
    data[place] ^= 1 << bit % 8
    path.write_bytes(data)


def test_a_flipped_bit_in_any_table_or_index_is_found(data_dir: Path) -> None:
    everything(data_dir)
    path = data_dir / ".lithos" / "coordination.db"
    copy = data_dir / "copy.db"
    shutil.copy(path, copy)
    tables = objects(copy)
    assert {"tasks", "claims", "findings", "events", "agents", "skills", "once", "meta"} <= set(tables)
    assert not PageCheck(copy).run()
    sound = copy.read_bytes()
    for number, (name, pages) in enumerate(tables.items()):
        for page in {pages[0], pages[-1]}:
            flip(copy, page, 977 * (number + 1))
            assert PageCheck(copy).run() == {page}, name
            copy.write_bytes(sound)


def test_a_flipped_bit_in_the_header_is_never_taken_for_another_format(data_dir: Path) -> None:
    everything(data_dir)
    copy = data_dir / "copy.db"
    shutil.copy(data_dir / ".lithos" / "coordination.db", copy)
    sound = copy.read_bytes()
    for bit in [*range(0, 800, 9), *range(160, 168)]:  # byte 20 says that pages have checksums
        flip(copy, 1, bit)
        altered = copy.read_bytes()
        with pytest.raises(LithosError):
            open_database(copy, coordination_migrations(), reserve_bytes=0).close()
        assert copy.read_bytes() == altered, f"bit {bit}: it was written to"
        copy.write_bytes(sound)


def test_the_background_check_and_doctor_find_it_in_a_running_memory(data_dir: Path) -> None:
    everything(data_dir)
    path = data_dir / ".lithos" / "coordination.db"
    page = objects(path)["findings"][-1]
    with opened(data_dir) as memory:
        memory.start()
        assert memory.health() is None
        sound = path.read_bytes()
        with path.open("r+b") as file:  # in place: another inode would be noticed for another reason
            file.seek(page * 4096 - 100)
            file.write(b"\xff")
        memory.storage.check_some_pages()
        assert "not what was written" in str(memory.health())
        found = catalogue().call(memory, "lithos_doctor", {"repair": True}, OPERATOR)["findings"]
        assert "coordination" in {each["part"] for each in found if each["severity"] == "error"}
        path.write_bytes(sound)
        memory.storage.check_some_pages()
        assert memory.health() is None


def test_the_background_check_runs_by_itself(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.jobs.SCRUB_SECONDS", 0.05)
    everything(data_dir)
    path = data_dir / ".lithos" / "coordination.db"
    with opened(data_dir) as memory:
        memory.start()
        with path.open("r+b") as file:
            file.seek(2 * 4096 + 2000)
            file.write(bytes(byte ^ 0xFF for byte in path.read_bytes()[2 * 4096 + 2000 : 2 * 4096 + 2010]))
        until(lambda: memory.health() is not None, "the background check found it")


def cut(log: Path) -> None:
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def flip_the_header(log: Path) -> None:
    log.write_bytes(bytes([log.read_bytes()[0] ^ 1]) + log.read_bytes()[1:])


def flip_the_last_frame(log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[-50] ^= 1
    log.write_bytes(data)


@pytest.mark.parametrize("damage", [Path.unlink, cut, flip_the_header, flip_the_last_frame])
def test_commits_that_a_damaged_log_loses_are_missed(
    data_dir: Path, tmp_path: Path, damage: Callable[..., Any]
) -> None:
    killed = tmp_path / "killed"
    with opened(data_dir) as memory:
        memory.storage.database.write(lambda tx: tx.run("PRAGMA wal_autocheckpoint = 0") and None)
        for number in range(3):
            catalogue().call(memory, "lithos_task_create", {"title": f"t{number}", "agent": "ann"})
        shutil.copytree(data_dir, killed, ignore=shutil.ignore_patterns("*.sock"))  # as a kill leaves it
    with opened(killed) as memory:
        assert _tasks(memory) == 3
    shutil.rmtree(killed)
    _as_a_kill_leaves_it(data_dir, killed)
    damage(killed / ".lithos" / "coordination.db-wal")
    with pytest.raises(Damaged, match="acknowledged changes are missing") as refused, opened(killed):
        pass
    assert "coordination.db.mark" in refused.value.hint
    (killed / ".lithos" / "coordination.db.mark").unlink()  # the way out that the hint names
    with opened(killed):
        pass


def _as_a_kill_leaves_it(data_dir: Path, killed: Path) -> None:
    with opened(data_dir) as memory:
        catalogue().call(memory, "lithos_task_create", {"title": "last", "agent": "ann"})
        shutil.copytree(data_dir, killed, ignore=shutil.ignore_patterns("*.sock"))


def _tasks(memory: Lithos) -> int:
    return len(catalogue().call(memory, "lithos_task_list", {})["tasks"])


def test_what_a_caller_is_refused_for_turns_health_red_at_once_and_its_end_green(data_dir: Path) -> None:
    everything(data_dir)
    path = data_dir / ".lithos" / "coordination.db"
    sound = path.read_bytes()
    with opened(data_dir) as memory:
        with path.open("r+b") as file:  # in place: another inode would be noticed for another reason
            file.seek(4096)
            file.write(b"\xff" * (len(sound) - 4096))
        with pytest.raises(LithosError) as refused:
            for number in range(3):  # what is still in memory answers
                catalogue().call(memory, "lithos_task_create", {"title": f"t{number}", "agent": "ann"}, OPERATOR)
        assert refused.value.code == "damaged"
        assert "coordination.db" in str(memory.health())
        with path.open("r+b") as file:
            file.write(sound)
        memory.storage.check_some_pages()
        assert memory.health() is None


@pytest.mark.parametrize("what", ["the first page", "a later page", "all pages", "cut to nothing", "cut to a half"])
def test_zeros_and_missing_pages_are_found_although_their_checksum_is_right(data_dir: Path, what: str) -> None:
    everything(data_dir)
    path = data_dir / ".lithos" / "coordination.db"
    sound, tables = path.read_bytes(), objects(path)
    with opened(data_dir) as memory:
        memory.storage.check_some_pages()
        assert memory.health() is None
        with path.open("r+b") as file:
            if what.startswith("cut"):
                file.truncate(0 if "nothing" in what else len(sound) // 2)
            else:
                page = {"the first page": 1, "a later page": tables["findings"][-1]}.get(what)
                file.seek(4096 * ((page or 1) - 1))
                file.write(bytes(4096 if page else len(sound)))
        memory.storage.check_some_pages()
        assert "coordination.db" in str(memory.health())
        with path.open("r+b") as file:
            file.write(sound)
        memory.storage.check_some_pages()
        assert memory.health() is None


def test_pages_that_are_free_are_no_damage(data_dir: Path) -> None:
    path = data_dir / "x.db"
    database = open_database(path, coordination_migrations(), reserve_bytes=0)
    many = [(f"name {number}", "x" * 500) for number in range(2_000)]
    database.write(lambda tx: tx.many("INSERT INTO meta (name, value) VALUES (?, ?)", many))
    database.write(lambda tx: tx.run("DELETE FROM meta WHERE name LIKE 'name %'"))
    database.close()
    check = PageCheck(path)
    assert not check.run() and not check.suspect
    pages = path.stat().st_size // 4096
    assert sum(path.read_bytes()[4096 * n : 4096 * (n + 1)] == bytes(4096) for n in range(pages)) > 100
    check.close()


def test_a_change_that_is_refused_because_the_database_was_exchanged_has_no_effect(
    data_dir: Path, tmp_path: Path
) -> None:
    path = data_dir / ".lithos" / "coordination.db"
    everything(data_dir)
    killed = tmp_path / "killed"
    with opened(data_dir) as memory:
        before = _tasks(memory)
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        copy.rename(path)
        with pytest.raises(Damaged):
            catalogue().call(memory, "lithos_task_create", {"title": "refused", "agent": "ann"}, OPERATOR)
        shutil.copytree(data_dir, killed, ignore=shutil.ignore_patterns("*.sock"))  # as a kill leaves it
    with opened(killed) as memory:
        assert _tasks(memory) == before


def test_a_log_beside_another_file_than_its_own_is_refused(data_dir: Path) -> None:
    """As after: a copy of an hour ago is moved over the database of a host that is then killed."""
    everything(data_dir)
    state = data_dir / ".lithos"
    names = ("coordination.db", "coordination.db-wal", "database.json", "coordination.db.mark")
    shutil.copy(state / "coordination.db", data_dir / "older.db")
    with opened(data_dir) as memory:
        catalogue().call(memory, "lithos_task_create", {"title": "new", "agent": "ann"}, OPERATOR)
        log = data_dir / "log"
        os.link(state / "coordination.db-wal", log)  # a kill leaves it
        kept = {name: (state / name).read_bytes() for name in names}
    for name, data in kept.items():
        (state / name).write_bytes(data)
    (state / "coordination.db-wal").unlink()
    os.link(log, state / "coordination.db-wal")
    log.write_bytes(kept["coordination.db-wal"])
    (data_dir / "older.db").rename(state / "coordination.db")
    with pytest.raises(Damaged, match="exchanged") as refused, opened(data_dir):
        pass
    assert "coordination.db-wal away" in refused.value.hint
