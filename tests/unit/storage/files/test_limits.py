"""Limits of paths, kept versions and the watcher, by number."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lithos.core.canonical import version_of
from lithos.core.clock import FakeClock
from lithos.errors import InvalidInput
from lithos.storage.files import Root
from lithos.storage.files.paths import checked
from lithos.storage.files.values import Limits
from lithos.storage.files.watcher import Watcher
from tests.support.waiting import until


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("n" * 255, True),
        ("n" * 256, False),
        ("é" * 127, True),
        ("é" * 128, False),
        ("/".join(["d"] * 40), True),
        ("/".join(["d"] * 41), False),
        ("/".join(["d" * 199] * 10), True),
        ("/".join(["d" * 199] * 10) + "d", True),
        ("/".join(["d" * 199] * 10) + "dd", False),
    ],
    ids=range(9),
)
def test_a_path_has_2000_bytes_and_40_names_of_255(path: str, is_taken: bool) -> None:
    if is_taken:
        assert checked(path) == path
    else:
        with pytest.raises(InvalidInput):
            checked(path)


def test_fifty_replaced_versions_are_kept_for_ninety_days(tmp_path: Path) -> None:
    clock = FakeClock()
    root = Root(tmp_path / "vault", name="vault", keep=tmp_path / ".lithos", clock=clock)
    try:
        before = root.replace("a.md", b"0", None).version
        for number in range(1, 53):
            clock.advance(1)
            before = root.replace("a.md", str(number).encode(), before).version
        root.prune()
        assert [each.version for each in root.history("a.md")] == [
            version_of(str(n).encode()) for n in range(51, 1, -1)
        ]
        clock.advance(89 * 86400)
        root.prune()
        assert len(root.history("a.md")) == 50
        clock.advance(2 * 86400)
        root.prune()
        assert root.history("a.md") == []
    finally:
        root.close()


def test_a_deleted_file_is_kept_for_thirty_days(tmp_path: Path) -> None:
    clock = FakeClock()
    root = Root(tmp_path / "vault", name="vault", keep=tmp_path / ".lithos", clock=clock)
    try:
        root.trash("a.md", root.replace("a.md", b"text", None).version)
        clock.advance(29 * 86400)
        root.prune()
        assert len(root.trashed("a.md")) == 1
        clock.advance(2 * 86400)
        root.prune()
        assert root.trashed("a.md") == []
    finally:
        root.close()


def test_bounds_of_sizes_and_of_staged_files() -> None:
    """Reached by no test at their real size: a gigabyte of versions, 64 MiB in one file, a minute of waiting."""
    limits = Limits()
    assert (limits.largest_file, limits.history_bytes, limits.trash_bytes) == (64 * 2**20, 2**30, 2**30)
    assert (limits.grace_seconds, limits.patience_seconds) == (5.0, 60.0)


class Followed:
    def __init__(self) -> None:
        self.progress = SimpleNamespace(state="current", total=0)
        self.scans = 0
        self.followed: list[int] = []
        self.scanned = threading.Event()

    def reconcile(self, *, clear: bool = False) -> None:
        self.scans += 1
        self.scanned.set()

    def follow(self, paths: list[str], /) -> None:
        self.followed.append(len(paths))


def watcher(index: Any, tmp_path: Path) -> Watcher:
    return Watcher(index, tmp_path, watch=False)


@pytest.mark.parametrize(("hints", "is_scan"), [(500, False), (501, True)])
def test_more_than_500_hints_are_one_scan(tmp_path: Path, hints: int, is_scan: bool) -> None:
    index = Followed()
    watching = watcher(index, tmp_path)
    watching.start()
    try:
        assert index.scanned.wait(60)
        until(lambda: watching._looked.is_set(), "the first scan")
        watching._hint({f"{number}.md" for number in range(hints)})
        until(lambda: index.followed or index.scans > 1, "a look at the files")
        assert (index.followed, index.scans) == (([], 2) if is_scan else ([500], 1))
    finally:
        watching.stop()


@pytest.mark.parametrize(
    ("total", "took", "pause"), [(500, 0.0, 60.0), (500, 2.0, 100.0), (501, 0.0, 1.0), (501, 3.0, 3.0)]
)
def test_scans_take_a_fiftieth_of_the_time_and_follow_soon_after_a_burst(
    tmp_path: Path, total: int, took: float, pause: float
) -> None:
    index = Followed()
    index.progress.total = total
    assert watcher(index, tmp_path)._until_next(took) == pause
