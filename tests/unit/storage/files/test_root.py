"""A root: read, replace, move, trash, history, scan, on Linux's own calls and on the portable ones."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.core.canonical import version_of
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Forbidden, InvalidInput, NotFound
from lithos.storage.files import Kernel, Limits, PortableKernel, Root, best_kernel, is_conflict_copy

KERNELS = {"native": best_kernel, "portable": PortableKernel}


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def root(tmp_path: Path, clock: FakeClock, kernel: Kernel) -> Iterator[Root]:
    opened = Root(tmp_path / "vault", name="vault", keep=tmp_path / ".lithos", clock=clock, kernel=kernel)
    yield opened
    opened.close()


def hidden(root: Root) -> list[str]:
    return [str(path.relative_to(root.path)) for path in root.path.rglob(".lithos*")]


def test_a_created_file_reads_back_with_its_version(root: Root) -> None:
    made = root.replace("a/b.md", b"one", None)
    found = root.read("a/b.md")
    assert (found.data, found.version) == (b"one", made.version)
    assert made.version == version_of(b"one")
    assert root.version("a/b.md") == made.version


def test_what_is_not_there_is_not_found_and_has_no_version(root: Root) -> None:
    root.replace("file.md", b"", None)
    for path in ("none.md", "none/at/all.md", "file.md/below.md"):
        with pytest.raises(NotFound):
            root.read(path)
        assert root.version(path) is None
        assert not root.exists(path)


def test_creating_over_a_file_is_a_conflict_that_tells_its_version(root: Root) -> None:
    first = root.replace("a.md", b"one", None)
    with pytest.raises(Conflict) as caught:
        root.replace("a.md", b"two", None)
    assert caught.value.details["version"] == first.version
    assert root.read("a.md").data == b"one"


def test_replacing_another_version_is_a_conflict_and_changes_nothing(root: Root) -> None:
    first = root.replace("a.md", b"one", None)
    with pytest.raises(Conflict) as caught:
        root.replace("a.md", b"two", version_of(b"other"))
    assert caught.value.details["version"] == first.version
    assert root.read("a.md").data == b"one"
    assert hidden(root) == []


def test_replacing_what_is_gone_is_a_conflict_without_a_version(root: Root) -> None:
    for path in ("a.md", "no/folder/a.md"):
        with pytest.raises(Conflict) as caught:
            root.replace(path, b"two", version_of(b"one"))
        assert caught.value.details["version"] is None


def test_mode_and_owner_are_kept(root: Root) -> None:
    root.replace("a.md", b"one", None)
    os.chmod(root.path / "a.md", 0o640)
    if os.geteuid() == 0:
        os.chown(root.path / "a.md", 1234, 2345)
    old = os.stat(root.path / "a.md")
    root.replace("a.md", b"two", version_of(b"one"))
    new = os.stat(root.path / "a.md")
    assert (new.st_mode, new.st_uid, new.st_gid) == (old.st_mode, old.st_uid, old.st_gid)


def test_the_replaced_file_is_watched_and_dropped_after_the_grace(root: Root, clock: FakeClock) -> None:
    root.replace("a.md", b"one", None)
    root.replace("a.md", b"two", version_of(b"one"))
    assert len(hidden(root)) == 1
    root.sweep()
    assert len(hidden(root)) == 1
    clock.advance(Limits().grace_seconds + 1)
    assert root.sweep() == []
    assert hidden(root) == []


def test_a_late_write_into_the_replaced_file_becomes_a_conflict_copy(root: Root, clock: FakeClock) -> None:
    root.replace("a.md", b"one", None)
    with open(root.path / "a.md", "r+b") as editor:
        root.replace("a.md", b"agent", version_of(b"one"))
        editor.truncate(0)
        editor.write(b"person")
    clock.advance(10)
    (copy,) = root.sweep()
    assert copy == "a.conflict-20260101T000010Z.md" and is_conflict_copy(copy)
    assert (root.path / copy).read_bytes() == b"person"
    assert root.read("a.md").data == b"agent"


@pytest.mark.skipif(not best_kernel().exchanges, reason="leases are Linux's")
def test_a_replaced_file_that_an_editor_still_holds_is_watched_longer(root: Root, clock: FakeClock) -> None:
    root.replace("a.md", b"one", None)
    with open(root.path / "a.md", "r+b") as editor:
        root.replace("a.md", b"agent", version_of(b"one"))
        clock.advance(10)
        assert root.sweep() == []
        assert len(hidden(root)) == 1
        editor.write(b"six")
    (copy,) = root.sweep()
    assert (root.path / copy).read_bytes() == b"six"


def test_history_keeps_what_was_replaced_and_is_bounded(tmp_path: Path, clock: FakeClock, kernel: Kernel) -> None:
    limits = Limits(history_versions=3)
    root = Root(tmp_path / "v", name="v", keep=tmp_path / "keep", clock=clock, kernel=kernel, limits=limits)
    version = root.replace("a.md", b"0", None).version
    for number in range(1, 6):
        clock.advance(1)
        version = root.replace("a.md", b"%d" % number, version).version
    assert [root.read_kept(kept) for kept in root.history("a.md")] == [b"4", b"3", b"2"]
    assert root.version_kept("a.md", version_of(b"3")) == b"3"
    with pytest.raises(NotFound):
        root.version_kept("a.md", version_of(b"0"))


def test_prune_drops_the_old_and_the_surplus(tmp_path: Path, clock: FakeClock) -> None:
    limits = Limits(history_days=10, history_bytes=25)
    root = Root(tmp_path / "v", name="v", keep=tmp_path / "keep", clock=clock, limits=limits)
    root.keep_history("old.md", b"x" * 10)
    clock.advance(9 * 86_400)
    for name in ("b.md", "c.md", "d.md"):
        clock.advance(1)
        root.keep_history(name, b"x" * 10)
    assert root.prune() == 2
    assert [bool(root.history(name)) for name in ("old.md", "b.md", "c.md", "d.md")] == [False, False, True, True]
    clock.advance(11 * 86_400)
    assert root.prune() == 2


def test_trash_takes_the_file_away_and_keeps_it(root: Root, clock: FakeClock) -> None:
    version = root.replace("a/b.md", b"one", None).version
    where = root.trash("a/b.md", version)
    assert root.version("a/b.md") is None
    (kept,) = root.trashed("a/b.md")
    assert kept.kept == where and root.read_kept(kept) == b"one"
    clock.advance(10)
    assert root.sweep() == [] and hidden(root) == []


def test_trash_of_another_version_is_a_conflict(root: Root) -> None:
    root.replace("a.md", b"one", None)
    with pytest.raises(Conflict):
        root.trash("a.md", version_of(b"two"))
    assert root.read("a.md").data == b"one"
    assert root.trashed("a.md") == []


def test_move_never_replaces(root: Root) -> None:
    version = root.replace("a.md", b"one", None).version
    root.replace("b.md", b"two", None)
    with pytest.raises(Conflict):
        root.move("a.md", "b.md", version)
    root.move("a.md", "new/folder/c.md", version)
    assert root.read("new/folder/c.md").data == b"one"
    assert root.version("a.md") is None
    assert root.read("b.md").data == b"two"


def test_links_are_neither_read_nor_written_nor_walked(root: Root, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    os.symlink(tmp_path / "outside", root.path / "folder")
    os.symlink(tmp_path / "outside" / "secret.md", root.path / "file.md")
    os.symlink("nowhere", root.path / "dangling.md")
    for path in ("folder/secret.md", "file.md"):
        with pytest.raises(Forbidden):
            root.read(path)
        with pytest.raises(Forbidden):
            root.replace(path, b"x", version_of(b"secret"))
    for path in ("folder/new.md", "folder/deep/new.md"):
        with pytest.raises(Forbidden):
            root.replace(path, b"x", None)
    for path in ("file.md", "dangling.md"):
        with pytest.raises(Conflict):
            root.replace(path, b"x", None)
    with pytest.raises(Forbidden):
        root.make_folder("folder/deep")
    assert sorted(os.listdir(tmp_path / "outside")) == ["secret.md"]
    assert {entry.path: entry.kind for entry in root.scan()} == dict.fromkeys(
        ("folder", "file.md", "dangling.md"), "link"
    )


def test_a_link_that_stays_inside_the_root_is_not_followed_either(root: Root) -> None:
    root.replace("real/deep/a.md", b"one", None)
    os.symlink("real", root.path / "inner")
    for path in ("inner/deep/a.md", "inner/deep"):
        with pytest.raises(Forbidden):
            root.read(path)
    with pytest.raises(Forbidden):
        root.replace("inner/deep/new.md", b"two", None)
    assert [entry.path for entry in root.scan() if entry.kind == "file"] == ["real/deep/a.md"]


def test_the_root_itself_may_be_a_link(tmp_path: Path, clock: FakeClock, kernel: Kernel) -> None:
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "vault")
    root = Root(tmp_path / "vault", name="vault", keep=tmp_path / "keep", clock=clock, kernel=kernel)
    root.replace("a.md", b"one", None)
    assert (tmp_path / "real" / "a.md").read_bytes() == b"one"


def test_special_files_are_never_opened(root: Root) -> None:
    os.mkfifo(root.path / "fifo.md")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        # The path of a unix socket is bound to some hundred bytes, which a temporary folder may exceed.
        here = os.open(root.path, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/socket.md" if os.path.exists("/proc/self/fd") else "socket.md")
        os.close(here)
        for path in ("fifo.md", "socket.md"):
            with pytest.raises(Forbidden):
                root.read(path)
            with pytest.raises(Forbidden):
                root.replace(path, b"x", version_of(b""))
        assert {entry.path: entry.kind for entry in root.scan()} == {"fifo.md": "special", "socket.md": "special"}


def test_scan_reports_everything_and_raises_for_nothing(root: Root) -> None:
    root.replace("a/one.md", b"one", None)
    root.replace("a/one.conflict-20260101T000000Z.md", b"two", None)
    (root.path / "bad\x01name.md").write_text("x")
    (root.path / ".git").mkdir()
    (root.path / ".git" / "config").write_text("x")
    found = {entry.path: entry for entry in root.scan()}
    assert {path: entry.kind for path, entry in found.items()} == {
        "a/one.md": "file",
        "a/one.conflict-20260101T000000Z.md": "conflict",
        "bad\x01name.md": "name",
    }
    assert found["a/one.md"].size == 3 and found["a/one.md"].inode > 0
    assert {entry.path for entry in root.scan(hidden=True)} - set(found) == {".git/config"}


@pytest.mark.parametrize("name", ["con.md", "AUX", "Lpt1.txt", "dot.", "space ", "back\\slash.md"])
def test_names_that_other_systems_cannot_hold_are_not_created_but_read(root: Root, name: str) -> None:
    with pytest.raises(InvalidInput):
        root.replace(name, b"x", None)
    (root.path / name).write_bytes(b"there")
    assert root.read(name).data == b"there"


def test_a_folder_swapped_for_a_link_meanwhile_is_refused(root: Root, tmp_path: Path) -> None:
    version = root.replace("a/b.md", b"one", None).version
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.md").write_bytes(b"one")
    os.rename(root.path / "a", tmp_path / "moved")
    os.symlink(tmp_path / "outside", root.path / "a")
    with pytest.raises(Forbidden):
        root.replace("a/b.md", b"two", version)
    assert (tmp_path / "outside" / "b.md").read_bytes() == b"one"
    assert (tmp_path / "moved" / "b.md").read_bytes() == b"one"
