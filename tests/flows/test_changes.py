"""`lithos_changes` and `lithos_undo`: what happened, by any hand, and taking it back."""

from __future__ import annotations

import os
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from lithos.core.text import estimate_tokens
from lithos.errors import Conflict, Forbidden, InvalidInput, NotFound
from lithos.recall.changes import MOST_COUNTED
from lithos.tools.caller import Caller
from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases
SINCE = "2025-12-31"


def write(call: CallTool, title: str, agent: str = "ann", **more: Any) -> dict[str, Any]:
    return call("lithos_write", title=title, content=more.pop("content", f"about {title}"), agent=agent, **more)


def save(lithos: Lithos, path: str, text: str) -> None:
    """A person saves a file."""
    target = lithos.storage.data_dir / "knowledge" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    lithos.notes.index.reconcile()


def test_every_kind_of_change_is_a_line_newest_first(call: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    write(call, "One")
    clock.advance(120)
    task = call("lithos_task_create", title="Do it", agent="ben")["task_id"]
    clock.advance(120)
    call("lithos_task_claim", task_id=task, aspect="work", agent="ben")
    call("lithos_finding_post", task_id=task, summary="found", agent="ben")
    clock.advance(120)
    call("mentisdb_append", thought_type="Decision", content="so be it", agent_id="cleo")
    clock.advance(120)
    save(lithos, "by-hand.md", "# By hand\n\ntext\n")
    found = call("lithos_changes", since=SINCE)
    assert set(found["changes"]) == {"note", "task", "claim", "finding", "thought"}
    assert "By hand" in found["changes"]["note"][0] and "on disk" in found["changes"]["note"][0]
    assert "One" in found["changes"]["note"][1] and "by ann" in found["changes"]["note"][1]
    assert "Do it" in found["changes"]["task"][0] and "so be it" in found["changes"]["thought"][0]
    assert all(estimate_tokens(line) <= 40 for lines in found["changes"].values() for line in lines)
    assert found["total"] == 6


def test_more_files_than_are_listed_are_said_to_be_more(
    call: CallTool, lithos: Lithos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(lithos.notes.changes).by_people, "__defaults__", ("", 3))
    for number in range(3):
        save(lithos, f"{number}.md", f"# {number}\n")
    assert "truncated" not in call("lithos_changes", since=SINCE)
    save(lithos, "fourth.md", "# Fourth\n")
    assert call("lithos_changes", since=SINCE)["truncated"] is True


def test_a_cursor_goes_on_where_the_last_answer_ended(call: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    write(call, "One")
    first = call("lithos_changes", since=SINCE)
    assert call("lithos_changes", since=first["cursor"])["total"] == 0
    write(call, "Two")  # in the same second: the clock stands still
    save(lithos, "three.md", "# Three\n")
    clock.advance(0.001)
    call("mentisdb_append", thought_type="Idea", content="four", agent_id="c")
    again = call("lithos_changes", since=first["cursor"])
    assert again["total"] == 3
    assert call("lithos_changes", since=again["cursor"])["total"] == 0


def test_no_thought_is_missed_by_its_time(call: CallTool, clock: FakeClock) -> None:
    def think(content: str, chain: str = "main") -> None:
        call("mentisdb_append", thought_type="Idea", content=content, agent_id="c", chain_key=chain)

    def news(cursor: str) -> tuple[list[str], str]:
        found = call("lithos_changes", since=cursor, kinds=["thought"])
        lines = found["changes"].get("thought", [])
        return [word for line in lines for word in line.split() if word.startswith("w-")], found["cursor"]

    think("w-first")
    _, cursor = news(SINCE)
    think("w-same-instant")  # the clock stands still
    found, cursor = news(cursor)
    assert found == ["w-same-instant"]
    clock.set_wall("2025-12-31T23:00:00Z")
    think("w-late")
    think("w-new-chain", "another")
    found, cursor = news(cursor)
    assert sorted(found) == ["w-late", "w-new-chain"]
    assert news(cursor)[0] == []


def test_a_cursor_over_very_many_chains_stays_short_and_misses_nothing(call: CallTool, clock: FakeClock) -> None:
    for number in range(MOST_COUNTED + 5):
        call("mentisdb_append", thought_type="Idea", content="x", agent_id="c", chain_key=f"chain-{number}")
        clock.advance(1)
    cursor = call("lithos_changes", since=SINCE)["cursor"]
    assert estimate_tokens(cursor) < 400
    assert call("lithos_changes", since=cursor)["total"] == 0
    call("mentisdb_append", thought_type="Idea", content="old chain", agent_id="c", chain_key="chain-0")
    found = call("lithos_changes", since=cursor)
    assert any("old chain" in line or "thoughts" in line for line in found["changes"]["thought"])
    assert call("lithos_changes", since=found["cursor"])["total"] == 0


def test_section_edits_moves_and_reverts_count(call: CallTool, clock: FakeClock) -> None:
    note = write(call, "Guide", content="# Guide\n\n## Rules\n\nold\n")
    clock.advance(60)
    start = call("lithos_changes", since=SINCE)["cursor"]
    change = {"section_anchor": "Rules", "change": {"replace": "new"}, "rationale": "better"}
    call("lithos_md_patch_section", id=note["id"], agent="ben", **change)
    call("lithos_move", id=note["id"], to="archive", agent="ann")
    lines = call("lithos_changes", since=start)["changes"]["note"]
    assert len(lines) == 2 and "by ben" in lines[1] and "move" in lines[0]
    clock.advance(60)
    listed = call("lithos_list", since="1m")
    assert [each["id"] for each in listed["items"]] == [note["id"]]


def test_many_files_at_once_are_one_line(call: CallTool, lithos: Lithos) -> None:
    write(call, "First")  # the folder has been scanned
    for number in range(30):
        place = lithos.storage.data_dir / "knowledge" / "docs" / f"n{number}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"# N{number}\n")
    lithos.notes.index.reconcile()
    (line,) = call("lithos_changes", since=SINCE, path_prefix="docs")["changes"]["note"]
    assert "30 notes" in line and "docs" in line


def test_a_rebuilt_index_announces_nothing(call: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    save(lithos, "old.md", "# Old\n")
    old = lithos.storage.data_dir / "knowledge" / "old.md"
    os.utime(old, (1_000_000_000, 1_000_000_000))
    cursor = call("lithos_changes", since=SINCE)["cursor"]
    clock.advance(3600)
    lithos.notes.index.reconcile(clear=True)
    assert call("lithos_changes", since=cursor)["total"] == 0


def test_filters_pages_and_a_cursor_of_another_filter(call: CallTool, clock: FakeClock) -> None:
    for number in range(5):
        write(call, f"Note {number}", agent=f"agent-{number}")
        clock.advance(90)
    assert call("lithos_changes", since=SINCE, agent="agent-3")["total"] == 1
    assert call("lithos_changes", since=SINCE, kinds=["task"])["total"] == 0
    page = call("lithos_changes", since=SINCE, limit=2)
    seen = [*page["changes"]["note"]]
    write(call, "Meanwhile", agent="late")
    while "next_cursor" in page:
        page = call("lithos_changes", since=SINCE, limit=2, cursor=page["next_cursor"])
        seen += page["changes"].get("note", [])
    assert len(seen) == len(set(seen)) == 5
    first = call("lithos_changes", since=SINCE, limit=2)
    with pytest.raises(InvalidInput, match="other filters"):
        call("lithos_changes", since=SINCE, agent="agent-1", cursor=first["next_cursor"])


@pytest.mark.parametrize("since", ["banana", "", "2999-01-01", "cAAAAAAAAAA", "99999999d", "-1d"])
def test_an_impossible_since_is_refused(call: CallTool, since: str) -> None:
    with pytest.raises(InvalidInput, match="since"):
        call("lithos_changes", since=since)


def test_the_last_visit_moves_by_confirming_or_by_coming_back(call: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    me = {"asked_by": "ann"}
    write(call, "Mine")
    lithos.agents.flush()
    clock.advance(8 * 3600)  # gone for the night
    write(call, "Theirs", agent="ben")
    clock.advance(60)
    for _ in range(2):  # reading does not move it
        lines = call("lithos_changes", **me)["changes"]["note"]
        assert any("Theirs" in line for line in lines)
    cursor = call("lithos_changes", **me)["cursor"]
    assert call("lithos_changes", seen=cursor, **me)["confirmed"] is True
    assert call("lithos_changes", **me)["total"] == 0
    write(call, "Later", agent="ben")
    assert call("lithos_changes", **me)["total"] == 1
    with pytest.raises(InvalidInput, match="cursor"):
        call("lithos_changes", seen="nonsense", **me)
    with pytest.raises(Forbidden):
        call("lithos_changes", seen=cursor, _caller=Caller(read_only=True), **me)


# ------------------------------------------------------------------- undo
def test_each_kind_of_a_notes_change_is_taken_back(call: CallTool) -> None:
    note = write(call, "Guide", content="# Guide\n\n## Rules\n\nold\n")
    before = call("lithos_read", id=note["id"])
    call("lithos_write", id=note["id"], content="overwritten", agent="ann")
    assert call("lithos_undo", agent="ann")["did"] == "brought the text back"
    assert call("lithos_read", id=note["id"])["content"] == before["content"]
    change = {"section_anchor": "Rules", "change": {"replace": "new"}, "rationale": "better"}
    call("lithos_md_patch_section", id=note["id"], agent="ann", **change)
    call("lithos_undo", agent="ann")
    assert call("lithos_read", id=note["id"])["content"] == before["content"]
    call("lithos_move", id=note["id"], to="archive", agent="ann")
    call("lithos_undo", agent="ann")
    assert call("lithos_read", id=note["id"])["path"] == before["path"]
    call("lithos_delete", id=note["id"], agent="ann")
    call("lithos_undo", agent="ann")
    assert call("lithos_read", id=note["id"])["content"] == before["content"]
    assert call("lithos_undo", agent="ann")["did"] == "deleted the note"  # what is left is its creation
    with pytest.raises(NotFound, match="left to undo"):
        call("lithos_undo", agent="ann")


def test_a_tasks_changes_are_taken_back(call: CallTool) -> None:
    task = call("lithos_task_create", title="Do it", agent="ann", priority=3)["task_id"]

    def shown() -> dict[str, Any]:
        return call("lithos_task_status", task_id=task)["tasks"][0]

    call("lithos_task_update", task_id=task, agent="ann", title="Do that", priority=0, tags=["x"])
    call("lithos_undo", agent="ann")
    assert (shown()["title"], shown()["priority"], shown()["tags"]) == ("Do it", 3, [])
    call("lithos_task_claim", task_id=task, aspect="work", agent="ann")
    call("lithos_undo", agent="ann")
    assert shown()["claims"] == []
    call("lithos_task_complete", task_id=task, agent="ann")
    call("lithos_undo", agent="ann")
    assert shown()["status"] == "open"


def test_what_was_changed_since_is_not_undone(call: CallTool, lithos: Lithos) -> None:
    note = write(call, "Shared")
    call("lithos_write", id=note["id"], content="by ann", agent="ann")
    call("lithos_write", id=note["id"], content="by ben", agent="ben")
    with pytest.raises(Conflict, match="changed since by ben") as refused:
        call("lithos_undo", agent="ann")
    assert "lithos_note_history" in refused.value.hint
    assert "by ben" in call("lithos_read", id=note["id"])["content"]


def test_others_changes_need_the_operator(call: CallTool) -> None:
    note = write(call, "Shared")
    call("lithos_write", id=note["id"], content="by ann", agent="ann")
    event = call("lithos_events_query", agent="ann")["rows"][0]["id"]
    with pytest.raises(Forbidden):
        call("lithos_undo", event=event, agent="ben")
    done = call("lithos_undo", event=event, agent="ben", _caller=Caller(operator=True))
    assert done["undone"]["event"] == event


def test_a_repeated_undo_with_its_key_undoes_once(call: CallTool) -> None:
    note = write(call, "One")
    for text in ("two", "three"):
        call("lithos_write", id=note["id"], content=text, agent="ann")
    answers = [call("lithos_undo", agent="ann", idempotency_key="k") for _ in range(2)]
    assert answers[0]["undone"] == answers[1]["undone"]
    assert call("lithos_read", id=note["id"])["content"].strip().endswith("two")


def test_several_files_of_one_change_come_back_together(call: CallTool) -> None:
    paths = ["users/ann/overview.md", "users/ann/notes.md"]
    for path in paths:
        call("lithos_fs_write", path=path, content="# A\n\n## S\n\nold\n", rationale="r", user_id="ann", agent="ann")
    edits = [{"path": path, "section_anchor": "S", "change": {"replace": "new"}} for path in paths]
    proposal = call("lithos_propose_change", edits=edits, user_id="ann", agent="ann")["proposal_id"]
    call("lithos_apply_change", proposal_id=proposal, rationale="both", user_id="ann", agent="ann")
    undone = call("lithos_undo", agent="ann")
    assert sorted(undone["result"]["files"]) == sorted(paths)
    assert "old" in call("lithos_fs_read", path=paths[1], user_id="ann")["content"]
