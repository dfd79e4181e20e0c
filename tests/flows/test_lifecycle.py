"""The life of knowledge through the tools: keys, successors, time, feedback, decay, promotion, trust, secrets."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, InvalidInput, NotFound, SecretRefused
from lithos.settings import LifecycleSettings, LithosConfig, SecuritySettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.note_calls import CallTool, caller, found

OPERATOR = Caller(operator=True)


# Keys


def test_a_new_key_inserts_and_the_same_key_merges_into_the_active_note(call: CallTool, write: CallTool) -> None:
    first = write(merge_key="retries", tags=["net"], provenance="file:a.py#L1-L9")
    assert (first["action"], first["superseded_ids"]) == ("inserted", [])
    again = write("Retries, again", "Retry five times.", merge_key="retries", tags=["x"], provenance="commit:ab12")
    assert (again["action"], again["id"], again["superseded_ids"]) == ("merged", first["id"], [])
    note = call("lithos_read", id=first["id"])
    assert (note["title"], note["content"]) == ("Retries, again", "Retry five times.")
    assert (note["metadata"]["provenance"], note["metadata"]["tags"]) == ("commit:ab12", ["net"])
    assert call("lithos_list", status="all")["total"] == 1


def test_supersede_writes_a_successor_and_marks_the_old_both_ways(
    call: CallTool, write: CallTool, clock: FakeClock
) -> None:
    old = write(merge_key="retries")
    clock.advance(60)
    new = write("Retries 2", "Retry five times.", merge_key="retries", on_conflict="supersede")
    assert (new["action"], new["superseded_ids"]) == ("superseded", [old["id"]])
    before, after = call("lithos_read", id=old["id"]), call("lithos_read", id=new["id"])
    assert before["metadata"]["status"] == "superseded"
    assert before["metadata"]["superseded_by"] == new["id"] and after["metadata"]["supersedes"] == old["id"]
    assert before["metadata"]["superseded_at"] == "2026-01-01T00:01:00Z"
    assert before["successor"] == {"id": new["id"], "title": "Retries 2", "path": new["path"]}
    assert before["content"] == "Retry three times." and "contributors" not in before["metadata"]
    assert found(call) == {"Retries 2"}
    assert found(call, status="superseded") == {"Retries"}
    assert found(call, status="all") == {"Retries", "Retries 2"}


def test_reject_refuses_and_names_the_active_note(call: CallTool, write: CallTool) -> None:
    first = write(merge_key="retries")
    with pytest.raises(Conflict) as refusal:
        write("Other", "Text.", merge_key="retries", on_conflict="reject")
    assert refusal.value.details["active_id"] == first["id"]
    assert call("lithos_list")["total"] == 1


def test_the_id_of_one_note_with_the_key_of_another_is_a_conflict(call: CallTool, write: CallTool) -> None:
    holder, other = write(merge_key="retries"), write("Other", "Bread needs flour.")
    with pytest.raises(Conflict) as refusal:
        call("lithos_write", id=other["id"], agent="ann", merge_key="retries")
    assert refusal.value.details["active_id"] == holder["id"]


def test_a_superseded_note_cannot_become_active_beside_its_successor(call: CallTool, write: CallTool) -> None:
    old = write(merge_key="retries")
    new = write("Retries 2", "Bread needs flour.", merge_key="retries", on_conflict="supersede")
    with pytest.raises(Conflict) as refusal:
        call("lithos_write", id=old["id"], agent="ann", status="active")
    assert refusal.value.details["active_id"] == new["id"]


def test_a_key_is_free_again_when_its_note_is_deprecated(call: CallTool, write: CallTool) -> None:
    old = write(merge_key="retries")
    call("lithos_write", id=old["id"], agent="ann", status="deprecated")
    assert write("Retries 2", "Bread needs flour.", merge_key="retries")["action"] == "inserted"


def test_a_note_supersedes_another_by_id(call: CallTool, write: CallTool) -> None:
    old = write()
    new = write("Retries 2", "Bread needs flour.", supersedes=old["id"])
    assert new["superseded_ids"] == [old["id"]]
    third = write("Retries 3", "Water and salt.")
    updated = call("lithos_write", id=third["id"], agent="ann", supersedes=new["id"])
    assert (updated["action"], updated["superseded_ids"]) == ("updated", [new["id"]])
    assert call("lithos_read", id=old["id"])["successor"]["id"] == third["id"]
    with pytest.raises(Conflict):
        write("Retries 4", "Salt.", supersedes=old["id"])
    with pytest.raises(NotFound):
        write("Retries 5", "Salt.", supersedes="no-such-note")
    with pytest.raises(InvalidInput):
        call("lithos_write", id=third["id"], agent="ann", supersedes=third["id"])


def test_a_merged_text_brings_its_own_end_and_is_served_where_the_old_one_had_expired(
    call: CallTool, write: CallTool, clock: FakeClock
) -> None:
    first = write(merge_key="k", ttl_policy="decay", expires_at="2026-01-02", provenance="commit:ab12")
    clock.advance(3 * 86_400)
    assert found(call) == set()
    assert write(content="Retry once.", merge_key="k")["action"] == "merged"
    assert found(call) == {"Retries"}
    assert not {"ttl_policy", "expires_at", "provenance"} & set(call("lithos_read", id=first["id"])["metadata"])


def test_superseded_by_marks_a_note_and_its_successor_as_one(call: CallTool, write: CallTool) -> None:
    old, new = write("Retries old"), write("Retries new")
    answer = call("lithos_write", id=old["id"], agent="ann", superseded_by=new["id"])
    assert (answer["action"], answer["superseded_ids"]) == ("updated", [old["id"]])
    assert call("lithos_read", id=old["id"])["successor"]["id"] == new["id"]
    assert call("lithos_read", id=new["id"])["metadata"]["supersedes"] == old["id"]
    assert found(call) == {"Retries new"}
    call("lithos_write", id=old["id"], agent="ann", status="active")
    assert not {"superseded_by", "superseded_at"} & set(call("lithos_read", id=old["id"])["metadata"])
    assert found(call) == {"Retries new", "Retries old"}


def test_nothing_is_superseded_by_itself_by_nothing_or_by_what_is_superseded(call: CallTool, write: CallTool) -> None:
    one, two, three = write("One"), write("Two"), write("Three")
    call("lithos_write", id=two["id"], agent="ann", superseded_by=three["id"])
    for refused in (
        {"superseded_by": one["id"]},
        {"status": "superseded"},
        {"status": "active", "superseded_by": three["id"]},
        {"supersedes": two["id"], "superseded_by": three["id"]},
    ):
        with pytest.raises(InvalidInput):
            call("lithos_write", id=one["id"], agent="ann", **refused)
    with pytest.raises(InvalidInput):
        write("Four", superseded_by=three["id"])
    with pytest.raises(Conflict):
        call("lithos_write", id=one["id"], agent="ann", superseded_by=two["id"])
    with pytest.raises(Conflict):
        call("lithos_write", id=two["id"], agent="ann", superseded_by=one["id"])
    assert "status" not in call("lithos_read", id=one["id"])["metadata"]


def test_no_way_back_leads_to_two_active_notes_of_one_key(call: CallTool, write: CallTool) -> None:
    first = write(merge_key="k")
    second = write("Retries two", merge_key="k", on_conflict="supersede")
    with pytest.raises(Conflict):
        call("lithos_note_revert", id=first["id"], version=first["version"], agent="ann")
    with pytest.raises(Conflict) as refusal:
        call("lithos_write", id=first["id"], agent="ann", status="active")
    assert refusal.value.details["active_id"] == second["id"]
    call("lithos_delete", id=second["id"], agent="ann")
    third = write("Retries three", merge_key="k")
    with pytest.raises(Conflict) as refusal:
        call("lithos_note_restore", note=second["id"], agent="ann")
    assert refusal.value.details["active_id"] == third["id"]
    call("lithos_write", id=third["id"], agent="ann", status="deprecated")
    assert call("lithos_note_restore", note=second["id"], agent="ann")["id"] == second["id"]


def test_a_superseded_note_is_not_reverted_beside_its_successor(call: CallTool, write: CallTool) -> None:
    first = write()
    second = write("Retries two", supersedes=first["id"])
    with pytest.raises(Conflict) as refusal:
        call("lithos_note_revert", id=first["id"], version=first["version"], agent="ann")
    assert refusal.value.details["successor_id"] == second["id"]


def test_two_writers_with_one_new_key_make_one_note_and_get_true_answers(lithos: Lithos, call: CallTool) -> None:
    start = threading.Barrier(6)
    answers: list[dict[str, Any]] = []

    def run(number: int) -> None:
        start.wait()
        wish = {"title": f"T{number}", "content": f"Text {number}.", "agent": f"agent-{number}", "merge_key": "k"}
        answers.append(catalogue().call(lithos, "lithos_write", wish))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each["action"] for each in answers) == ["inserted"] + ["merged"] * 5
    assert len({each["id"] for each in answers}) == 1 and call("lithos_list")["total"] == 1


def test_a_person_who_removes_the_key_by_hand_frees_it(call: CallTool, write: CallTool, data_dir: Path) -> None:
    first = write(merge_key="retries")
    path = data_dir / "knowledge" / first["path"]
    path.write_text(path.read_text().replace("merge_key: retries\n", ""))
    assert write("Other", "Text.", merge_key="retries")["action"] == "inserted"


def test_a_merge_never_overwrites_what_a_person_has_just_saved(call: CallTool, write: CallTool, data_dir: Path) -> None:
    first = write(merge_key="retries")
    path = data_dir / "knowledge" / first["path"]
    path.write_text(path.read_text().replace("three", "seven"))
    for policy in ("merge", "supersede"):
        path.write_text(path.read_text() + f"\nfor {policy}\n")
        with pytest.raises(Conflict) as refusal:
            write("Other", "Text.", merge_key="retries", on_conflict=policy)
        assert refusal.value.details["active_id"] == first["id"]
    assert "seven" in call("lithos_read", id=first["id"])["content"]
    assert write("Other", "Text.", merge_key="retries")["action"] == "merged"


@pytest.mark.parametrize(
    "wrong",
    [
        {"provenance": "somewhere"},
        {"provenance": "commit:XYZ"},
        {"provenance": "cmd:two words"},
        {"status": "done"},
        {"ttl_policy": "forever"},
        {"expires_at": "soon"},
        {"on_conflict": "ask"},
        {"merge_key": "two\nlines"},
        {"derived_from": ["no-such-note"]},
    ],
    ids=str,
)
def test_fields_that_mean_nothing_are_refused_and_nothing_is_written(
    call: CallTool, write: CallTool, wrong: dict[str, Any]
) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        write(**wrong)
    assert call("lithos_list")["total"] == 0


def test_a_plain_note_has_no_fields_of_life(call: CallTool, write: CallTool) -> None:
    metadata = call("lithos_read", id=write()["id"])["metadata"]
    life = {"status", "ttl_policy", "merge_key", "claim_id", "provenance", "expires_at", "supersedes", "derived_from"}
    assert not life & set(metadata)


# Time


def test_what_has_expired_is_not_served_as_current_even_before_decay(
    call: CallTool, write: CallTool, clock: FakeClock
) -> None:
    write(ttl_policy="decay", expires_at="2026-01-01T01:00:00Z")
    write("Retries for ever", "Bread needs flour.", ttl_policy="persistent", expires_at="2026-01-01T01:00:00Z")
    assert found(call) == {"Retries", "Retries for ever"}
    clock.advance(3600)
    assert found(call) == {"Retries for ever"}
    assert found(call, status="all") == {"Retries", "Retries for ever"}


def test_a_past_expiry_is_allowed(call: CallTool, write: CallTool) -> None:
    note = write(ttl_policy="ephemeral", expires_at="1577836800Z")
    assert call("lithos_read", id=note["id"])["metadata"]["expires_at"] == "1577836800Z"
    assert found(call) == set()


def test_as_of_answers_with_what_was_current_then(call: CallTool, write: CallTool, clock: FakeClock) -> None:
    write("Retries 1", "Retry once.", merge_key="k")
    clock.advance(86_400)
    second = write("Retries 2", "Retry twice, with care.", merge_key="k", on_conflict="supersede")
    clock.advance(86_400)
    write("Retries 3", "Bread needs flour.", ttl_policy="decay", expires_at="2026-01-04")
    clock.advance(86_400 * 5)
    call("lithos_write", id=second["id"], agent="ann", content="Retry twice, with much care.")
    assert found(call, as_of="2025-12-31") == set()
    assert found(call, as_of="2026-01-01T12:00:00Z") == {"Retries 1"}
    assert found(call, as_of="2026-01-02T00:00:00Z") == {"Retries 2"}
    assert found(call, as_of="2026-01-03T12:00:00Z") == {"Retries 2", "Retries 3"}
    assert found(call, as_of="2026-01-05") == {"Retries 2"}
    (hit,) = call("lithos_search", query="retries", as_of="2026-01-02")["results"]
    assert hit["changed_since"] is True and hit["status"] == "active"
    with pytest.raises(InvalidInput):
        call("lithos_search", query="retries", as_of="2026-01-02", status="active")


def test_a_window_counts_days_back_and_ranks_order_by_age(call: CallTool, write: CallTool, clock: FakeClock) -> None:
    write("Retries old", "retries retries retries")
    clock.advance(10 * 86_400)
    write("New", "one word on retries, among many others that say nothing of it at all")
    assert found(call, window_days=5) == {"New"}
    assert found(call, window_days=10) == {"New", "Retries old"}
    for tool in ("lithos_search", "lithos_recall"):
        ordered = call(tool, query="retries", rank="recency_decay")["results"]
        assert [each["title"] for each in ordered] == ["New", "Retries old"]
        assert [each["recency_score"] for each in ordered] == [1.0, 0.0909]
        assert call(tool, query="retries")["results"][0]["title"] == "Retries old"


def test_the_newest_come_first_of_more_matches_than_can_be_sorted(call: CallTool, lithos: Lithos) -> None:
    folder = lithos.storage.data_dir / "knowledge"
    for number in range(260):
        made = f"2025-{1 + number // 28:02}-{1 + number % 28:02}"
        text = f"---\ncreated_at: {made}\n---\n\n{'retries ' * (1 + (260 - number) // 20)}\n"
        (folder / f"n{number}.md").write_text(text)
    (folder / "undated.md").write_text("---\nupdated_at: 2025-12-30\n---\n\nretries\n")
    lithos.notes.reindex()
    ordered = call("lithos_search", query="retries", rank="recency_decay")["results"]
    assert [each["path"] for each in ordered] == ["undated.md", *(f"n{number}.md" for number in range(259, 250, -1))]


# Feedback


def test_what_helped_rises_for_similar_questions_and_the_trace_says_so(call: CallTool, write: CallTool) -> None:
    one = write("Retry policy A", "How to retry flaky calls: three times, then give up.")
    two = write("Retry policy B", "How to retry flaky calls: three times, then give in.")
    before = call("lithos_recall", query="how to retry flaky calls")
    last = before["results"][-1]["id"]
    assert {one["id"], two["id"]} == {each["id"] for each in before["results"]}
    for number in range(4):
        given = call(
            "lithos_feedback",
            receipt=before["receipt"],
            used_ids=[last],
            outcome="helped",
            agent="ann",
            idempotency_key=f"k{number}",
        )
        assert len(given["event_id"]) == 26
    after = call("lithos_recall", query="retrying flaky calls", explain=True)
    assert after["results"][0]["id"] == last and 0 < after["trace"]["feedback"][last] <= 0.1
    assert call("lithos_search", query="retry flaky calls")["results"][0]["id"] == last
    assert call("lithos_semantic", query="how to retry flaky calls")["results"][0]["id"] == last
    call("lithos_feedback", query="how to retry flaky calls", used_ids=[last], outcome="neutral", agent="ann")
    assert "feedback" not in call("lithos_recall", query="bread", explain=True)["trace"]


def test_feedback_can_be_switched_off(data_dir: Path, clock: FakeClock) -> None:
    settings = LifecycleSettings(feedback=False)
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), lifecycle=settings), clock=clock)
    try:
        call = caller(lithos)
        note = call("lithos_write", title="T", content="flaky calls", agent="ann")["id"]
        call("lithos_feedback", query="flaky calls", used_ids=[note], outcome="hurt", agent="ann")
        assert "feedback" not in call("lithos_recall", query="flaky calls", explain=True)["trace"]
    finally:
        lithos.close()


def test_feedback_needs_a_query_or_a_receipt_that_exists(call: CallTool) -> None:
    with pytest.raises(InvalidInput):
        call("lithos_feedback", used_ids=[], outcome="helped", agent="ann")
    with pytest.raises(NotFound):
        call("lithos_feedback", used_ids=[], outcome="helped", receipt="NOSUCH", agent="ann")
    with pytest.raises(InvalidInput):
        call("lithos_feedback", used_ids=[], outcome="great", query="x", agent="ann")


# Decay


def test_decay_marks_what_has_expired_and_is_logged_even_when_it_only_looks(
    call: CallTool, write: CallTool, clock: FakeClock
) -> None:
    due = write(ttl_policy="decay", expires_at="2026-01-02")
    write("Later", "Bread needs flour.", ttl_policy="ephemeral", expires_at="2026-02-01")
    write("Never", "Water and salt.", ttl_policy="persistent", expires_at="2026-01-02")
    clock.advance(86_400)
    looked = call("lithos_decay", dry_run=True, agent="ann")
    assert (looked["stale_ids"], looked["dry_run"], looked["as_of"]) == ([due["id"]], True, "2026-01-02T00:00:00Z")
    assert "status" not in call("lithos_read", id=due["id"])["metadata"]
    ran = call("lithos_decay", agent="ann")
    assert ran["stale_ids"] == [due["id"]] and ran["event_id"] != looked["event_id"]
    metadata = call("lithos_read", id=due["id"])["metadata"]
    assert metadata["status"] == "stale" and "contributors" not in metadata
    assert call("lithos_decay", agent="ann")["stale_ids"] == []
    assert found(call, status="stale") == {"Retries"}
    events = call("lithos_events_query", type="knowledge")["rows"]
    assert [each["details"]["dry_run"] for each in events] == [False, False, True]


def test_decay_as_of_a_later_day(call: CallTool, write: CallTool) -> None:
    note = write(ttl_policy="ephemeral", expires_at="2026-01-02")
    assert call("lithos_decay", as_of="2026-01-01T23:59:59Z", dry_run=True, agent="a")["stale_ids"] == []
    assert call("lithos_decay", as_of="1767312000Z", dry_run=True, agent="a")["stale_ids"] == [note["id"]]


# Duplicates, contradictions, lineage, secrets


def test_a_writer_learns_of_notes_that_say_nearly_the_same(call: CallTool, write: CallTool) -> None:
    text = "We retry flaky network calls three times with exponential backoff and jitter."
    first = write("Backoff", text)
    second = write("Waiting between calls", text.replace("three", "four"))
    assert [each["id"] for each in second["similar"]] == [first["id"]]
    assert second["similar"][0]["likeness"] > 0.6
    assert "similar" not in write("Bread", "Flour, water, salt and a little patience.")
    assert call("lithos_list")["total"] == 3


def test_neighbours_by_meaning_are_shown_by_read_and_clusters_by_validate(
    call: CallTool, write: CallTool, lithos: Lithos
) -> None:
    first = write("Backoff", "Calls that fail are tried again after a growing pause.")
    second = write("Backoff again", "Calls that fail are tried again after a pause that grows.")
    write("Bread", "Flour, water, salt and a little patience.")
    assert lithos.note_search.collection.settle()
    read = call("lithos_read", id=first["id"])
    assert [each["id"] for each in read["similar"]] == [second["id"]]
    assert "duplicates" not in call("lithos_validate")["counts"]
    checked = call("lithos_validate", duplicates=True)
    assert checked["counts"]["duplicates"] == 1 and checked["ok"]


def test_conflicts_list_the_same_claim_and_what_nearly_agrees(call: CallTool, write: CallTool) -> None:
    weak = write("Weak", "The limit is five.", claim_id="limit", confidence=0.4)
    strong = write("Strong", "There are ten of them, no more.", claim_id="limit", confidence=0.9)
    write("Alone", "Bread needs flour.", claim_id="bread")
    (conflict,) = call("lithos_conflicts")["conflicts"]
    assert (conflict["why"], conflict["about"]) == ("same claim_id", "limit")
    assert [each["id"] for each in conflict["notes"]] == [strong["id"], weak["id"]]
    text = "We retry flaky network calls {} times with exponential backoff and jitter."
    write("One", text.format("three"))
    write("Two", text.format("nine"))
    assert [each["why"] for each in call("lithos_conflicts")["conflicts"]] == ["same claim_id", "nearly the same"]
    assert call("lithos_conflicts", claim_id="bread")["conflicts"] == []


def test_a_derived_note_is_trusted_no_more_than_its_sources(call: CallTool, write: CallTool) -> None:
    weak = write("Weak", "Hearsay.", confidence=0.3)
    middle = write("Middle", "Built on hearsay.", derived_from=[weak["id"]], confidence=0.9)
    assert "0.3" in middle["warnings"][0]
    top = write("Top", "Built on that.", derived_from=[middle["id"]])
    read = call("lithos_read", id=top["id"])
    assert read["metadata"]["confidence"] == 0.3 and read["trust"] == 0.3
    assert [(each["title"], each["depth"]) for each in read["lineage"]] == [("Middle", 1), ("Weak", 2)]
    call("lithos_write", id=weak["id"], agent="ann", confidence=0.1)
    assert call("lithos_read", id=top["id"])["trust"] == 0.1
    assert call("lithos_validate")["counts"]["too_trusted"] == 2


def test_a_credential_is_stored_with_a_warning_that_never_repeats_it(call: CallTool, write: CallTool) -> None:
    secret = "ghp_" + "a1B2" * 9
    note = write("Setup", f"First line.\nUse {secret} here.")
    assert note["warnings"] == ["line 2 holds what looks like a GitHub token"]
    checked = call("lithos_validate")
    (problem,) = checked["problems"]["secrets"]
    assert problem["what"] == "what looks like a GitHub token" and secret not in str(checked)


def test_a_credential_is_reported_as_long_as_the_file_holds_it(call: CallTool, lithos: Lithos, data_dir: Path) -> None:
    file, other = data_dir / "knowledge" / "keys.md", data_dir / "knowledge" / "other.md"
    secret = "ghp_" + "a1B2" * 9
    reported = []
    for text, beside in ((secret, "x"), (secret, "x"), ("gone", "x"), ("gone", secret), (secret, secret)):
        file.write_text(f"# Keys\n\n{text}\n")
        other.write_text(f"# Other\n\n{beside}\n")
        lithos.notes.reindex()
        reported.append([each["path"] for each in call("lithos_validate")["problems"].get("secrets", [])])
    assert reported == [["keys.md"], ["keys.md"], [], ["other.md"], ["keys.md", "other.md"]]


def test_a_credential_can_be_refused(data_dir: Path) -> None:
    security = SecuritySettings(secrets="refuse")
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), security=security))
    try:
        call = caller(lithos)
        with pytest.raises(SecretRefused):
            call("lithos_write", title="Setup", content="ghp_" + "a1B2" * 9, agent="ann")
        assert call("lithos_list")["total"] == 0
    finally:
        lithos.close()


# Nonsense by hand


def test_hand_made_nonsense_is_reported_and_served_safely(call: CallTool, data_dir: Path, lithos: Lithos) -> None:
    folder = data_dir / "knowledge"
    folder.mkdir(parents=True, exist_ok=True)

    def note(name: str, front: str) -> None:
        (folder / f"{name}.md").write_text(f"---\nid: {ID[name]}\n{front}---\n\nretries {name}\n")

    names = ("one", "two", "circle", "circle2", "lost", "far", "odd", "self")
    ID = {name: f"00000000-0000-4000-8000-00000000000{number}" for number, name in enumerate(names)}
    note("one", "merge_key: k\ncreated_at: 2026-01-01\n")
    note("two", "merge_key: k\ncreated_at: 2026-01-02\n")
    note("circle", f"status: superseded\nsuperseded_by: {ID['circle2']}\n")
    note("circle2", f"status: superseded\nsuperseded_by: {ID['circle']}\n")
    note("lost", "status: superseded\nsuperseded_by: nobody\n")
    note("far", "ttl_policy: decay\nexpires_at: 10000-01-01\nstatus: [1, 2]\n")
    note("odd", "status: dunno\nttl_policy: whenever\nprovenance: a friend\nconfidence: 17\n")
    note("self", f"derived_from: [{ID['self']}, 7, nobody]\n")
    lithos.notes.reindex()
    assert found(call) == {"one", "two", "far", "odd", "self"}
    assert call("lithos_read", id=ID["circle"])["successor"] is None
    assert call("lithos_read", id=ID["lost"])["successor"] is None
    assert call("lithos_read", id=ID["self"])["trust"] == 1.0
    problems = call("lithos_validate")["counts"]
    assert problems["shared_merge_keys"] == 1 and problems["lost_successors"] == 3
    assert problems["bad_life_fields"] == 4
    assert call("lithos_decay", as_of="9999-12-31", dry_run=True, agent="a")["stale_ids"] == []
    assert call("lithos_write", title="x", content="y", agent="a", merge_key="k")["id"] == ID["one"]
