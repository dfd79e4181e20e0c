"""What an agent was told is written stays reachable: in the file, its history, a conflict copy or the trash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lithos.app import Lithos
from lithos.storage import Root
from tests.conftest import CallTool


def kept(call: CallTool, note_id: str) -> set[str]:
    """The versions that the history still has."""
    versions = call("lithos_note_history", id=note_id)["versions"]
    return {each["replaced_version"] for each in versions if each["kept"]}


@pytest.mark.parametrize("last", ["save", "removal"])
@pytest.mark.parametrize("eyes", ["watcher", "scanner"])
def test_an_acknowledged_version_survives_an_editors_save(
    data_dir: Path, lithos: Lithos, call: CallTool, monkeypatch: pytest.MonkeyPatch, eyes: str, last: str
) -> None:
    """The index has read what is known of a file; before it looks at the file, an agent writes and an editor saves."""
    first = call("lithos_write", title="shared", content="first", agent="ann")
    file = data_dir / "knowledge" / first["path"]
    told: list[str] = []
    looked = {"watcher": "stat", "scanner": "scan"}[eyes]
    look = getattr(Root, looked)

    def look_late(root: Root, *args: Any, **kwargs: Any) -> Any:
        if not told:
            told.append("")
            told[0] = call("lithos_write", id=first["id"], title="shared", content="second", agent="ann")["version"]
            file.write_text(file.read_text().replace("second", "a person's")) if last == "save" else file.unlink()
        return look(root, *args, **kwargs)

    monkeypatch.setattr(Root, looked, look_late)
    lithos.notes.index.follow([first["path"]]) if eyes == "watcher" else lithos.notes.reindex()
    assert told[0]
    assert told[0] in kept(call, first["id"])


@pytest.mark.parametrize("how", ["removed", "folder removed", "replaced by a folder"])
def test_a_file_removed_by_hand_leaves_the_agents_last_text_in_its_history(
    data_dir: Path, lithos: Lithos, call: CallTool, how: str
) -> None:
    made = call("lithos_write", title="gone soon", content="the last text", path="sub", agent="ann")
    file = data_dir / "knowledge" / made["path"]
    file.unlink()
    if how == "folder removed":
        file.parent.rmdir()
    elif how == "replaced by a folder":
        file.mkdir()
    lithos.notes.reindex()
    assert made["version"] in kept(call, made["id"])
    if how == "replaced by a folder":
        file.rmdir()
    call("lithos_note_restore", note=made["id"], agent="ann")
    assert "the last text" in call("lithos_read", id=made["id"])["content"]


LOOKALIKES = [
    "2026-01-01",
    "2026-1-1",
    "2026-01-01T10:00:00Z",
    "2026-01-01 10:00:00",
    "12:30",
    "12:30:45",
    "1:2:3",
    "190:20:30.15",
    "1e3",
    "1E3",
    "e1",
    "0x1F",
    "0o17",
    "017",
    "0b11",
    "1_000",
    "1.5",
    ".5",
    "5.",
    "+1",
    "-1",
    ".inf",
    "-.INF",
    ".nan",
    "~",
    "null",
    "Null",
    "yes",
    "No",
    "ON",
    "y",
    "=",
    "<<",
    "12345678-1234-1234-1234-123456789012",
    "12345678-1234-1234-1234-1234567890e5",
    "2026-01-01T10Z",
    "20260101",
    "1234567e",
    "a: b",
    "a #b",
    "- a",
    "? a",
    "@a",
    "`a`",
    "%a",
    "!a",
    "&a",
    "*a",
    "|",
    ">",
    "'a'",
    '"a"',
    "{a}",
    "[a]",
    "a:",
    "---",
    "...",
]


def test_every_title_tag_and_author_is_a_text_to_every_reader_of_yaml(data_dir: Path, call: CallTool) -> None:
    wrong: list[tuple[str, Any]] = []
    for text in LOOKALIKES:
        made = call("lithos_write", title=text, content="c", tags=[text], agent=text)
        front = (data_dir / "knowledge" / made["path"]).read_text().split("---\n")[1]
        for read in (yaml.safe_load, _yaml12, _yaml11):
            fields = read(front)
            seen = [fields["title"], *fields["tags"], fields["author"]]
            # A title keeps what a title may have; what is read is a text, and the one that was given.
            if (
                any(not isinstance(each, str) for each in seen)
                or seen[0] != call("lithos_read", id=made["id"])["title"]
            ):
                wrong.append((text, seen))
    assert wrong == []


def _yaml12(text: str) -> Any:
    import ryaml

    return ryaml.loads(text)  # type: ignore[attr-defined]


def _yaml11(text: str) -> Any:
    return yaml.load(text, Loader=yaml.FullLoader)
