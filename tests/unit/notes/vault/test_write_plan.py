"""A write is decided from a request and facts alone: no file, no table, no clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lithos.core.clock import parse_time
from lithos.errors import Conflict, InvalidInput, LithosError, SecretRefused
from lithos.notes.format.document import Unreadable
from lithos.notes.format.note import read_note
from lithos.notes.vault.loaded import Loaded
from lithos.notes.vault.write_plan import WriteFacts, plan_write
from lithos.notes.vault.writing import WriteRequest, checked_request
from lithos.storage import Outcome, Plan

NOW = parse_time("2026-01-31T12:00:00Z")
NEW = WriteFacts("id-new", "new.md", "inserted", NOW, 100_000)


def loaded(note_id: str, text: str = "text", **fields: str) -> Loaded:
    front = "".join(f"{name}: {value}\n" for name, value in {"id": note_id, "title": note_id, **fields}.items())
    note = read_note(f"{note_id}.md", f"---\n{front}---\n\n# {note_id}\n\n{text}\n".encode())
    assert not isinstance(note, Unreadable)
    return Loaded(note_id, note, {"version": note.version})


def update(current: Loaded, **facts: Any) -> WriteFacts:
    return WriteFacts(current.id, current.path, facts.pop("action", "updated"), NOW, 100_000, current, **facts)


def planned(request: WriteRequest, facts: WriteFacts) -> Plan:
    plan = plan_write(checked_request(request, 100_000), facts)
    assert isinstance(plan, Plan)
    return plan


def texts(plan: Plan) -> dict[str, str]:
    return {change.path: (change.after or b"").decode() for change in plan.changes}


def test_a_new_note_is_one_new_file_and_its_answer_names_it() -> None:
    plan = planned(WriteRequest("ann", "New", "Text"), NEW)
    (change,) = plan.changes
    assert (change.path, change.before, plan.event.op) == ("new.md", None, "create")
    assert "author: ann\n" in texts(plan)["new.md"] and "updated_at: 2026-01-31T12:00:00Z" in texts(plan)["new.md"]
    assert plan.answer | {"version": ""} == {
        "id": "id-new",
        "path": "new.md",
        "version": "",
        "replaced_version": None,
        "action": "inserted",
        "superseded_ids": [],
    }


def test_a_note_that_supersedes_changes_both_files() -> None:
    old = loaded("old")
    plan = planned(WriteRequest("ann", "New", "Text"), replace(NEW, action="superseded", replaced=old))
    assert plan.answer["superseded_ids"] == ["old"]
    assert "supersedes: old\n" in texts(plan)["new.md"]
    assert "status: superseded\nsuperseded_by: id-new\n" in texts(plan)["old.md"]


def test_an_update_that_changes_nothing_is_an_outcome_without_files() -> None:
    outcome = plan_write(WriteRequest("ann", content="text"), update(loaded("a", author="ann")))
    assert isinstance(outcome, Outcome)
    assert outcome.answer["version"] == outcome.answer["replaced_version"]


def test_a_successor_is_named_by_both_notes() -> None:
    plan = planned(WriteRequest("ann", superseded_by="heir"), update(loaded("a"), successor=loaded("heir")))
    assert "status: superseded\nsuperseded_by: heir\n" in texts(plan)["a.md"]
    assert "supersedes: a\n" in texts(plan)["heir.md"]


@pytest.mark.parametrize(
    ("fields", "facts", "error"),
    [
        ({"superseded_by": "heir"}, {"successor": "heir"}, Conflict),  # superseded by another already
        ({"fields": {"supersedes": "old"}}, {"replaced": "old"}, InvalidInput),  # a superseded note supersedes nothing
    ],
)
def test_a_superseded_note_is_not_superseded_again(
    fields: dict[str, Any], facts: dict[str, str], error: type[LithosError]
) -> None:
    current = loaded("a", status="superseded", superseded_by="first")
    others = {name: loaded(note_id) for name, note_id in facts.items()}
    with pytest.raises(error):
        planned(WriteRequest("ann", **fields), update(current, **others))


def test_a_status_superseded_needs_a_successor() -> None:
    with pytest.raises(InvalidInput, match="which note"):
        planned(WriteRequest("ann", fields={"status": "superseded"}), update(loaded("a")))


def test_confidence_is_no_more_than_that_of_the_least_trusted_source() -> None:
    request = WriteRequest("ann", "New", "Text", fields={"derived_from": ["s"], "confidence": 0.9})
    plan = planned(request, replace(NEW, source_trust=[0.8, 0.4]))
    assert "confidence: 0.4\n" in texts(plan)["new.md"]
    assert plan.answer["warnings"] == ["confidence is 0.4, that of its least trusted source, and not 0.9"]


def test_a_credential_is_a_warning_or_a_refusal() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    request = WriteRequest("ann", "New", f"line\n{key}")
    (warning,) = planned(request, NEW).answer["warnings"]
    assert "line 2" in warning and key not in warning
    with pytest.raises(SecretRefused) as refusal:
        planned(request, replace(NEW, refuse_secrets=True))
    assert key not in str(refusal.value.details)


def test_similar_notes_that_the_answer_names_already_are_left_out() -> None:
    similar: list[Any] = [{"id": name, "path": "", "title": "", "likeness": 1.0} for name in ("old", "twin", "other")]
    facts = replace(NEW, replaced=loaded("old"), similar=similar, existing={"id": "twin", "path": "", "title": ""})
    answer = planned(WriteRequest("ann", "New", "Text"), facts).answer
    assert [each["id"] for each in answer["similar"]] == ["other"]


def test_a_note_that_would_grow_beyond_the_limit_is_refused() -> None:
    facts = replace(update(loaded("a")), largest=200)
    plan_write(WriteRequest("ann", content="x" * 10), facts)
    with pytest.raises(InvalidInput, match="200 is the most"):
        plan_write(WriteRequest("ann", content="x" * 190, append=True), facts)


def test_a_folder_given_with_an_id_is_a_warning() -> None:
    for folder, warned in (("", False), ("a.md", False), ("elsewhere", True)):
        plan = planned(WriteRequest("ann", content="new", folder=folder), update(loaded("a")))
        assert ("warnings" in plan.answer) is warned, folder


@pytest.mark.parametrize(
    ("given", "is_repeatable"),
    [
        ({}, True),
        ({"id": "a", "content": "x", "append": True}, True),
        ({"id": "a", "tags": ("t",)}, True),
        ({"id": "a", "content": "x"}, False),
        ({"if_match": "v"}, False),
        ({"fields": {"merge_key": "k"}}, False),
        ({"fields": {"supersedes": "k"}}, False),
        ({"id": "a", "superseded_by": "b"}, False),
    ],
)
def test_only_an_addition_is_decided_again_after_a_conflict(given: dict[str, Any], is_repeatable: bool) -> None:
    assert WriteRequest("ann", **given).is_repeatable is is_repeatable
