"""Copies that sync tools make are no notes, as our own conflict copies are none: point 1 of issue 15."""

from __future__ import annotations

import pytest

from lithos.tools.caller import Caller
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse, Save

OPERATOR = Caller(operator=True)
COPIES = (
    "plan.conflict-20260131T120000Z.md",
    "plan.conflict-20260131T120000Z-2.md",
    "plan.sync-conflict-20260131-120000-ABC2DEF.md",
    "plan.sync-conflict-20260131-120000.md",
    "plan (Ann's conflicted copy 2026-01-31).md",
    "plan (Ann's Conflicted Copy 2026-01-31 (1)).md",
    "plan (conflicted copy 2026-01-31 120000).md",
    "plan (Conflicted copy laptop 202601311200).md",
    "plan (Case Conflict 1).md",
    "plan (Ann's Selective Sync Conflict 2).md",
    "plan (in Konflikt stehende Kopie von Ann 2026-01-31).md",
    "plan (Copie en conflit de Ann 2026-01-31).md",
    "plan (SFConflict ann@example.org 2026-01-31-12-00-00).md",
    "plan_conflict-20260131-120000.md",
    "plan_nas_Jan-31-120000-2026_Conflict.md",
    "plan.Conflict.md",
    "plan [conflicted].md",
    "plan-DESKTOP-AB12CD3.md",
    "plan-LAPTOP-AB12CD34.md",
)
NOTES = (
    "conflict.md",
    "plan-conflict.md",
    "how-to-solve-a-conflicted-copy.md",
    "conflicted copy.md",
    "(conflicted copy) of things.md",
    "plan-desktop-install.md",
    "plan_merge_conflict.md",
    "a (legal case conflict).md",
    "plan [conflict].md",
    "sync-conflict-20260131-120000.md",
    "a (conflict of interest).md",
    "plan (2).md",
    "plan 2.md",
)
BODY = "---\nid: 11111111-2222-4333-8444-555555555555\ntitle: Diary\n---\nZebrafink confession.\n"


@pytest.mark.parametrize("folder", ["", "deep/er/"])
def test_a_copy_of_a_sync_tool_is_no_note_and_is_listed_as_a_copy(
    call: CallTool, refused: Refuse, save: Save, folder: str
) -> None:
    save(f"{folder}plan.md", "---\ntitle: Plan\n---\ntext\n")
    copies = sorted(folder + name for name in COPIES)
    for copy in copies:
        save(copy, BODY)
        for path in (copy, copy.removesuffix(".md")):
            assert refused("lithos_read", path=path)["code"] == "not_found", path
    for clear in (False, True):
        call("lithos_reindex", _caller=OPERATOR, clear=clear)
        assert [item["path"] for item in call("lithos_list", status="all")["items"]] == [f"{folder}plan.md"]
        assert call("lithos_search", query="zebrafink")["results"] == []
        problems = call("lithos_validate", limit=100)["problems"]
        assert sorted(each["path"] for each in problems["conflict_copies"]) == copies
        assert "unreadable_files" not in problems
    assert sorted(call("lithos_read", path=f"{folder}plan")["conflict_copies"]) == copies
    note = call("lithos_write", agent="a", title="T", content="text")
    for name in COPIES:
        answer = refused("lithos_move", agent="a", id=note["id"], to=f"{folder}other {name}")
        assert answer["code"] == "invalid_input", name


def test_a_note_about_conflicts_is_a_note(call: CallTool, save: Save) -> None:
    for number, name in enumerate(NOTES):
        save(name, BODY.replace("1111-", f"{number:04}-", 1))
        assert call("lithos_read", path=name)["path"] == name
    call("lithos_reindex", _caller=OPERATOR, clear=True)
    assert sorted(item["path"] for item in call("lithos_list")["items"]) == sorted(NOTES)
    assert "conflict_copies" not in call("lithos_validate")["problems"]
