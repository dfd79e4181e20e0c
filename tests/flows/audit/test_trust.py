"""Trust and privacy: points 1 to 6 of issue 15."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.cli.root import run as run_command
from lithos.errors import LithosError
from lithos.settings import LedgerSettings, LifecycleSettings, LithosConfig, NotesSettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse, Save

OPERATOR = Caller(operator=True)
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def config(data_dir: Path) -> LithosConfig:
    return LithosConfig(
        storage=StorageSettings(data_dir=data_dir),
        notes=NotesSettings(ignore=("Private", "*.draft.md")),
        lifecycle=LifecycleSettings(approvers=("eve", "Ann")),
    )


# 1 One rule decides what is a note

NO_NOTES = (
    "Private/diary.md",
    "deep/Private/diary.md",
    "plan.draft.md",
    ".trash/old.md",
    ".hidden/x.md",
    ".obsidian/note.md",
    "a/.git/x.md",
    ".secret.md",
    "plan.conflict-20260131T120000Z.md",
)
BODY = "---\nid: 11111111-2222-4333-8444-555555555555\ntitle: Diary\n---\nZebrafink confession.\n"


def assert_unserved(call: CallTool, path: str) -> None:
    assert call("lithos_list", status="all")["items"] == []
    assert call("lithos_search", query="zebrafink")["results"] == []
    call("lithos_reindex", _caller=OPERATOR, clear=True)
    assert call("lithos_list", status="all")["items"] == []


@pytest.mark.parametrize("path", NO_NOTES)
@pytest.mark.parametrize("ending", ["", ".md"])
def test_a_file_that_is_no_note_is_not_read_by_path(
    call: CallTool, refused: Refuse, save: Save, path: str, ending: str
) -> None:
    save(path, BODY)
    assert refused("lithos_read", path=path.removesuffix(".md") + ending)["code"] == "not_found"
    assert refused("lithos_read", path=f"{path.upper().removesuffix('.MD')}{ending}")["code"] == "not_found"
    assert_unserved(call, path)


@pytest.mark.parametrize("path", NO_NOTES)
def test_a_file_that_is_no_note_is_reached_by_no_tool(call: CallTool, refused: Refuse, save: Save, path: str) -> None:
    file = save(path, BODY)
    own = BODY[8:44]
    refused("lithos_read", path=path)
    for tool, more in {
        "lithos_write": {"content": "overwritten"},
        "lithos_delete": {},
        "lithos_move": {"to": "stolen.md"},
        "lithos_note_history": {},
        "lithos_note_diff": {},
        "lithos_links": {},
        "lithos_note_passages": {},
        "lithos_md_list_sections": {"user_id": "ana"},
        "lithos_md_lint": {"user_id": "ana", "fix": True},
        "lithos_md_snapshot_history": {"user_id": "ana"},
        "lithos_lint_check": {"user_id": "ana"},
    }.items():
        for name in (own, path):
            refusal = refused(tool, id=name, agent="a", **more)
            assert (refusal.get("code") or refusal["reason"]) in ("not_found", "invalid_input"), (tool, refusal)
    assert file.read_text() == BODY
    assert_unserved(call, path)


@pytest.mark.parametrize("folder", ["Private", "a/Private/b", ".trash"])
def test_no_note_is_written_or_moved_where_it_would_not_be_served(
    call: CallTool, refused: Refuse, data_dir: Path, folder: str
) -> None:
    note = call("lithos_write", agent="a", title="T", content="text")
    for refusal in (
        refused("lithos_write", agent="a", title="Other", content="x", path=folder),
        refused("lithos_move", agent="a", id=note["id"], to=f"{folder}/t.md"),
        refused("lithos_move", agent="a", id=note["id"], to=f"{folder}/"),
        refused("lithos_move", agent="a", id=note["id"], to="t.conflict-20260131T120000Z.md"),
    ):
        assert refusal["code"] == "invalid_input", refusal
    assert [file.name for file in (data_dir / "knowledge").rglob("*.md")] == ["t.md"]
    assert call("lithos_read", id=note["id"])["content"] == "text"


def test_a_note_that_became_ignored_is_gone_from_every_answer_at_once(config: LithosConfig, save: Save) -> None:
    """The setting changes between two starts: the index of the first knows the note."""
    everything = config.model_copy(update={"notes": NotesSettings()})
    opened = open_lithos(everything)
    note = catalogue().call(opened, "lithos_write", {"agent": "a", "title": "Diary", "content": "x", "path": "Private"})
    opened.close()
    opened = open_lithos(config)
    try:
        for tool, arguments in (
            ("lithos_read", {"id": note["id"]}),
            ("lithos_read", {"path": note["path"]}),
            ("lithos_write", {"id": note["id"], "agent": "a", "content": "overwritten"}),
        ):
            with pytest.raises(LithosError) as refusal:
                catalogue().call(opened, tool, arguments)
            assert refusal.value.code == "not_found"
    finally:
        opened.close()


# 2 Approval


def promotion(note: str, **more: Any) -> dict[str, Any]:
    return {
        "source_entry_id": note,
        "evidence_refs": ["commit:ab12"],
        "approved_by": "eve",
        "actor": "mallory",
        "reason": "It holds.",
        **more,
    }


@pytest.fixture
def note(call: CallTool) -> str:
    return str(call("lithos_write", agent="mallory", title="Rule", content="Always retry.")["id"])


def bound(agent: str) -> Caller:
    return Caller(agent=agent, bound=True)


def test_a_typed_name_approves_nothing(refused: Refuse, note: str) -> None:
    assert refused("lithos_promote", **promotion(note, agent="eve"))["code"] == "forbidden"


def test_the_default_agent_of_a_connection_is_a_claim_and_approves_nothing(refused: Refuse, note: str) -> None:
    assert refused("lithos_promote", _caller=Caller(agent="eve"), **promotion(note))["code"] == "forbidden"


@pytest.mark.parametrize("given", ["ann", "Ann", " ANN ", "Ａnn"])
def test_a_bound_token_or_the_operator_approves_under_any_spelling(call: CallTool, note: str, given: str) -> None:
    assert call("lithos_promote", _caller=bound("ann"), **promotion(note, approved_by=given))["event_id"]
    assert call("lithos_promote", _caller=OPERATOR, **promotion(note, approved_by=given))["event_id"]


@pytest.mark.parametrize(
    ("approver", "actor"),
    [
        (" ANN ", "ann"),
        ("Ann", "ann "),
        ("ann", "ＡＮＮ"),
    ],
)
def test_no_one_approves_themselves_in_another_spelling(refused: Refuse, note: str, approver: str, actor: str) -> None:
    wish = promotion(note, approved_by=approver, actor=actor)
    assert refused("lithos_promote", _caller=OPERATOR, **wish)["code"] == "invalid_input"
    assert refused("lithos_promote", _caller=bound("ann"), **wish)["code"] in ("invalid_input", "forbidden")


def test_the_source_of_a_promotion_must_exist(refused: Refuse, note: str) -> None:
    wish = promotion("99999999-2222-4333-8444-555555555555")
    assert refused("lithos_promote", _caller=OPERATOR, **wish)["code"] == "not_found"


def test_a_promotion_allows_the_promoted_text_and_no_other(call: CallTool, refused: Refuse, note: str) -> None:
    event = call("lithos_promote", _caller=OPERATOR, **promotion(note))["event_id"]
    wish = {"agent": "mallory", "title": "Rule", "path": "procedural", "provenance": f"event:{event}"}
    assert refused("lithos_write", content="Never retry.", **wish)["code"] in ("forbidden", "invalid_input")
    written = call("lithos_write", content="Always retry.", **wish)
    assert written["path"].startswith("procedural/")


def test_a_promotion_is_good_for_one_note(call: CallTool, refused: Refuse, note: str) -> None:
    event = call("lithos_promote", _caller=OPERATOR, **promotion(note))["event_id"]
    wish = {"agent": "mallory", "content": "Always retry.", "path": "procedural", "provenance": f"event:{event}"}
    call("lithos_write", title="Rule", **wish)
    assert refused("lithos_write", title="Rule again", **wish)["code"] in ("forbidden", "invalid_input", "conflict")


@pytest.mark.parametrize(
    "rewrite",
    [{"content": "Never retry."}, {"content": "And never stop.", "append": True}],
)
def test_rewriting_an_approved_note_needs_a_new_promotion(
    call: CallTool, refused: Refuse, note: str, rewrite: dict[str, Any]
) -> None:
    event = call("lithos_promote", _caller=OPERATOR, **promotion(note))["event_id"]
    wish = {"agent": "mallory", "title": "Rule", "path": "procedural", "provenance": f"event:{event}"}
    written = call("lithos_write", content="Always retry.", **wish)
    refusal = refused("lithos_write", id=written["id"], agent="mallory", **rewrite)
    assert refusal["code"] in ("forbidden", "invalid_input") and "lithos_promote" in refusal["hint"]
    assert call("lithos_read", id=written["id"])["content"] == "Always retry."


def test_an_approved_note_that_a_person_rewrites_is_no_longer_approved(
    call: CallTool, note: str, data_dir: Path
) -> None:
    event = call("lithos_promote", _caller=OPERATOR, **promotion(note))["event_id"]
    wish = {"agent": "mallory", "title": "Rule", "path": "procedural", "provenance": f"event:{event}"}
    written = call("lithos_write", content="Always retry.", **wish)
    file = data_dir / "knowledge" / written["path"]
    file.write_text(file.read_text().replace("Always", "Never"))
    call("lithos_reindex", _caller=OPERATOR)
    assert "problem" in call("lithos_read", id=written["id"])
    assert written["id"] not in [item["id"] for item in call("lithos_list", path_prefix="procedural")["items"]]


def test_no_other_way_in_rewrites_an_approved_note(call: CallTool, refused: Refuse) -> None:
    text = "## Steps\n\nAlways retry."
    draft = call("lithos_write", agent="mallory", title="Rule", content="## Steps\n\nNever retry.")
    older = draft["version"]
    call("lithos_write", agent="mallory", id=draft["id"], content=text)
    event = call("lithos_promote", _caller=OPERATOR, **promotion(draft["id"]))["event_id"]
    call("lithos_write", agent="mallory", id=draft["id"], provenance=f"event:{event}")
    call("lithos_move", agent="mallory", id=draft["id"], to="procedural")
    wish = {"id": draft["id"], "agent": "mallory"}
    edit = {"section_anchor": "Steps", "user_id": "ana"}
    for tool, arguments in (
        ("lithos_md_patch_section", {**edit, "change": {"replace": "Never retry."}, "rationale": "why not"}),
        ("lithos_md_curate_list", {**edit, "ops": ["append"], "items": ["stop"], "reason": "why not"}),
        ("lithos_note_revert", {"version": older}),
    ):
        assert refused(tool, **wish, **arguments)["code"] == "invalid_input", tool
    assert call("lithos_read", id=draft["id"])["content"] == text
    call("lithos_write", **wish, tags=["kept"])  # what does not touch the text needs no approval
    assert "problem" not in call("lithos_read", id=draft["id"])


# 3 False alarms of the ledger


def fill(call: CallTool, count: int = 5) -> None:
    for number in range(count):
        call("mentisdb_append", thought_type="Insight", content=f"thought {number}", agent_id="ann", tags=["t"])


def verify(data_dir: Path) -> int:
    """`lithos ledger verify`, as a script runs it."""
    return run_command(["ledger", "verify", "--data-dir", str(data_dir)])


def chains(data_dir: Path) -> list[Path]:
    return [file for file in (data_dir / ".lithos/ledger").rglob("*") if file.is_file()]


@pytest.mark.parametrize("to", ["jsonl", "binary"])
def test_a_chain_is_whole_after_convert(call: CallTool, data_dir: Path, to: str) -> None:
    """Each verdict as a kill would leave the files: nothing is closed, no checkpoint is signed in between."""
    fill(call, 30)
    call("lithos_ledger_checkpoint", _caller=OPERATOR)
    fill(call, 5)
    call("lithos_ledger_convert", _caller=OPERATOR, to="jsonl")
    assert verify(data_dir) == 0
    fill(call, 2)
    if to == "binary":
        call("lithos_ledger_convert", _caller=OPERATOR, to="binary")
    assert verify(data_dir) == 0
    call("lithos_ledger_forget", _caller=OPERATOR, thought_index=3, reason="asked")
    assert verify(data_dir) == 0


def test_no_damage_to_a_derived_file_changes_the_verdict(lithos: Lithos, call: CallTool, data_dir: Path) -> None:
    fill(call, 40)
    call("lithos_ledger_checkpoint", _caller=OPERATOR)
    lithos.close()
    derived = [file for file in chains(data_dir) if not file.name[0].isdigit() and file.name != "chain.json"]
    assert {"merkle.bin", "rows.bin"} <= {file.name for file in derived}
    for file in derived:
        whole = file.read_bytes()
        for data in (b"", whole[:7], whole[: len(whole) // 2], b"\xff" * len(whole), whole + b"junk", None):
            if data is None:
                file.unlink()
            else:
                file.write_bytes(data)
            assert verify(data_dir) == 0, (file.name, None if data is None else len(data))
            file.write_bytes(whole)


def test_head_of_a_damaged_chain_never_says_that_it_is_whole(lithos: Lithos, call: CallTool, data_dir: Path) -> None:
    fill(call, 40)
    call("lithos_ledger_checkpoint", _caller=OPERATOR)
    lithos.close()
    segment = next(file for file in chains(data_dir) if file.name[0].isdigit())
    data = bytearray(segment.read_bytes())
    place = data.index(b"thought 7")
    data[place] ^= 1
    segment.write_bytes(data)
    again = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    try:
        head = catalogue().call(again, "mentisdb_head", {})
        assert head["integrity_ok"] is not True
    except LithosError as error:
        assert error.code == "damaged"
    finally:
        again.close()


# 4 Secrets

THOUGHT = {"thought_type": "Insight", "content": "text"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mentisdb_append", {**THOUGHT, "agent_id": SECRET}),
        ("mentisdb_append", {**THOUGHT, "agent_id": "a", "agent_name": f"Ann {SECRET}"}),
        ("mentisdb_append", {**THOUGHT, "agent_id": "a", "agent_owner": SECRET}),
        ("mentisdb_append", {**THOUGHT, "agent_id": "a", "session_id": SECRET}),
        ("mentisdb_append", {**THOUGHT, "agent_id": "a", "signing_key_id": SECRET}),
        ("mentisdb_append", {**THOUGHT, "agent_id": "a", "chain_key": SECRET}),
        ("mentisdb_bootstrap", {"content": "first", "agent_id": SECRET}),
        ("mentisdb_bootstrap", {"content": "first", "agent_id": "a", "agent_owner": SECRET}),
        ("mentisdb_append_retrospective", {"content": "x", "agent_id": "a", "session_id": SECRET}),
        ("mentisdb_upsert_agent", {"agent_id": "a", "display_name": SECRET}),
        ("mentisdb_upsert_agent", {"agent_id": "a", "agent_owner": SECRET}),
        ("mentisdb_upsert_agent", {"agent_id": "a", "description": f"uses {SECRET}"}),
        ("mentisdb_upsert_agent", {"agent_id": SECRET}),
        ("mentisdb_set_agent_description", {"agent_id": "a", "description": SECRET}),
        ("mentisdb_add_agent_alias", {"agent_id": "a", "alias": SECRET}),
        ("mentisdb_deprecate_skill", {"skill_id": "s", "reason": SECRET}),
        ("mentisdb_revoke_skill", {"skill_id": "s", "reason": SECRET}),
    ],
)
def test_a_secret_in_any_field_of_the_ledger_is_refused_and_kept_nowhere(
    lithos: Lithos, call: CallTool, refused: Refuse, data_dir: Path, tool: str, arguments: dict[str, Any]
) -> None:
    call("mentisdb_append", thought_type="Insight", content="first", agent_id="a")
    call("mentisdb_upload_skill", agent_id="a", skill_id="s", content=SKILL)
    refusal = refused(tool, **arguments)
    assert refusal["code"] == "secret_refused", refusal
    assert SECRET not in json.dumps(refusal)
    lithos.close()
    kept = [file for file in data_dir.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    assert kept == []


SKILL = "---\nname: s\ndescription: A skill.\n---\n# S\nDo it.\n"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lithos_write", {"agent": "a", "title": f"Key {SECRET}", "content": "x"}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "tags": [SECRET]}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "source_task": SECRET}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "provenance": f"cmd:{SECRET}"}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "claim_id": SECRET}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "merge_key": SECRET}),
        ("lithos_write", {"agent": SECRET, "title": "T", "content": "x"}),
        ("lithos_task_create", {"agent": "a", "title": f"Use {SECRET}"}),
        ("lithos_task_create", {"agent": "a", "title": "T", "description": SECRET}),
        ("lithos_task_create", {"agent": "a", "title": "T", "tags": [SECRET]}),
        ("lithos_task_update", {"agent": "a", "task_id": "TASK", "description": SECRET}),
        ("lithos_task_claim", {"agent": "a", "task_id": "TASK", "aspect": SECRET}),
        ("lithos_finding_post", {"agent": "a", "task_id": "TASK", "summary": f"found {SECRET}"}),
        ("lithos_agent_register", {"id": "b", "name": SECRET}),
        ("lithos_agent_register", {"id": SECRET}),
        ("lithos_agent_register", {"id": "b", "metadata": {"key": SECRET}}),
    ],
)
def test_a_secret_in_notes_board_and_names_is_warned_of(call: CallTool, tool: str, arguments: dict[str, Any]) -> None:
    task = call("lithos_task_create", agent="a", title="T")["task_id"]
    given = {name: task if value == "TASK" else value for name, value in arguments.items()}
    warnings = call(tool, **given)["warnings"]
    assert any("GitHub token" in each for each in warnings)
    assert not any(SECRET in each for each in warnings)


def test_forgetting_reaches_every_field_and_the_proof_still_holds(data_dir: Path) -> None:
    """A setting accepts secrets; what was stored under it can still be forgotten, whatever field it is in."""
    config = LithosConfig(storage=StorageSettings(data_dir=data_dir), ledger=LedgerSettings(allow_secret=True))
    opened = open_lithos(config)
    ask = catalogue().call
    word = "Xylophonist"
    given = {**THOUGHT, "content": f"c {word}", "agent_id": f"id-{word}", "agent_name": word, "agent_owner": word}
    given |= {"session_id": f"s-{word}", "tags": [word], "concepts": [word], "idempotency_key": f"k-{word}"}
    try:
        ask(opened, "mentisdb_append", {**THOUGHT, "agent_id": "a"})
        ask(opened, "mentisdb_append", given)
        ask(opened, "lithos_ledger_forget", {"thought_index": 1, "reason": "asked"}, OPERATOR)
        seen = ask(opened, "mentisdb_get_thought", {"thought_index": 1})
        assert word.lower() not in json.dumps(seen).lower()
        assert ask(opened, "lithos_ledger_prove", {"thought_index": 1})
        assert ask(opened, "mentisdb_head", {})["integrity_ok"] is True
    finally:
        opened.close()
    assert verify(data_dir) == 0
    kept = [
        str(file.relative_to(data_dir))
        for file in data_dir.rglob("*")
        if file.is_file() and word.lower().encode() in file.read_bytes().lower()
    ]
    assert kept == []


# 5 One vault, one host


@pytest.fixture
def other(tmp_path: Path) -> Iterator[list[Lithos]]:
    opened: list[Lithos] = []
    yield opened
    for each in opened:
        each.close()


@pytest.mark.parametrize("place", ["knowledge", "knowledge/sub", ".", "..", "garden", ".lithos/inside"])
def test_a_vault_that_another_host_serves_is_refused(
    call: CallTool, data_dir: Path, tmp_path: Path, other: list[Lithos], place: str
) -> None:
    call("lithos_write", agent="a", title="T", content="x")
    (data_dir / place).mkdir(parents=True, exist_ok=True)
    storage = StorageSettings(data_dir=tmp_path / "b", knowledge_dir=(data_dir / place).resolve())
    with pytest.raises(LithosError) as refusal:
        other.append(open_lithos(LithosConfig(storage=storage)))
    assert refusal.value.code == "forbidden"


def test_two_hosts_with_one_vault_outside_of_both_are_refused(tmp_path: Path, other: list[Lithos]) -> None:
    vault = tmp_path / "vault"
    alias = tmp_path / "alias"
    vault.mkdir()
    alias.symlink_to(vault)
    other.append(open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path / "a", knowledge_dir=vault))))
    with pytest.raises(LithosError):
        other.append(open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path / "b", knowledge_dir=alias))))


# 6 The garden's user


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lithos_fs_append", {"path": "users/ana/notes.md", "text": "x", "rationale": "y"}),
        ("lithos_fs_write", {"path": "users/ana/notes.md", "content": "x", "rationale": "y"}),
        ("lithos_fs_read", {"path": "users/ana/notes.md"}),
        ("lithos_fs_list", {}),
        ("lithos_fs_search", {"pattern": "x"}),
        ("lithos_md_list_sections", {"path": "users/ana/notes.md"}),
        ("lithos_propose_change", {"path": "users/ana/notes.md", "content": "x"}),
    ],
)
def test_a_missing_user_is_asked_for_and_never_the_login(
    call: CallTool, refused: Refuse, tool: str, arguments: dict[str, Any]
) -> None:
    given = {"path": "users/bea/notes.md", "text": "x", "rationale": "y", "user_id": "bea", "agent": "g"}
    call("lithos_fs_append", **given)
    refusal = refused(tool, _caller=Caller(user="root"), agent="g", **arguments)
    assert refusal["code"] == "invalid_input" and "user_id" in refusal["message"]
    assert "bea" in refusal["hint"] and "root" not in refusal["message"] + refusal["hint"]
