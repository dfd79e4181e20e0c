"""`lithos note`, `lithos validate`, `lithos reindex`, `lithos stats`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import Shell


def test_a_note_is_written_shown_moved_deleted_and_restored(shell: Shell, data_dir: Path) -> None:
    assert "inserted sub/my-plan.md" in shell(
        "note", "write", "--title", "My plan", "--content", "text", "--folder", "sub"
    )
    shell("note", "write", "--title", "Other", "--content", "[[my-plan]]")
    assert shell("note", "show", "sub/my-plan").endswith("text")
    moved = shell("note", "move", "sub/my-plan.md", "done/plan.md", "--rewrite-links")
    assert [line.strip() for line in moved.splitlines()] == [
        "sub/my-plan.md → done/plan.md",
        "links updated in other.md",
    ]
    assert (data_dir / "knowledge/other.md").read_text().endswith("[[plan]]\n")
    note_id = shell.json("note", "show", "done/plan")["id"]
    assert shell("note", "delete", note_id) == "deleted done/plan.md"
    assert shell("note", "restore", note_id) == "restored done/plan.md"
    assert shell("note", "show", note_id).endswith("text")
    assert "there is no note" in shell("note", "show", "nothing", code=3)


def test_an_older_version_is_listed_compared_and_brought_back(shell: Shell) -> None:
    first = shell.json("note", "write", "--title", "T", "--content", "one")
    shell("note", "write", "--note", "t", "--content", "two")
    assert first["version"] in shell("note", "history", "t")
    assert "-one" in shell("note", "diff", "t") and "+two" in shell("note", "diff", "t")
    shell("note", "revert", "t", first["version"])
    assert shell.json("note", "show", "t")["content"] == "one"


def test_validate_ends_with_a_code_for_scripts(shell: Shell, data_dir: Path) -> None:
    vault = data_dir / "knowledge"
    vault.mkdir(parents=True)
    (vault / "a.md").write_text("---\ntitle: A\n---\nfine\n")
    assert shell("validate").endswith("1 notes: all is well")
    (vault / "a.md").write_text("---\ntitle: A\n---\n[[nowhere]]\n")
    (vault / "bad.md").write_bytes(b"\xff")
    found = shell.json("validate", code=1)
    assert found["counts"] == {"broken_links": 1, "unreadable_files": 1}
    assert found["problems"]["broken_links"][0]["line"] == 4


@pytest.mark.parametrize("options", [(), ("--clear",)])
def test_reindex_takes_in_what_people_did(shell: Shell, data_dir: Path, options: tuple[str, ...]) -> None:
    vault = data_dir / "knowledge"
    vault.mkdir(parents=True)
    for number in range(3):
        (vault / f"{number}.md").write_text("text")
    assert shell("reindex", *options) == "3 notes, 0 files not served"
    stats = shell.json("stats")
    assert (stats["documents"], stats["index"]["state"]) == (3, "current")
    assert "index current" in shell("stats")
