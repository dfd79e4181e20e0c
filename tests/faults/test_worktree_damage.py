"""Damage to a worktree: the next call refuses it with the way out or shows what is there now; none hangs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from lithos.errors import LithosError
from tests.faults.damage import DAMAGES, Damage, bounded, fifo, folder, link, victim
from tests.support.workbench import Workbench

CHANGED = "one\n2\nthree\n"
OTHERS = "of another\n"
SHORT = (fifo, link)  # in `make test`; the others in `make torture-tests`
each_damage = pytest.mark.parametrize(
    "damage",
    [pytest.param(each, marks=() if each in SHORT else pytest.mark.torture) for each in DAMAGES],
    ids=lambda damage: damage.__name__,
)


def answered(bench: Workbench, tool: str, /, **arguments: Any) -> Any:
    try:
        return bench.call(tool, **arguments)
    except LithosError as error:
        assert error.hint and error.code != "internal", (tool, error.as_dict())
        return error


def changed(folder: Path) -> tuple[Path, str]:
    """A worktree with one change that is not committed: its place, and what the change is shown as."""
    with Workbench(folder) as bench:
        bench.open()
        bench.call("lithos_work_read", path="a.py")
        bench.call("lithos_work_write", path="a.py", content=CHANGED)
        return bench.worktree().path, bench.call("lithos_work_diff")["diff"]


@each_damage
def test_a_damaged_file_of_a_worktree_is_refused_or_shown_as_it_is(tmp_path: Path, damage: Damage) -> None:
    place, _ = changed(tmp_path)
    victim(place).write_text(OTHERS)
    damage(place / "a.py")
    with bounded(), Workbench(tmp_path) as bench:
        read, diff = answered(bench, "lithos_work_read", path="a.py"), answered(bench, "lithos_work_diff")
        assert isinstance(read, LithosError) or read["content"] == (place / "a.py").read_text()
        assert isinstance(diff, LithosError) or OTHERS not in diff["diff"]
        answered(bench, "lithos_work_write", path="a.py", content=CHANGED)
    assert victim(place).read_text() == OTHERS


@each_damage
def test_gits_own_file_in_a_worktree_is_not_relied_on(tmp_path: Path, damage: Damage) -> None:
    place, shown = changed(tmp_path)
    victim(place).write_text(OTHERS)
    damage(place / ".git")
    with bounded(), Workbench(tmp_path) as bench:
        assert bench.call("lithos_work_diff")["diff"] == shown
        assert bench.call("lithos_work_commit", message="kept")["files"] == 1
    assert victim(place).read_text() == OTHERS


@each_damage
def test_what_is_no_folder_in_place_of_a_worktree_is_moved_aside(tmp_path: Path, damage: Damage) -> None:
    place, _ = changed(tmp_path)
    victim(place).write_text(OTHERS)
    shutil.rmtree(place)
    place.write_text("no folder")
    damage(place)
    with bounded(), Workbench(tmp_path) as bench:
        if damage is not folder:  # an empty one: every file counts as deleted by a person
            assert bench.call("lithos_work_read", path="a.py")["content"] == "one\ntwo\nthree\n"
        assert bench.call("lithos_worktree_open")["path"] == str(place)
    assert victim(place).read_text() == OTHERS


def test_a_link_to_a_folder_of_another_in_place_of_a_worktree_is_not_followed(tmp_path: Path) -> None:
    place, _ = changed(tmp_path)
    others = tmp_path / "others"
    shutil.move(place, others)
    place.symlink_to(others)
    with bounded(), Workbench(tmp_path) as bench:
        assert bench.call("lithos_work_read", path="a.py")["content"] == "one\ntwo\nthree\n"
        bench.call("lithos_work_write", path="a.py", content="mine\n")
    assert (others / "a.py").read_text() == CHANGED
