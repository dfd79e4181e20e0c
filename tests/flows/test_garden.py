"""The garden through its tools: the specification's typical flows, and what no tool may do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Forbidden, InvalidInput, KeyReused, LithosError, NotFound
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from tests.conftest import CallTool, Connect

pytestmark = pytest.mark.both_databases

PATH = "users/ana/parts/critic/profile.md"
NOTES = "users/ana/notes.md"
PROFILE = """---
id: part-1
user_id: ana
schema: 1
---
# The critic

## Concerns
<!-- @anchor: concerns v1 -->
Too much work.

## Evidence
<!-- @anchor: evidence v1 -->
- "always late" ev:1

## Change Log
<!-- @anchor: change_log v1 -->
- made by hand
"""


@pytest.fixture
def garden(data_dir: Path, lithos: Lithos) -> Path:
    file = data_dir / "garden" / PATH
    file.parent.mkdir(parents=True)
    file.write_text(PROFILE)
    return data_dir / "garden"


@pytest.fixture
def tend(call: CallTool, garden: Path) -> CallTool:
    """Calls as the agent `gardener` on ana's files, with a reason where one is needed."""

    def tended(name: str, **arguments: Any) -> dict[str, Any]:
        given = {"user_id": "ana", "agent": "gardener", **arguments}
        return call(name, **given)

    return tended


@pytest.fixture
def maintain(call: CallTool, garden: Path) -> CallTool:
    """Calls as the person at the keyboard."""
    return lambda name, **arguments: call(name, _caller=Caller(operator=True), **arguments)


def text(garden: Path, path: str = PATH) -> str:
    return (garden / path).read_text()


def test_a_profile_section_is_updated_as_the_specification_tells(tend: CallTool, garden: Path) -> None:
    read = tend("lithos_fs_read", path=PATH)
    assert read["content"] == PROFILE
    anchors = [each["anchor"] for each in tend("lithos_md_list_sections", path=PATH)["sections"]]
    assert anchors == ["concerns v1", "evidence v1", "change_log v1"]
    before = tend("lithos_fs_hash", path=PATH, section_anchor="concerns v1")
    change = {"path": PATH, "section_anchor": "concerns v1", "if_match": read["version"], "transaction_id": "t-1"}
    patched = tend("lithos_md_patch_section", **change, change={"replace": "Deadlines."}, rationale="heard it twice")
    after = tend("lithos_fs_hash", path=PATH, section_anchor="concerns v1")
    assert (patched["before_hash"], patched["after_hash"]) == (before["hash"], after["hash"])
    assert patched["version"] == after["version"]
    snapshot = tend("lithos_md_snapshot_history", path=PATH)
    assert snapshot["history_path"].startswith(f"history/garden/{PATH}/")
    assert tend("lithos_md_lint", path=PATH)["warnings"] == []
    logged = tend(
        "lithos_events_log",
        type="profile_update",
        op="replace_section",
        path=PATH,
        section_anchor="concerns v1",
        rationale="heard it twice",
        evidence_refs=["ev:1"],
        before_hash=patched["before_hash"],
        after_hash=patched["after_hash"],
        transaction_id="t-1",
    )
    (ours,) = [row for row in tend("lithos_events_query", path=PATH)["rows"] if row["op"] == "replace_section"][1:]
    assert logged["completes"] == ours["id"]
    assert ours["details"]["evidence_refs"] == ["ev:1"] and ours["status"] == "committed"
    line = "- 2026-01-01T00:00:00Z gardener: heard it twice\n"
    assert text(garden) == PROFILE.replace("Too much work.", "Deadlines.") + line


def test_an_evidence_item_is_added_and_the_cap_is_reported_and_kept(tend: CallTool, garden: Path) -> None:
    for number in range(2, 8):
        answer = tend(
            "lithos_md_curate_list",
            path=PATH,
            section_anchor="evidence v1",
            ops=["append"],
            items=[f"quote ev:{number}"],
            reason="seen",
        )
        assert "warnings" not in answer
    eighth = tend(
        "lithos_md_curate_list",
        path=PATH,
        section_anchor="evidence v1",
        ops=["append"],
        items=["quote ev:8"],
        reason="too telling to leave out",
    )
    assert eighth["warnings"] == ["section 'Evidence' has 8 items; 7 is the cap"]
    (row,) = [row for row in tend("lithos_events_query", path=PATH)["rows"] if row["lint"].get("override")]
    assert row["rationale"] == "too telling to leave out" and row["op"] == "append_item"
    assert "too telling to leave out (over the cap: section 'Evidence' has 8 items; 7 is the cap)\n" in text(garden)


def test_a_theme_is_found_and_captured_in_the_notes(tend: CallTool, garden: Path) -> None:
    found = tend("lithos_fs_search", pattern=r"(?i)too\s+MUCH")
    assert found["matches"] == [{"path": PATH, "line": 10, "match": "Too much work."}]
    appended = tend("lithos_fs_append", path=NOTES, text="- work comes up again", rationale="captured theme")
    assert appended["new_size"] == len("- work comes up again\n")
    assert text(garden, NOTES) == "- work comes up again\n"
    (row,) = tend("lithos_events_query", path=NOTES)["rows"]
    assert (row["type"], row["op"], row["agent"], row["user"], row["rationale"]) == (
        "observation",
        "append",
        "gardener",
        "ana",
        "captured theme",
    )
    assert row["before_hash"] is None and row["after_hash"] == appended["version"]


def test_appending_the_same_line_twice_on_purpose_appends_it_twice(tend: CallTool, garden: Path) -> None:
    for _ in range(2):
        tend("lithos_fs_append", path=NOTES, text="again", rationale="twice")
    assert text(garden, NOTES) == "again\nagain\n"


def test_the_same_key_changes_once_and_other_arguments_are_refused(tend: CallTool, garden: Path) -> None:
    first = tend("lithos_fs_append", path=NOTES, text="once", rationale="r", idempotency_key="k")
    assert tend("lithos_fs_append", path=NOTES, text="once", rationale="r", idempotency_key="k") == first
    assert text(garden, NOTES) == "once\n"
    with pytest.raises(KeyReused):
        tend("lithos_fs_append", path=NOTES, text="other", rationale="r", idempotency_key="k")


def test_a_retry_without_a_key_is_known_by_if_match_while_its_result_holds(tend: CallTool, garden: Path) -> None:
    version = tend("lithos_fs_read", path=PATH)["version"]
    wish = {
        "path": PATH,
        "section_anchor": "concerns v1",
        "change": {"append": "More."},
        "rationale": "r",
        "if_match": version,
    }
    first = tend("lithos_md_patch_section", **wish)
    assert tend("lithos_md_patch_section", **wish) == first
    assert text(garden).count("More.") == 1
    (garden / PATH).write_text(text(garden) + "a person's line\n")
    with pytest.raises(Conflict):
        tend("lithos_md_patch_section", **wish)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lithos_fs_write", {"content": PROFILE.replace("evidence v1", "evidence v2")}),
        ("lithos_fs_write", {"content": PROFILE.replace("id: part-1", "id: part-2")}),
        ("lithos_fs_write", {"content": ""}),
        ("lithos_fs_patch", {"diff_text": "@@ -9 +9,0 @@\n-<!-- @anchor: concerns v1 -->\n"}),
        ("lithos_fs_patch", {"diff_text": "@@ -2 +2 @@\n-id: part-1\n+id: part-2\n"}),
        ("lithos_fs_append", {"text": "## Concerns\nagain\n"}),
        ("lithos_md_patch_section", {"section_anchor": "concerns v1", "change": {"append": "### A\n### A\n"}}),
    ],
)
def test_hard_blocks_hold_for_every_tool(tend: CallTool, garden: Path, name: str, arguments: dict[str, Any]) -> None:
    version = tend("lithos_fs_read", path=PATH)["version"]
    with pytest.raises(Forbidden) as refusal:
        tend(name, path=PATH, rationale="r", if_match=version, **arguments)
    assert refusal.value.details["blocked_reasons"]
    assert text(garden) == PROFILE


def test_nothing_deletes(lithos: Lithos) -> None:
    from lithos.tools.catalogue import catalogue

    assert not [tool.name for tool in catalogue().shown(["garden"]) if re.search("delete|remove|trash|move", tool.name)]


@pytest.mark.parametrize(
    "path",
    ["users/bob/notes.md", "users/ana/secret.md", "../users/ana/notes.md", "/etc/passwd", "users/ana/../bob/notes.md"],
)
def test_a_path_outside_the_users_files_is_refused_by_every_tool(tend: CallTool, garden: Path, path: str) -> None:
    for name, arguments in [
        ("lithos_fs_read", {}),
        ("lithos_fs_hash", {}),
        ("lithos_fs_write", {"content": "x", "rationale": "r"}),
        ("lithos_fs_append", {"text": "x", "rationale": "r"}),
        ("lithos_fs_patch", {"diff_text": "@@ -0,0 +1 @@\n+x\n", "rationale": "r"}),
        ("lithos_md_list_sections", {}),
        ("lithos_md_patch_section", {"section_anchor": "a", "change": {"append": "x"}, "rationale": "r"}),
        ("lithos_md_snapshot_history", {}),
        ("lithos_md_lint", {}),
        ("lithos_propose_change", {"content": "x"}),
    ]:
        with pytest.raises(Forbidden):
            tend(name, path=path, **arguments)


def test_a_file_that_a_person_edited_is_not_written_over_without_its_version(tend: CallTool, garden: Path) -> None:
    with pytest.raises(Conflict) as refusal:
        tend("lithos_fs_write", path=PATH, content=PROFILE + "more\n", rationale="r")
    version = refusal.value.details["version"]
    tend("lithos_fs_write", path=PATH, content=PROFILE + "more\n", rationale="r", if_match=version)
    tend("lithos_fs_write", path=NOTES, content="one\n", rationale="r")
    tend("lithos_fs_write", path=NOTES, content="two\n", rationale="r")  # as agents left it
    tend("lithos_md_snapshot_history", path=NOTES)
    tend("lithos_fs_write", path=NOTES, content="three\n", rationale="r")
    (garden / NOTES).write_text("a person's\n")
    with pytest.raises(Conflict):
        tend("lithos_fs_write", path=NOTES, content="three\n", rationale="r")
    assert text(garden, NOTES) == "a person's\n"


def test_a_canonical_hash_is_no_version(tend: CallTool) -> None:
    hashes = tend("lithos_fs_hash", path=PATH)
    assert hashes["hash"].split(":")[0] != hashes["version"].split(":")[0]
    with pytest.raises(InvalidInput, match="canonical"):
        tend("lithos_fs_append", path=PATH, text="x", rationale="r", if_match=hashes["hash"])


def test_an_agent_a_user_and_a_reason_are_asked_for(call: CallTool, tend: CallTool) -> None:
    with pytest.raises(InvalidInput, match="user_id"):
        call("lithos_fs_read", path=PATH)
    with pytest.raises(InvalidInput, match="agent"):
        call("lithos_fs_append", path=NOTES, text="x", rationale="r", user_id="ana")
    with pytest.raises(InvalidInput, match="rationale"):
        tend("lithos_fs_append", path=NOTES, text="x", rationale=" \n ")


def test_ranges_context_globs_and_limits(tend: CallTool, garden: Path) -> None:
    tend("lithos_fs_write", path=NOTES, content="one\ntwo\nthree\nfour\n", rationale="r")
    read = tend("lithos_fs_read", path=NOTES, ranges=[[2, 3], [4, 9]])
    assert [each["content"] for each in read["slices"]] == ["two\nthree\n", "four\n"]
    assert "content" not in read
    (match,) = tend("lithos_fs_search", pattern="three", context=1)["matches"]
    assert (match["before"], match["after"]) == (["two"], ["four"])
    assert tend("lithos_fs_search", pattern=".", limit=3)["truncated"] is True
    assert tend("lithos_fs_list")["paths"] == [NOTES, PATH]
    assert tend("lithos_fs_list", glob="parts/*/*.md")["paths"] == [PATH]
    assert tend("lithos_fs_list", path="users/ana/parts")["paths"] == [PATH]
    with pytest.raises(InvalidInput):
        tend("lithos_fs_read", path=NOTES, ranges=[[0, 3]])


def test_other_users_and_files_outside_the_templates_are_neither_listed_nor_found(tend: CallTool, garden: Path) -> None:
    (garden / "users/ana/secret.md").write_text("findme")
    (garden / "users/bob").mkdir()
    (garden / "users/bob/notes.md").write_text("findme")
    assert tend("lithos_fs_search", pattern="findme")["matches"] == []
    assert tend("lithos_fs_list")["paths"] == [PATH]
    with pytest.raises(Forbidden):
        tend("lithos_fs_search", pattern="findme", root="users/bob")


@pytest.mark.parametrize("pattern", ["(a", "(?=x)", r"(a)\1", "a{1001}", ""])
def test_a_pattern_that_is_none_is_refused(tend: CallTool, pattern: str) -> None:
    with pytest.raises(InvalidInput):
        tend("lithos_fs_search", pattern=pattern)


def test_a_diff_that_does_not_fit_is_refused_with_the_place(tend: CallTool, garden: Path) -> None:
    with pytest.raises(Conflict) as refusal:
        tend("lithos_fs_patch", path=PATH, diff_text="@@ -10 +10 @@\n-Other.\n+New.\n", rationale="r")
    assert refusal.value.details["line"] == 10
    patched = tend("lithos_fs_patch", path=PATH, diff_text="@@ -10 +10 @@\n-Too much work.\n+New.\n", rationale="r")
    assert patched["new_hash"].startswith("canonical-sha256:")
    assert text(garden).splitlines()[9] == "New."


def test_lint_repairs_headings_and_white_space_on_request(tend: CallTool, garden: Path) -> None:
    (garden / PATH).write_text(PROFILE.replace("## Concerns", "## Worries").replace("work.", "work. "))
    report = tend("lithos_lint_check", path=PATH)
    assert {each["rule"] for each in report["diagnostics"]} == {"heading", "whitespace"}
    assert not report["blocked"]
    fixed = tend("lithos_md_lint", path=PATH, fix=True)
    assert (fixed["fixed"], fixed["warnings"]) == (True, [])
    assert text(garden).startswith(PROFILE)
    assert tend("lithos_md_lint", path=PATH, fix=True)["fixed"] is False


def test_several_files_are_proposed_applied_and_undone_as_one(
    tend: CallTool, call: CallTool, garden: Path, maintain: CallTool
) -> None:
    edits = [
        {"path": PATH, "section_anchor": "concerns v1", "change": {"append": "One."}},
        {"path": PATH, "section_anchor": "concerns v1", "change": {"append": "Two."}},
        {"path": NOTES, "content": "new\n"},
    ]
    proposal = tend("lithos_propose_change", edits=edits)
    assert proposal["requires_approval"] is False and proposal["proposal_id"]
    assert "+One.\n+\n+Two.\n" in proposal["diff"] and "+new\n" in proposal["diff"]
    assert proposal["safety_report"] == "Nothing blocks this change."
    assert text(garden) == PROFILE and not (garden / NOTES).exists()
    with pytest.raises(NotFound):
        tend("lithos_apply_change", proposal_id=proposal["proposal_id"], rationale="r", user_id="bob")
    said = {"proposal_id": proposal["proposal_id"], "rationale": "both belong together", "agent": "gardener"}
    applied = call("lithos_apply_change", **said)
    assert [each["path"] for each in applied["files"]] == [PATH, NOTES]
    assert "One.\n\nTwo.\n" in text(garden) and text(garden, NOTES) == "new\n"
    for path in (PATH, NOTES):
        (event,) = tend("lithos_events_query", path=path)["rows"]
        assert (event["op"], event["status"], event["thing"]) == ("apply_change", "committed", proposal["proposal_id"])
        (chapter,) = maintain("lithos_file_history", path=path)["changes"]
        assert chapter["event_id"] == event["id"] and chapter["diff"]
    undone = maintain("lithos_garden_undo", event_id=event["id"], rationale="was wrong")
    assert undone["files"] == [PATH, NOTES]
    assert text(garden) == PROFILE and not (garden / NOTES).exists()


def test_a_proposal_is_refused_when_a_file_has_changed_and_none_is_touched(tend: CallTool, garden: Path) -> None:
    edits = [{"path": NOTES, "content": "new\n"}, {"path": PATH, "section_anchor": "Concerns", "content": "x"}]
    proposal = tend("lithos_propose_change", edits=edits)
    (garden / PATH).write_text(PROFILE + "a person's line\n")
    with pytest.raises(Conflict):
        tend("lithos_apply_change", proposal_id=proposal["proposal_id"], rationale="r")
    assert not (garden / NOTES).exists()
    with pytest.raises(NotFound):
        tend("lithos_apply_change", proposal_id="nowhere", rationale="r")


def test_a_blocked_proposal_says_so_and_has_no_id(tend: CallTool) -> None:
    proposal = tend("lithos_propose_change", path=PATH, content="all gone\n")
    assert proposal["blocked"] and proposal["proposal_id"] is None
    assert "Blocked: anchor 'concerns v1' would be removed or altered." in proposal["safety_report"]


def test_undo_is_refused_once_someone_has_changed_the_file_again(
    tend: CallTool, garden: Path, maintain: CallTool
) -> None:
    tend("lithos_fs_append", path=NOTES, text="one", rationale="r")
    (event,) = tend("lithos_events_query", path=NOTES)["rows"]
    (garden / NOTES).write_text("a person's\n")
    with pytest.raises(Conflict):
        maintain("lithos_garden_undo", event_id=event["id"])
    assert text(garden, NOTES) == "a person's\n"
    with pytest.raises(NotFound):
        maintain("lithos_garden_undo", event_id="nowhere")


def test_a_statement_that_contradicts_the_event_is_refused(tend: CallTool) -> None:
    tend("lithos_fs_append", path=NOTES, text="one", rationale="r", transaction_id="t-9")
    said = {"type": "observation", "op": "append", "path": NOTES, "rationale": "r", "transaction_id": "t-9"}
    with pytest.raises(Conflict, match="after_hash"):
        tend("lithos_events_log", **said, after_hash="sha256:" + "0" * 64)
    assert tend("lithos_events_log", **said)["completes"]
    assert tend("lithos_events_log", **{**said, "transaction_id": "unknown"})["completes"] is None


def test_the_story_of_a_file_tells_who_when_why_with_diffs(tend: CallTool, maintain: CallTool) -> None:
    tend("lithos_fs_append", path=NOTES, text="one", rationale="first")
    tend("lithos_fs_append", path=NOTES, text="two", rationale="second")
    story = maintain("lithos_file_history", path=NOTES)
    assert [each["rationale"] for each in story["changes"]] == ["second", "first"]
    assert "+two\n" in story["changes"][0]["diff"] and "+one\n" in story["changes"][1]["diff"]


def test_check_explains_what_would_happen(maintain: CallTool, garden: Path) -> None:
    explained = maintain("lithos_garden_check", path=PATH, op="write", user_id="ana")
    assert explained["allowed"] and explained["kind"] == "profile"
    assert any("Change Log" in reason for reason in explained["reasons"])
    for path, op in ((PATH, "delete"), ("users/bob/notes.md", "read"), (PATH, "move")):
        assert not maintain("lithos_garden_check", path=path, op=op, user_id="ana")["allowed"]


def test_a_maintainer_moves_a_file_and_never_onto_another(tend: CallTool, maintain: CallTool, garden: Path) -> None:
    tend("lithos_fs_append", path=NOTES, text="one", rationale="r")
    with pytest.raises(Conflict):
        maintain("lithos_fs_move", path=NOTES, new_path=PATH, rationale="r")
    moved = maintain("lithos_fs_move", path=NOTES, new_path="users/ana/overview.md", rationale="r")
    assert moved["ok"] and text(garden, "users/ana/overview.md") == "one\n"
    assert not (garden / NOTES).exists()


def test_a_policy_of_ones_own_is_taken_and_a_broken_one_stops_the_start(
    config: LithosConfig, data_dir: Path, clock: FakeClock
) -> None:
    data_dir.mkdir()
    (data_dir / "garden.yaml").write_text("paths: nonsense\n")
    with pytest.raises(LithosError, match=r"garden\.yaml"):
        open_lithos(config, clock=clock)


@pytest.mark.anyio
async def test_the_flow_works_over_mcp(connect: Connect, garden: Path) -> None:
    async with connect(toolsets=("garden",)) as client:
        given = {"user_id": "ana", "agent": "gardener"}
        read = await client.call_tool("lithos_fs_read", {**given, "path": PATH})
        patched = await client.call_tool(
            "lithos_md_patch_section",
            {
                **given,
                "path": PATH,
                "section_anchor": "concerns v1",
                "change": {"replace": "Deadlines."},
                "rationale": "r",
                "if_match": read.structured_content["version"],
            },
        )
        assert not patched.is_error
        refused = await client.call_tool("lithos_fs_read", {**given, "path": "users/bob/notes.md"})
        assert refused.is_error and refused.structured_content["error"]["code"] == "forbidden"
    assert "Deadlines." in text(garden)


def test_a_section_of_a_note_is_patched_by_its_id_and_found_at_once(call: CallTool, lithos: Lithos) -> None:
    made = call("lithos_write", title="Plan", content="## Goals\nship\n\n## Risks\nnone\n", agent="ann")
    before = (lithos.notes.vault.root.path / made["path"]).read_text()
    shown = call("lithos_md_list_sections", id=made["id"])
    assert [each["heading"] for each in shown["sections"]] == ["Goals", "Risks"]
    wish = {"id": made["id"], "section_anchor": "Goals", "rationale": "heard", "agent": "ann"}
    patched = call("lithos_md_patch_section", **wish, change={"append": "measure zirconium"}, if_match=shown["version"])
    after = (lithos.notes.vault.root.path / made["path"]).read_text()
    assert after == before.replace("ship\n", "ship\n\nmeasure zirconium\n")
    assert call("lithos_read", id=made["id"])["version"] == patched["version"]
    assert [each["id"] for each in call("lithos_search", query="zirconium")["results"]] == [made["id"]]
    with pytest.raises(NotFound):
        call("lithos_md_list_sections", id="nowhere")
    with pytest.raises(InvalidInput):
        call("lithos_md_list_sections", id=made["id"], path=PATH)


def test_a_note_of_someone_elses_save_is_not_overwritten(call: CallTool, lithos: Lithos) -> None:
    made = call("lithos_write", title="Plan", content="## Goals\nship\n", agent="ann")
    (lithos.notes.vault.root.path / made["path"]).write_text("## Goals\na person's\n")
    with pytest.raises(Conflict):
        call(
            "lithos_md_patch_section",
            id=made["id"],
            section_anchor="Goals",
            change={"replace": "x"},
            rationale="r",
            agent="ann",
            if_match=made["version"],
        )
