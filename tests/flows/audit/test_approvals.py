"""Approvals (point 2 of issue 15): who approves, in which spelling, and what exactly is approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.settings import LifecycleSettings, LithosConfig, StorageSettings
from lithos.storage.faults import Crash, PlannedFaults
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse

OPERATOR = Caller(operator=True)
REFUSED = ("invalid_input", "forbidden", "conflict")


@pytest.fixture
def config(data_dir: Path) -> LithosConfig:
    return LithosConfig(
        storage=StorageSettings(data_dir=data_dir), lifecycle=LifecycleSettings(approvers=("bob", "Eve"))
    )


def promotion(note: str, **more: Any) -> dict[str, Any]:
    wish = {"evidence_refs": ["commit:ab12"], "approved_by": "bob", "actor": "mallory", "reason": "It holds."}
    return {"source_entry_id": note, **wish, **more}


@pytest.fixture
def note(call: CallTool) -> str:
    return str(call("lithos_write", agent="mallory", title="Rule", content="Always retry.")["id"])


@pytest.fixture
def event(call: CallTool, note: str) -> str:
    return f"event:{call('lithos_promote', _caller=OPERATOR, **promotion(note))['event_id']}"


@pytest.fixture
def rule(call: CallTool, event: str) -> dict[str, Any]:
    """The approved note."""
    wish = {"agent": "mallory", "title": "Rule", "content": "Always retry.", "path": "procedural", "provenance": event}
    return call("lithos_write", **wish)


# Who

SAME_AS_BOB = [
    "bob\u200b", "b\u00adob", "\ufeffbob", "b\u2060o\u2061b", "bo\ufe0fb", "bob\U000e0041", "\u2066bob\u2069",
    "b\u034fob", "b\u3164ob", "B O B", "b\u00a0o\u2003b", "\u0412\u041e\u0412", "b\u043eb", "\u0184ob",
    "\U0001d41b\U0001d428\U0001d41b",
    "\u0432\u043e\u0432", "b\u03bfb", "b\u0585b", "bo\u0301b", "b0b", "b-o-b", "bob.", "B\u041eB", "b\u0ed0b",
    "\u2c82ob", "\ua4d0ob", "bo\u13cf",
]  # fmt: skip


def test_no_spelling_of_a_name_approves_itself(refused: Refuse, note: str) -> None:
    for actor in SAME_AS_BOB:
        for caller in (OPERATOR, Caller(agent="bob", bound=True)):
            assert refused("lithos_promote", _caller=caller, **promotion(note, actor=actor))["code"] in REFUSED, actor


def test_a_look_alike_of_an_approver_is_no_approver(refused: Refuse, note: str) -> None:
    for approver in SAME_AS_BOB:
        for caller in (Caller(agent=approver, bound=True), Caller(agent="mallory", bound=True), Caller()):
            wish = promotion(note, approved_by=approver)
            assert refused("lithos_promote", _caller=caller, **wish)["code"] in REFUSED, approver


def test_without_a_list_of_approvers_names_are_compared_as_people_read_them(tmp_path: Path) -> None:
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path / "open")))
    try:
        ask = catalogue().call
        note = ask(opened, "lithos_write", {"agent": "m", "title": "R", "content": "x"})["id"]
        for approver in SAME_AS_BOB:
            with pytest.raises(Exception, match=r"differ|alphabet"):
                ask(opened, "lithos_promote", promotion(note, approved_by=approver, actor="bob"))
        for actor in ("Иван", "王芳", "José", "🦊", "gpt-4", "राम"):
            assert ask(opened, "lithos_promote", promotion(note, actor=actor))["event_id"], actor
        assert ask(opened, "lithos_promote", promotion(note, approved_by="annika", actor="ann"))["event_id"]
    finally:
        opened.close()


def test_a_bound_token_approves_in_no_other_name(tmp_path: Path) -> None:
    """Also without a list of approvers: where the caller is known, what it types does not replace it."""
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path / "open")))
    try:
        ask = catalogue().call
        note = ask(opened, "lithos_write", {"agent": "m", "title": "R", "content": "x"})["id"]
        with pytest.raises(Exception, match="bound"):
            ask(opened, "lithos_promote", promotion(note, approved_by="eve"), Caller(agent="mallory", bound=True))
        done = ask(opened, "lithos_promote", promotion(note, approved_by=" BOB "), Caller(agent="bob", bound=True))
        assert done["approved_by"] == "bob"
    finally:
        opened.close()


@pytest.mark.parametrize("approvers", [("",), (" ",), ("\u200b",), ("", " ")])
def test_a_list_of_blank_approvers_opens_nothing(data_dir: Path, approvers: tuple[str, ...]) -> None:
    try:
        settings = LifecycleSettings(approvers=approvers)
    except ValueError:
        return  # refused at start
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), lifecycle=settings))
    try:
        ask = catalogue().call
        note = ask(opened, "lithos_write", {"agent": "m", "title": "R", "content": "x"})["id"]
        with pytest.raises(Exception, match="may not approve"):
            ask(opened, "lithos_promote", promotion(note))
    finally:
        opened.close()


# What


@pytest.mark.parametrize("first", ["moved", "deleted", "moved and edited", "moved and freed"])
def test_a_promotion_serves_no_second_note_after_the_first_changed(
    call: CallTool, refused: Refuse, rule: dict[str, Any], event: str, first: str
) -> None:
    own = {"id": rule["id"], "agent": "mallory"}
    if first == "deleted":
        call("lithos_delete", **own)
    else:
        call("lithos_move", to="elsewhere", **own)
    if first == "moved and edited":
        call("lithos_write", content="Something else.", **own)
    if first == "moved and freed":
        call("lithos_write", provenance="commit:ff00", **own)
    wish = {"agent": "mallory", "content": "Always retry.", "path": "procedural", "provenance": event}
    for title in ("Rule", "Another"):
        assert refused("lithos_write", title=title, **wish)["code"] in REFUSED
    other = call("lithos_write", agent="mallory", title="Third", content="Always retry.", provenance=event)
    assert refused("lithos_move", id=other["id"], agent="mallory", to="procedural")["code"] in REFUSED


def test_the_approved_note_itself_may_go_and_come_back(call: CallTool, rule: dict[str, Any]) -> None:
    own = {"id": rule["id"], "agent": "mallory"}
    call("lithos_move", to="elsewhere", **own)
    call("lithos_move", to="procedural/again.md", **own)
    assert "problem" not in call("lithos_read", id=rule["id"])
    call("lithos_delete", **own)
    call("lithos_note_restore", note=rule["id"], agent="mallory")
    assert "problem" not in call("lithos_read", id=rule["id"])


def test_a_copy_of_an_approved_note_by_hand_is_not_approved(
    call: CallTool, rule: dict[str, Any], data_dir: Path
) -> None:
    file = data_dir / "knowledge" / rule["path"]
    copy = file.with_name("copy.md")
    copy.write_text(file.read_text().replace(rule["id"], "99999999-2222-4333-8444-555555555555"))
    call("lithos_reindex", _caller=OPERATOR)
    assert "problem" in call("lithos_read", path="procedural/copy.md")
    assert "problem" not in call("lithos_read", id=rule["id"])


@pytest.mark.parametrize(
    "change",
    [{"title": "Never retry"}, {"title": "rule"}, {"content": "Always retry.  "},
     {"content": "    Always retry."}, {"content": "Always\u2028retry."}, {"content": "Always retry.\u200b"}],
)  # fmt: skip
def test_every_change_of_title_or_text_needs_a_new_promotion(
    call: CallTool, refused: Refuse, rule: dict[str, Any], change: dict[str, str]
) -> None:
    refusal = refused("lithos_write", id=rule["id"], agent="mallory", **change)
    assert refusal["code"] in REFUSED and "lithos_promote" in refusal["hint"]
    own = {"id": rule["id"], "agent": "mallory"}
    call("lithos_move", to="elsewhere", **own)
    call("lithos_write", **own, **change)
    assert refused("lithos_move", to="procedural", **own)["code"] in REFUSED


def test_a_title_that_a_person_changes_by_hand_is_no_longer_approved(
    call: CallTool, rule: dict[str, Any], data_dir: Path
) -> None:
    file = data_dir / "knowledge" / rule["path"]
    file.write_text(file.read_text().replace("title: Rule", "title: Never do it").replace("# Rule", "# Never do it"))
    call("lithos_reindex", _caller=OPERATOR)
    assert "problem" in call("lithos_read", id=rule["id"])


def test_a_new_promotion_of_the_same_note_replaces_the_first(call: CallTool, rule: dict[str, Any]) -> None:
    draft = call("lithos_write", agent="mallory", title="Rule", content="Retry twice.")["id"]
    event = call("lithos_promote", _caller=OPERATOR, **promotion(draft))["event_id"]
    wish = {"id": rule["id"], "agent": "mallory", "provenance": f"event:{event}"}
    call("lithos_write", content="Retry twice.", title="Rule 2", **wish)
    assert "problem" not in call("lithos_read", id=rule["id"])


@pytest.mark.parametrize("step", ["saga.opened", "saga.stepped", "saga.close"])
def test_a_kill_leaves_the_promotion_used_if_and_only_if_the_note_is_there(config: LithosConfig, step: str) -> None:
    ask = catalogue().call
    faults = PlannedFaults()
    opened = open_lithos(config, faults=faults)
    note = ask(opened, "lithos_write", {"agent": "m", "title": "Rule", "content": "x"})["id"]
    event = ask(opened, "lithos_promote", promotion(note), OPERATOR)["event_id"]
    wish = {"agent": "m", "title": "Rule", "content": "x", "path": "procedural", "provenance": f"event:{event}"}
    faults.plan(step, "crash", visit=faults.seen.count(step) + 1)
    with pytest.raises(Crash):
        ask(opened, "lithos_write", wish)
    opened.close()
    opened = open_lithos(config)
    try:
        listed = [each["id"] for each in ask(opened, "lithos_list", {"path_prefix": "procedural"})["items"]]
        assert len(listed) == (step != "saga.opened")
        if listed:
            ask(opened, "lithos_delete", {"id": listed[0], "agent": "m"})
            with pytest.raises(Exception, match="promotion"):
                ask(opened, "lithos_write", wish)
        else:
            assert ask(opened, "lithos_write", wish)["path"].startswith("procedural/")
    finally:
        opened.close()
