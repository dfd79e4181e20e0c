"""The index follows the files, whatever people, editors, git and disks do to them."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.notes import WriteRequest
from lithos.notes.format.naming import path_id
from lithos.notes.index.catalogue import open_catalogue
from lithos.notes.index.identities import Identities, Renamed
from lithos.notes.index.index import Index
from lithos.settings import LithosConfig, NotesSettings, StorageSettings
from lithos.storage import Root
from lithos.storage.files import best_kernel
from tests.support.notes_bench import DEADLINE, Person, assert_index_is_true, dump, paths
from tests.support.waiting import until


@pytest.fixture
def lithos(config: LithosConfig) -> Iterator[Lithos]:
    opened = open_lithos(config)
    yield opened
    opened.notes.index.reconcile()
    assert_index_is_true(opened)
    opened.close()


@pytest.fixture
def person(lithos: Lithos) -> Person:
    return Person(lithos)


# What people do


def test_new_changed_and_deleted_files_are_followed(lithos: Lithos, person: Person) -> None:
    person.save("a.md", "one [[b]]")
    person.save("sub/b.md", "two")
    person.rests()
    assert set(paths(lithos)) == {"a.md", "sub/b.md"}
    person.save("a.md", "changed")
    (person.folder / "sub/b.md").unlink()
    person.rests()
    assert set(paths(lithos)) == {"a.md"}
    assert lithos.notes.reader.read(path="a")["content"] == "changed"


def test_a_save_that_keeps_size_and_date_is_seen(lithos: Lithos, person: Person) -> None:
    file = person.save("a.md", "one")
    os.utime(file, ns=(10**18, 10**18))
    person.rests()
    file.write_text("two")
    os.utime(file, ns=(10**18, 10**18))
    person.rests()
    assert dump(lithos.notes.catalogue)["files"][0][1] == lithos.notes.reader.read(path="a")["version"]


def test_a_file_saved_a_moment_ago_is_read_again_until_its_date_can_be_trusted(config: LithosConfig) -> None:
    """A second save in the same tick of the file system's clock changes neither date nor, perhaps, size."""
    clock = FakeClock()
    lithos = open_lithos(config, clock=clock)
    file = Person(lithos).save("a.md", "one")
    clock.set_wall(datetime.fromtimestamp(file.stat().st_ctime_ns / 1e9, UTC))
    assert [lithos.notes.index.reconcile().total for _ in range(3)] == [1, 1, 1]
    clock.advance(10)
    assert [lithos.notes.index.reconcile().total for _ in range(2)] == [1, 0]
    lithos.close()


def test_unchanged_files_are_not_read_again(lithos: Lithos, person: Person) -> None:
    for number in range(5):
        os.utime(person.save(f"{number}.md", "text"), (1, 1))
    until(lambda: _settled(lithos))
    assert lithos.notes.index.reconcile().total == 0


def _settled(lithos: Lithos) -> bool:
    """Files that were saved a moment ago are looked at once more, when their dates can be trusted."""
    return lithos.notes.index.reconcile().total == 0


def test_an_editor_that_saves_by_rename_is_followed(lithos: Lithos, person: Person) -> None:
    person.save("a.md", "one")
    person.rests()
    before = paths(lithos)
    person.save_by_rename("a.md", "two")
    person.rests()
    assert paths(lithos) == before
    assert lithos.notes.reader.read(path="a")["content"] == "two"


def test_a_folder_deleted_and_restored_comes_back_with_the_same_ids(
    lithos: Lithos, person: Person, tmp_path: Path
) -> None:
    person.save("sub/own.md", f"---\nid: {path_id('x')}\n---\n")
    person.save("sub/none.md", "text")
    person.rests()
    before = paths(lithos)
    shutil.move(person.folder / "sub", tmp_path / "away")
    person.rests()
    assert paths(lithos) == {}
    shutil.move(tmp_path / "away", person.folder / "sub")
    person.rests()
    assert paths(lithos) == before


def test_the_folder_itself_can_be_replaced_by_another(lithos: Lithos, person: Person, tmp_path: Path) -> None:
    person.save("a.md", "one")
    person.rests()
    shutil.move(person.folder, tmp_path / "away")
    person.save("b.md", "two")
    person.rests()
    assert set(paths(lithos)) == {"b.md"}


def test_ignored_and_hidden_files_are_left_alone(data_dir: Path) -> None:
    storage = StorageSettings(data_dir=data_dir)
    lithos = open_lithos(LithosConfig(storage=storage, notes=NotesSettings(ignore=("Templates", "*.draft.md"))))
    person = Person(lithos)
    for path in (".obsidian/a.md", ".trash/a.md", ".git/a.md", "Templates/a.md", "sub/Templates/x/a.md", "b.draft.md"):
        person.save(path, "[[no]]")
    person.save("kept.md", "text")
    person.save("Templates.md", "text")
    person.save("notes.txt", "text")
    assert set(paths(lithos)) == {"kept.md", "Templates.md"}
    assert "unreadable_files" not in lithos.notes.validator.validate()["counts"]
    lithos.close()


def test_files_that_cannot_be_served_are_listed_and_stop_nothing(lithos: Lithos, person: Person) -> None:
    person.save("latin.md", "café".encode("latin-1"))
    person.save("binary.md", b"\x00\x01")
    person.save("huge.md", "x" * (4 * 2**20 + 1))
    os.mkfifo(person.folder / "pipe.md")
    (person.folder / "folder.md").mkdir()
    person.save("folder.md/inside.md", "text")
    person.save("good.md", "text")
    person.rests()
    assert set(paths(lithos)) == {"good.md", "folder.md/inside.md"}
    problems = lithos.notes.validator.validate(limit=100)["problems"]["unreadable_files"]
    reasons = {problem["path"]: problem["what"] for problem in problems}
    assert reasons["latin.md"].startswith("not UTF-8")
    assert reasons["binary.md"].startswith("binary")
    assert reasons["huge.md"].startswith("larger than the limit")
    assert "FIFO" in reasons["pipe.md"]
    person.save("latin.md", "café")
    person.rests()
    assert "latin.md" in paths(lithos)


def test_a_conflict_copy_is_no_note_but_is_reported(lithos: Lithos, person: Person) -> None:
    person.save("a.md", "one")
    person.save("a.conflict-20260131T120000Z.md", "the other one")
    person.rests()
    assert set(paths(lithos)) == {"a.md"}
    assert lithos.notes.reader.read(path="a")["conflict_copies"] == ["a.conflict-20260131T120000Z.md"]
    assert lithos.notes.validator.validate()["counts"]["conflict_copies"] == 1


# Identity


def test_a_renamed_note_keeps_its_id_with_or_without_one_in_its_text(lithos: Lithos, person: Person) -> None:
    own = path_id("own")
    person.save("own.md", f"---\nid: {own}\n---\ntext")
    person.save("none.md", "by hand")
    person.rests()
    before = paths(lithos)
    assert before["own.md"] == own
    (person.folder / "new").mkdir()
    (person.folder / "own.md").rename(person.folder / "new/own two.md")
    (person.folder / "none.md").rename(person.folder / "new/none two.md")
    person.rests()
    assert paths(lithos) == {"new/own two.md": own, "new/none two.md": before["none.md"]}
    assert_index_is_true(lithos)


def test_a_note_that_was_renamed_a_moment_ago_is_read_and_written_by_its_id(lithos: Lithos, person: Person) -> None:
    """Nobody has told the index yet: "there is no note" would make an agent write it again."""
    write = lithos.notes.vault.write
    ids = [write(Call("t", "ann"), WriteRequest("ann", title, "text"))["id"] for title in "ab"]
    (person.folder / "moved").mkdir()
    for name in "ab":
        (person.folder / f"{name}.md").rename(person.folder / f"moved/{name}.md")
    assert lithos.notes.reader.read(ids[0])["path"] == "moved/a.md"
    assert write(Call("t", "bob"), WriteRequest("bob", content="more", id=ids[1]))["path"] == "moved/b.md"


def test_a_new_file_at_the_old_path_of_a_renamed_note_is_another_note(lithos: Lithos, person: Person) -> None:
    person.save("a.md", "first")
    person.rests()
    first = paths(lithos)["a.md"]
    (person.folder / "a.md").rename(person.folder / "b.md")
    person.rests()
    person.save("a.md", "second")
    person.rests()
    assert paths(lithos)["b.md"] == first
    assert paths(lithos)["a.md"] != first


def test_a_file_that_comes_back_while_a_scan_gives_its_id_away_is_served_again(lithos: Lithos, person: Person) -> None:
    person.save("a.md", "first")
    lithos.notes.index.reconcile()
    known, index = paths(lithos)["a.md"], lithos.notes.index
    (person.folder / "a.md").rename(person.folder / "b.md")
    moved = {index._catalogue.files("a.md")["a.md"].version: Renamed("a.md", known)}
    index._take(["b.md"], [], {}, renamed=moved)  # a scan's first portion
    assert paths(lithos) == {"b.md": known}
    person.save("a.md", "first")  # before the portion in which it would have been gone
    index.follow(["a.md"])
    assert paths(lithos).keys() == {"a.md", "b.md"}


def test_of_two_files_with_one_id_the_first_seen_keeps_it(lithos: Lithos, person: Person) -> None:
    own = path_id("own")
    person.save("z.md", f"---\nid: {own}\n---\ntext")
    person.rests()
    shutil.copy(person.folder / "z.md", person.folder / "a.md")
    person.rests()
    assert paths(lithos) == {"z.md": own, "a.md": path_id("a.md")}
    assert_index_is_true(lithos)
    (problem,) = lithos.notes.validator.validate()["problems"]["duplicate_ids"]
    assert problem["path"] == "a.md" and "z.md" in problem["what"]
    (person.folder / "z.md").unlink()
    person.rests()
    assert paths(lithos) == {"a.md": own}


def test_a_copy_that_replaces_its_original_keeps_the_id(lithos: Lithos, person: Person) -> None:
    own = path_id("own")
    person.save("a.md", f"---\nid: {own}\n---\ntext")
    person.rests()
    shutil.copy(person.folder / "a.md", person.folder / "b.md")
    (person.folder / "a.md").unlink()
    person.rests()
    assert paths(lithos) == {"b.md": own}


def test_files_that_trade_names_trade_nothing_else(lithos: Lithos, person: Person) -> None:
    one, two = path_id("one"), path_id("two")
    person.save("a.md", f"---\nid: {one}\n---\n[[b]]")
    person.save("b.md", f"---\nid: {two}\n---\n[[a]]")
    person.rests()
    for source, target in (("a.md", "c"), ("b.md", "a.md"), ("c", "b.md")):
        (person.folder / source).rename(person.folder / target)
    person.rests()
    assert paths(lithos) == {"a.md": two, "b.md": one}


def test_ids_survive_the_loss_of_everything_that_is_derived(config: LithosConfig, data_dir: Path) -> None:
    lithos = open_lithos(config)
    person = Person(lithos)
    person.save("a.md", "one")
    person.save("dup.md", f"---\nid: {path_id('own')}\n---\n")
    person.rests()
    person.save("copy.md", f"---\nid: {path_id('own')}\n---\n")
    (person.folder / "a.md").rename(person.folder / "b.md")
    person.rests()
    before = paths(lithos)
    lithos.close()
    for derived in (".catalogue", ".tantivy", ".vectors"):
        shutil.rmtree(data_dir / derived, ignore_errors=True)
    lithos = open_lithos(config)
    assert paths(lithos) == before
    lithos.close()


# Links follow names


def test_links_find_their_note_when_it_comes_and_lose_it_when_it_goes(lithos: Lithos, person: Person) -> None:
    person.save("from.md", "[[to]] [[Alias]] [[The Title]]")
    person.rests()
    assert _statuses(lithos) == ["broken"] * 3
    person.save("deep/to.md", "---\ntitle: The title\naliases: [alias]\n---\n")
    person.rests()
    assert _statuses(lithos) == ["resolved"] * 3
    person.save("other/TO.md", "---\naliases: [ALIAS]\n---\n")
    person.rests()
    assert _statuses(lithos) == ["resolved", "ambiguous", "resolved"]
    (person.folder / "deep/to.md").unlink()
    person.rests()
    assert _statuses(lithos) == ["resolved", "resolved", "broken"]


def _statuses(lithos: Lithos) -> list[str]:
    return [link["status"] for link in lithos.notes.reader.read(path="from")["links"]]


# Trouble


class ClosedDoors:
    """A kernel to which some folders or files do not open, as for a user without permission."""

    def __init__(self) -> None:
        self._kernel = best_kernel()
        self.exchanges = self._kernel.exchanges
        self.closed: set[str] = set()

    def open(self, folder: int, path: str, flags: int, mode: int = 0o666) -> int:
        if any(path == door or path.startswith(f"{door}/") for door in self.closed) and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return self._kernel.open(folder, path, flags, mode)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


@pytest.fixture
def behind_doors(lithos: Lithos, tmp_path: Path) -> Iterator[tuple[Index, ClosedDoors, Path]]:
    """An index of its own over the same database, on a folder whose doors can be closed."""
    ground, doors = lithos.storage, ClosedDoors()
    root = Root(tmp_path / "vault", name="doors", keep=tmp_path / "keep", clock=ground.clock, kernel=doors)
    catalogue = open_catalogue(tmp_path, ground.clock)
    yield (
        Index(root, catalogue, Identities(ground.database, "doors", ground.clock), clock=ground.clock),
        doors,
        root.path,
    )
    catalogue.close()
    root.close()


def known(index: Index) -> list[str]:
    return [row["path"] for row in dump(index._catalogue)["notes"]]


def test_a_folder_that_may_not_be_entered_empties_nothing(behind_doors: tuple[Index, ClosedDoors, Path]) -> None:
    index, doors, folder = behind_doors
    (folder / "sub").mkdir()
    for path in ("a.md", "sub/b.md", "sub/c.md"):
        (folder / path).write_text("text")
    index.reconcile()
    doors.closed.add("sub")
    for look in (index.reconcile, lambda: index.follow(["sub/b.md"]), lambda: index.follow(["sub"]), index.reconcile):
        look()
        assert known(index) == ["a.md", "sub/b.md", "sub/c.md"]
    assert index.progress.held == 2
    doors.closed.clear()
    (folder / "sub/b.md").unlink()
    assert index.reconcile().held == 0
    assert known(index) == ["a.md", "sub/c.md"]


def test_a_file_that_may_not_be_read_stays_as_it_was_known(behind_doors: tuple[Index, ClosedDoors, Path]) -> None:
    index, doors, folder = behind_doors
    (folder / "a.md").write_text("text")
    (folder / "b.md").write_text("text")
    index.reconcile()
    (folder / "a.md").write_text("changed")
    doors.closed |= {"a.md"}
    index.reconcile()
    assert known(index) == ["a.md", "b.md"]
    assert [reason for path, _, reason in dump(index._catalogue)["files"] if path == "a.md"] != [None]
    doors.closed.clear()
    index.reconcile()
    assert [reason for path, _, reason in dump(index._catalogue)["files"] if path == "a.md"] == [None]


def test_a_vault_that_cannot_be_opened_empties_nothing(lithos: Lithos, person: Person, tmp_path: Path) -> None:
    person.save("a.md", "text")
    person.rests()
    shutil.move(person.folder, tmp_path / "away")
    assert lithos.notes.index.reconcile().state == "unreachable"
    assert set(paths(lithos)) == {"a.md"}
    lithos.notes.reindex(clear=True)
    assert set(paths(lithos)) == {"a.md"}
    shutil.move(tmp_path / "away", person.folder)
    person.rests()


def test_a_close_waits_for_the_index_that_is_being_rebuilt(config: LithosConfig) -> None:
    lithos = open_lithos(config)
    for number in range(20):
        lithos.notes.vault.write(Call("lithos_write", "a"), WriteRequest("a", f"Note {number}", "text"))
    lithos.notes.reindex_soon(clear=True)
    lithos.close()
    again = open_lithos(config)
    assert len(again.note_search.collection.known()) == 20
    assert again.notes.counts()["notes"] == 20
    again.close()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def _other_disk(folder: Path) -> str:
    for each in ("/dev/shm", "/tmp", "/var/tmp"):
        if os.path.isdir(each) and os.stat(each).st_dev != folder.stat().st_dev:
            return each
    pytest.skip("this machine has one file system")


def test_a_disk_that_is_no_longer_mounted_empties_nothing(config: LithosConfig, data_dir: Path) -> None:
    data_dir.mkdir()
    disk = Path(tempfile.mkdtemp(prefix="lithos-test-", dir=_other_disk(data_dir)))
    (data_dir / "empty").mkdir()
    vault = data_dir / "knowledge"
    try:
        (disk / "a.md").write_text("text")
        vault.symlink_to(disk)
        lithos = open_lithos(config)
        assert set(paths(lithos)) == {"a.md"}
        vault.unlink()
        vault.symlink_to(data_dir / "empty")
        progress = lithos.notes.index.reconcile()
        assert (progress.held, set(paths(lithos))) == (1, {"a.md"})
        vault.unlink()
        vault.symlink_to(disk)
        assert lithos.notes.index.reconcile().held == 0
        lithos.close()
    finally:
        shutil.rmtree(disk)


def test_a_damaged_catalogue_is_moved_aside_and_rebuilt(config: LithosConfig, data_dir: Path) -> None:
    lithos = open_lithos(config)
    Person(lithos).save("a.md", "text")
    before = paths(lithos)
    lithos.close()
    (file,) = (data_dir / ".catalogue").glob("catalogue-*.db")
    file.write_bytes(b"not a database" * 1000)
    lithos = open_lithos(config)
    assert paths(lithos) == before
    assert (data_dir / ".catalogue" / "damaged.db").exists()
    lithos.close()


def test_the_catalogue_of_an_older_version_moves_to_its_own_folder(config: LithosConfig, data_dir: Path) -> None:
    lithos = open_lithos(config)
    Person(lithos).save("a.md", "text")
    lithos.notes.reindex()
    lithos.close()
    folder, former = data_dir / ".catalogue", data_dir / ".graph"
    (file,) = folder.glob("catalogue-*.db")
    inode = file.stat().st_ino
    (folder / "damaged.db").write_bytes(b"kept for a person")
    shutil.rmtree(former, ignore_errors=True)  # the older version knew no graph
    folder.rename(former)
    lithos = open_lithos(config)
    assert [each["path"] for each in lithos.notes.reader.list()["items"]] == ["a.md"]
    lithos.close()
    assert not [*former.glob("catalogue-*"), *former.glob("damaged.db")]
    assert file.stat().st_ino == inode
    assert (folder / "damaged.db").read_bytes() == b"kept for a person"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_files_of_the_graph_stay_where_they_are(config: LithosConfig, data_dir: Path) -> None:
    former = data_dir / ".graph"
    former.mkdir(parents=True)
    (former / "code.db").write_bytes(b"the graph's own")
    (former / "catalogue-00000000.db").write_bytes(b"old")
    open_lithos(config).close()
    assert (former / "code.db").read_bytes() == b"the graph's own"
    assert not (former / "catalogue-00000000.db").exists()


# Several at once


def refreshed_while_held(lithos: Lithos, names: list[str]) -> list[OSError]:
    """Each file looked at by a caller of its own, all of whom waited for the same lock; what they were told."""
    index, told = lithos.notes.index, list[OSError]()

    def refresh(name: str) -> None:
        try:
            index.refresh([name])
        except OSError as error:
            told.append(error)

    for name in names:
        (lithos.notes.vault.root.path / name).write_text(f"# {name}\n\nSomething of {name}.\n")
    callers = [threading.Thread(target=refresh, args=(name,)) for name in names]
    with index._lock:
        for caller in callers:
            caller.start()
        until(lambda: len(index._asked) == len(names))
    for caller in callers:
        caller.join(DEADLINE)
    assert not index._asked
    return told


def test_callers_that_wait_for_the_index_are_served_together(lithos: Lithos) -> None:
    lithos.notes.ensure_scanned()
    index, seen = lithos.notes.index, list[int]()
    assert index.projector is not None
    project = index.projector.apply
    index.projector.apply = lambda changes: (seen.append(len(changes)), project(changes))
    assert refreshed_while_held(lithos, ["a.md", "b.md", "c.md"]) == []
    assert seen == [3]
    assert paths(lithos).keys() == {"a.md", "b.md", "c.md"}


def test_a_look_that_fails_is_the_failure_of_one_caller_alone(lithos: Lithos) -> None:
    lithos.notes.ensure_scanned()
    index, failures = lithos.notes.index, [OSError(errno.EIO, "I/O error")]
    take = index._take

    def fail_once(*arguments: Any, **more: Any) -> Any:
        if failures:
            raise failures.pop()
        return take(*arguments, **more)

    index._take = fail_once  # type: ignore[method-assign]
    assert len(refreshed_while_held(lithos, ["a.md", "b.md", "c.md"])) == 1
    assert len(paths(lithos)) == 2
