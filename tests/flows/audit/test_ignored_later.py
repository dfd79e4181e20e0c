"""Point 1 of issue 15: a note that notes.ignore names since then is unknown to every tool, not "deleted"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.errors import LithosError
from lithos.settings import LithosConfig, NotesSettings, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.support.note_calls import CallTool, caller

MARK = "quokka"  # in path, title, tag and content of what is ignored later


def _config(data_dir: Path, *ignore: str) -> LithosConfig:
    return LithosConfig(storage=StorageSettings(data_dir=data_dir), notes=NotesSettings(ignore=ignore))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CallTool, dict[str, str], dict[str, str]]]:
    """Two notes below Private, one of them deleted, both with a past; then the folder is ignored."""
    data_dir = tmp_path_factory.mktemp("ignored") / "data"
    before = open_lithos(_config(data_dir))
    call = caller(before)
    ids, versions = {}, {}
    for name in ("kept", "gone"):
        title = f"{MARK} {name}"
        note = call("lithos_write", agent="ann", title=title, content=f"{MARK} one", path="Private", tags=[MARK])
        versions[name] = note["version"]
        call("lithos_write", agent="ann", id=note["id"], content=f"{MARK} two")
        call("lithos_finding_post", agent="ann", task_id=_task(call), summary="s", knowledge_id=note["id"])
        ids[name] = note["id"]
    call("lithos_delete", agent="ann", id=ids["gone"])
    call("lithos_write", agent="ann", title="Plain", content="A plain note.")
    before.close()
    after = open_lithos(_config(data_dir, "Private"))
    yield caller(after), ids, versions
    after.close()


def _task(call: CallTool) -> str:
    return str(call("lithos_task_create", agent="ann", title="t")["task_id"])


def said(call: CallTool, tool: str, **arguments: Any) -> str:
    try:
        return json.dumps(call(tool, **arguments)).lower()
    except LithosError as error:
        return json.dumps(error.as_dict()).lower()


READS: dict[str, dict[str, Any]] = {
    "lithos_list": {"status": "all"},
    "lithos_changes": {"since": "2000-01-01", "limit": 100},
    "lithos_briefing": {"agent": "ann", "tier": "full"},
    "lithos_tags": {},
    "lithos_validate": {},
    "lithos_stats": {},
}


@pytest.mark.parametrize("tool", READS)
def test_no_list_names_a_note_that_is_ignored_since_then(known: Any, tool: str) -> None:
    call, _, _ = known
    assert MARK not in said(call, tool, **READS[tool])


@pytest.mark.parametrize("name", ["kept", "gone"])
@pytest.mark.parametrize("tool", ["lithos_search", "lithos_recall", "lithos_semantic"])
def test_no_search_finds_a_note_that_is_ignored_since_then(known: Any, tool: str, name: str) -> None:
    call, ids, _ = known
    answer = said(call, tool, query=f"{MARK} {name}")
    assert ids[name] not in answer and "private/" not in answer


@pytest.mark.parametrize("name", ["kept", "gone"])
@pytest.mark.parametrize("by", ["id", "path", "title"])
@pytest.mark.parametrize(
    "tool",
    [
        "lithos_read",
        "lithos_note_history",
        "lithos_note_diff",
        "lithos_note_revert",
        "lithos_note_restore",
        "lithos_write",
        "lithos_delete",
        "lithos_links",
        "lithos_move",
    ],
)
def test_a_note_that_is_ignored_since_then_is_not_called_deleted(known: Any, tool: str, by: str, name: str) -> None:
    call, ids, versions = known
    given = {"id": ids[name], "path": f"Private/{MARK}-{name}.md", "title": f"{MARK} {name}"}[by]
    argument = "note" if tool == "lithos_note_restore" else "id"
    more: dict[str, Any] = {
        "lithos_note_revert": {"version": versions[name]},
        "lithos_write": {"content": "new"},
        "lithos_move": {"to": "stolen.md"},
    }.get(tool, {})
    if not catalogue().get(tool).reads:
        more["agent"] = "ann"
    answer = said(call, tool, **{argument: given}, **more)
    assert '"not_found"' in answer or "note_not_found" in answer, answer
    assert "was deleted" not in answer and "deleted_id" not in answer and f"{MARK} one" not in answer


def test_an_undo_passes_over_what_is_ignored_since_then(known: Any) -> None:
    call, _, _ = known
    assert MARK not in said(call, "lithos_undo", agent="ann")
