"""A watch belongs to a folder and not to its name: one that was replaced, or is back, is heard again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lithos.storage import Watcher
from tests.support.waiting import until


@dataclass
class Progress:
    state: str = "current"
    total: int = 0


@dataclass
class Names:
    """An index that knows the names in the folder, and nothing of it while it is away."""

    folder: Path
    progress: Progress = field(default_factory=Progress)
    names: set[str] = field(default_factory=set)
    looks: int = 0

    def reconcile(self, *, clear: bool = False) -> None:
        self.names = {each.name for each in self.folder.iterdir()} if self.folder.is_dir() else set()
        self.looks += 1

    def follow(self, paths: list[str], /) -> None:
        self.reconcile()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Names]:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "first").touch()
    index = Names(folder)
    watcher = Watcher(index, folder, scan_seconds=3600, debounce_ms=50)
    watcher.start()
    until(lambda: index.looks >= 2, "the scan behind the start of the watch")
    yield index
    watcher.stop()


def test_a_folder_that_was_replaced_is_heard(watched: Names) -> None:
    shutil.rmtree(watched.folder)
    watched.folder.mkdir()
    for name in ("second", "third"):
        (watched.folder / name).touch()
        until(lambda name=name: name in watched.names, "a file in the new folder")  # type: ignore[misc]
    assert watched.names == {"second", "third"}


def test_a_folder_that_is_back_is_looked_at_and_heard(watched: Names) -> None:
    away = watched.folder.rename(watched.folder.with_name("away"))
    until(lambda: not watched.names, "the folder's absence")
    (away / "second").touch()
    away.rename(watched.folder)
    until(lambda: "second" in watched.names, "the folder's return")
    (watched.folder / "third").touch()
    until(lambda: "third" in watched.names, "a file in it")
