"""Every change of a note is in the list of changes, by the hand that made it: point 7 of issue 15."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from tests.conftest import CallTool
from tests.support.note_calls import caller

HOUR = 3600


def listed(call: CallTool, since: str) -> list[str]:
    return [item["path"] for item in call("lithos_list", since=since)["items"]]


def lines(call: CallTool, since: str) -> list[str]:
    return list(call("lithos_changes", since=since)["changes"].get("note", []))


@pytest.mark.parametrize("between", [0, HOUR])
def test_a_note_that_was_deleted_and_restored_is_in_the_list_since(
    call: CallTool, lithos: Lithos, clock: FakeClock, between: int
) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")
    call("lithos_write", agent="a", title="Still", content="y")
    clock.advance(HOUR)
    cursor = call("lithos_changes", since="2025-12-31")["cursor"]
    call("lithos_delete", agent="b", id=note["id"])
    clock.advance(between)
    call("lithos_note_restore", agent="b", note=note["id"])
    assert listed(call, "2026-01-01T00:30:00Z") == ["t.md"]
    for since in (cursor, "2026-01-01T00:30:00Z"):
        assert [line.split(" ", 1)[1] for line in lines(call, since)] == [
            "restore T [t.md] by b",
            "delete T [t.md] by b",
        ]
    lithos.notes.reindex()
    assert listed(call, "2026-01-01T00:30:00Z") == ["t.md"]


def test_a_file_that_a_person_removes_and_brings_back_is_a_change(
    call: CallTool, lithos: Lithos, clock: FakeClock, data_dir: Path
) -> None:
    call("lithos_write", agent="a", title="T", content="x")
    clock.advance(HOUR)
    cursor = call("lithos_changes", since="2025-12-31")["cursor"]
    file = data_dir / "knowledge/t.md"
    data = file.read_bytes()
    file.unlink()
    lithos.notes.reindex()
    file.write_bytes(data)
    lithos.notes.reindex()
    assert listed(call, "2026-01-01T00:30:00Z") == ["t.md"]
    assert "on disk" in lines(call, cursor)[0]


def test_a_file_that_a_person_renames_is_a_change(
    call: CallTool, lithos: Lithos, clock: FakeClock, data_dir: Path
) -> None:
    call("lithos_write", agent="a", title="T", content="x")
    clock.advance(HOUR)
    cursor = call("lithos_changes", since="2025-12-31")["cursor"]
    (data_dir / "knowledge/t.md").rename(data_dir / "knowledge/u.md")
    lithos.notes.reindex()
    assert listed(call, "2026-01-01T00:30:00Z") == ["u.md"]
    assert len(lines(call, cursor)) == 1 and "[u.md] on disk" in lines(call, cursor)[0]


def test_what_an_agent_changes_is_not_called_a_persons_change(call: CallTool, clock: FakeClock) -> None:
    first = call("lithos_write", agent="a", title="One", content="see [[two]]", path="x")
    second = call("lithos_write", agent="a", title="Two", content="text", path="x")
    clock.advance(HOUR)
    cursor = call("lithos_changes", since="2025-12-31")["cursor"]
    call("lithos_move", agent="b", id=second["id"], to="y/three.md", rewrite_links=True)
    call("lithos_write", agent="b", title="New", content="better", supersedes=first["id"])
    call("lithos_write", agent="b", id=second["id"], status="deprecated")
    call("lithos_note_revert", agent="b", id=second["id"], version=second["version"])
    call("lithos_delete", agent="b", id=second["id"])
    call("lithos_note_restore", agent="b", note=second["id"])
    assert not [line for line in lines(call, cursor) if "on disk" in line]
    assert {"x/one.md", "y/three.md"} <= {
        item["path"] for item in call("lithos_list", since="2026-01-01T00:30:00Z", status="all")["items"]
    }


@pytest.mark.parametrize("front", ["", "---\ntitle: Old\nupdated_at: 2020-01-01\n---\n"])
def test_a_file_that_arrives_with_an_old_date_is_a_change(
    call: CallTool, lithos: Lithos, clock: FakeClock, data_dir: Path, front: str
) -> None:
    call("lithos_write", agent="a", title="T", content="x")
    clock.advance(HOUR)
    file = data_dir / "knowledge/old.md"
    file.write_text(front + "# Old\n\ntext\n")
    os.utime(file, (1e9, 1e9))
    lithos.notes.reindex()
    assert listed(call, "2026-01-01T00:30:00Z") == ["old.md"]
    assert any("add Old [old.md] on disk" in line for line in lines(call, "2026-01-01T00:30:00Z"))
    if front:
        assert call("lithos_read", path="old.md")["metadata"]["updated_at"] < "2021"
    clock.advance(HOUR)
    call("lithos_reindex", _caller=Caller(operator=True))
    assert listed(call, "2026-01-01T01:30:00Z") == []


def test_the_files_of_a_first_scan_are_no_changes(config: LithosConfig, clock: FakeClock, data_dir: Path) -> None:
    (data_dir / "knowledge").mkdir(parents=True)
    for number in range(3):
        file = data_dir / f"knowledge/{number}.md"
        file.write_text("text")
        os.utime(file, (1e9, 1e9))
    opened = open_lithos(config, clock=clock)
    try:
        assert listed(caller(opened), "2025-12-31") == []
    finally:
        opened.close()
