"""A folder is quiet until something happens in it, and never for long."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lithos.storage import gather_events, watch_folder
from lithos.storage.files import folder_events

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify")


def write_inside(folder: Path) -> None:
    with open(folder / "there", "r+b") as file:
        file.write(b"X")


HAPPENINGS: dict[str, Callable[[Path], object]] = {
    "a file is written into": write_inside,
    "a file is cut": lambda folder: os.truncate(folder / "there", 1),
    "a file is made": lambda folder: (folder / "new").touch(),
    "a file is removed": lambda folder: (folder / "there").unlink(),
    "a file is renamed": lambda folder: (folder / "there").rename(folder / "else"),
    "a file is replaced": lambda folder: (folder.parent / "outside").replace(folder / "there"),
    "dates are changed": lambda folder: os.utime(folder / "there", (0, 0)),
    "the folder is removed": shutil.rmtree,
    "the folder is renamed": lambda folder: folder.rename(folder.with_name("moved")),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watched"
    made.mkdir()
    (made / "there").write_bytes(b"some bytes")
    (tmp_path / "outside").write_bytes(b"other bytes")
    return made


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_any_change_in_a_folder_ends_its_quiet(folder: Path, happening: str) -> None:
    one, other = watch_folder(folder), watch_folder(folder)
    assert not one.is_quiet(), "it was never looked at"
    one.looking()
    other.looking()
    gather_events()
    assert one.is_quiet() and other.is_quiet()
    (folder / "there").read_bytes()
    gather_events()
    assert one.is_quiet(), "reading changes nothing"
    HAPPENINGS[happening](folder)
    gather_events()
    assert not one.is_quiet() and not other.is_quiet()
    other.looking()
    assert other.is_quiet() and not one.is_quiet(), "each has its own looks"


def test_a_quiet_folder_is_looked_at_again_after_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch_folder(folder)
    watched.looking()
    assert watched.is_quiet()
    monkeypatch.setattr(folder_events, "QUIET_AT_MOST", 0.0)
    assert not watched.is_quiet()


def test_where_the_kernel_refuses_a_watch_no_folder_is_quiet(tmp_path: Path) -> None:
    watched = watch_folder(tmp_path / "missing")
    watched.looking()
    assert not watched.is_quiet()


def test_a_child_after_a_fork_does_not_take_the_events_of_its_parent(folder: Path) -> None:
    watched = watch_folder(folder)
    watched.looking()
    (folder / "new").touch()
    child = os.fork()
    if child == 0:
        gather_events()
        os._exit(1 if watched.is_quiet() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gather_events()
    assert not watched.is_quiet()


def test_watchers_that_are_gone_leave_no_watch_behind(folder: Path) -> None:
    watched = watch_folder(folder)
    known = folder_events._events()._folders
    (number,) = (each for each, watching in known.items() if watched in watching)
    del watched
    (folder / "new").touch()
    gather_events()
    assert number not in known
