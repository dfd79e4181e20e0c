"""Notes through the tools: what agents write, people edit, and both read back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import ClaimLost, Conflict, InvalidInput, KeyReused, NotFound, TooLarge, Unsupported
from lithos.settings import LithosConfig
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.support.notes_bench import Person, assert_index_is_true


@pytest.fixture
def lithos(config: LithosConfig, clock: FakeClock) -> Iterator[Lithos]:
    opened = open_lithos(config, clock=clock)
    yield opened
    opened.notes.index.reconcile()
    assert_index_is_true(opened)
    opened.close()


@pytest.fixture
def person(lithos: Lithos) -> Person:
    return Person(lithos)


# Writing


def test_what_an_agent_writes_is_what_it_reads_back(call: CallTool) -> None:
    content = "\nSee [[other|text]].\r\n\n- a\n\n\ttabs, ünïcödé 😀\n\n"
    written = call("lithos_write", agent="a", title="Python asyncio.gather", content=content, tags=["x", "y z"])
    assert written["path"] == "python-asyncio-gather.md"
    assert written["replaced_version"] is None
    note = call("lithos_read", id=written["id"])
    assert (note["title"], note["content"], note["version"]) == ("Python asyncio.gather", content, written["version"])
    assert note["metadata"]["tags"] == ["x", "y z"]
    assert note["metadata"]["confidence"] == 1.0
    assert note["links"] == [{"target": "other", "display": "text", "id": None, "status": "broken"}]


def test_an_update_changes_what_is_given_and_keeps_the_rest(call: CallTool) -> None:
    first = call("lithos_write", agent="a", title="T", content="one", tags=["x"], confidence=0.5, source_task="task-1")
    second = call("lithos_write", agent="b", id=first["id"], content="two")
    assert second["replaced_version"] == first["version"]
    note = call("lithos_read", id=first["id"])
    assert (note["title"], note["content"]) == ("T", "two")
    kept = {name: note["metadata"][name] for name in ("tags", "confidence", "source", "author", "contributors")}
    assert kept == {"tags": ["x"], "confidence": 0.5, "source": "task-1", "author": "a", "contributors": ["b"]}
    call("lithos_write", agent="b", id=first["id"], tags=[])
    assert call("lithos_read", id=first["id"])["metadata"]["tags"] == []


def test_a_changed_title_never_moves_the_file(call: CallTool, person: Person) -> None:
    first = call("lithos_write", agent="a", title="Old name", content="text")
    second = call("lithos_write", agent="a", id=first["id"], title="New name")
    assert second["path"] == first["path"] == "old-name.md"
    assert "# New name\n" in person.text("old-name.md")
    assert call("lithos_read", id=first["id"])["content"] == "text"


def test_append_adds_to_the_end(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="Log", content="- one")
    call("lithos_write", agent="b", id=note["id"], content="- two", append=True)
    call("lithos_write", agent="b", id=note["id"], content="Text.", append=True)
    assert call("lithos_read", id=note["id"])["content"] == "- one\n- two\n\nText."


def test_a_second_note_of_the_same_title_gets_its_own_file_and_names_the_first(call: CallTool) -> None:
    first = call("lithos_write", agent="a", title="Same", content="1", path="folder")
    second = call("lithos_write", agent="a", title="same!", content="2", path="folder")
    other = call("lithos_write", agent="a", title="Same", content="3")
    assert (first["path"], second["path"], other["path"]) == ("folder/same.md", "folder/same-2.md", "same.md")
    assert second["existing"] == {"id": first["id"], "path": "folder/same.md", "title": "Same"}
    assert "existing" not in first and "existing" not in other


def test_names_that_differ_only_in_case_or_form_are_not_made_beside_each_other(call: CallTool, person: Person) -> None:
    person.save("Ordner/Äpfel.md", "by hand")
    call("lithos_list")
    made = call("lithos_write", agent="a", title="a\u0308pfel", content="x", path="ordner")
    assert made["path"] == "Ordner/äpfel-2.md"
    assert made["existing"]["path"] == "Ordner/Äpfel.md"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("???", "note-"),
        ("日本語 メモ", "日本語-メモ.md"),
        ("x" * 300, "x" * 120 + ".md"),
        ("con", "con"),
        ("Ａ", "ａ.md"),
    ],
)
def test_every_title_gives_a_name_that_is_never_untitled(call: CallTool, title: str, name: str) -> None:
    written = call("lithos_write", agent="a", title=title, content="x")
    assert written["path"].startswith(name)
    assert call("lithos_read", path=written["path"])["title"] == title


@pytest.mark.parametrize("folder", ["../up", "/../up", "a/../../b", ".git", "a/.hidden", "note.md", "a\\b", "a//b"])
def test_a_folder_outside_or_hidden_is_refused(call: CallTool, person: Person, folder: str) -> None:
    with pytest.raises(InvalidInput):
        call("lithos_write", agent="a", title="T", content="x", path=folder)
    assert list(person.folder.iterdir()) == []


def test_a_link_below_the_vault_is_never_followed(call: CallTool, person: Person, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (person.folder / "way").symlink_to(outside)
    (person.folder / "leak.md").symlink_to(outside / "secret.md")
    assert call("lithos_list")["total"] == 0
    with pytest.raises(NotFound):
        call("lithos_read", path="way/secret.md")
    with pytest.raises(Unsupported, match="link"):
        call("lithos_read", path="leak.md")
    assert call("lithos_validate")["counts"]["unreadable_files"] == 2


def test_bad_input_is_refused_and_nothing_is_written(call: CallTool, person: Person) -> None:
    bad = [
        {"title": " ", "content": "x"},
        {"title": "T", "content": "x", "source_task": "s" * 2_001},
        {"title": "T"},
        {"content": "x"},
        {"title": "T", "content": "x", "confidence": 1.5},
        {"title": "T", "content": "x", "tags": ["a\nb"]},
        {"title": "T", "content": "x", "if_match": "sha256:0"},
        {"title": "T", "content": "x", "append": True},
    ]
    for arguments in bad:
        with pytest.raises(InvalidInput):
            call("lithos_write", agent="a", **arguments)
    with pytest.raises(TooLarge):
        call("lithos_write", agent="a", title="T", content="x" * (4 * 2**20 + 1))
    with pytest.raises(NotFound):
        call("lithos_write", agent="a", id="no-such-note", content="x")
    assert list(person.folder.iterdir()) == []


def test_a_call_repeated_with_its_key_makes_one_note(call: CallTool) -> None:
    arguments = {"agent": "a", "title": "T", "content": "x", "idempotency_key": "k"}
    first = call("lithos_write", **arguments)
    assert call("lithos_write", **arguments) == first
    assert call("lithos_list")["total"] == 1
    with pytest.raises(KeyReused):
        call("lithos_write", **{**arguments, "content": "y"})


def test_a_lost_claim_writes_nothing(call: CallTool, clock: FakeClock) -> None:
    task = call("lithos_task_create", title="t", agent="a")["task_id"]
    token = call("lithos_task_claim", task_id=task, aspect="x", agent="a", ttl_minutes=1)["token"]
    call("lithos_write", agent="a", title="Mine", content="x", claim_token=token)
    clock.advance(120)
    call("lithos_task_claim", task_id=task, aspect="x", agent="b")
    with pytest.raises(ClaimLost):
        call("lithos_write", agent="a", title="Too late", content="x", claim_token=token)
    assert call("lithos_list")["total"] == 1


def test_sixteen_agents_writing_at_once_lose_nothing(lithos: Lithos, call: CallTool) -> None:
    log = call("lithos_write", agent="a", title="Log", content="start")["id"]

    def work(number: int) -> str:
        call("lithos_write", agent=f"agent-{number}", id=log, content=f"- line {number}", append=True)
        return str(call("lithos_write", agent=f"agent-{number}", title="Same title", content=str(number))["path"])

    with ThreadPoolExecutor(16) as pool:
        paths = list(pool.map(work, range(32)))
    assert len(set(paths)) == 32
    content = call("lithos_read", id=log)["content"]
    assert all(f"- line {number}\n" in content + "\n" for number in range(32))
    assert call("lithos_list")["total"] == 33


# Lost updates


def test_a_version_that_is_not_current_is_a_conflict_and_nothing_changes(call: CallTool, person: Person) -> None:
    note = call("lithos_write", agent="a", title="T", content="one")
    call("lithos_write", agent="b", id=note["id"], content="two")
    before = person.text("t.md")
    for change in ({"content": "three"}, {"tags": ["x"]}, {"content": "x", "append": True}):
        with pytest.raises(Conflict) as refusal:
            call("lithos_write", agent="a", id=note["id"], if_match=note["version"], **change)
        assert refusal.value.details["version"] == call("lithos_read", id=note["id"])["version"]
    with pytest.raises(Conflict):
        call("lithos_delete", id=note["id"], if_match=note["version"])
    assert person.text("t.md") == before


def test_an_edit_that_the_index_has_not_seen_is_never_overwritten(call: CallTool, person: Person) -> None:
    note = call("lithos_write", agent="a", title="T", content="one")
    person.save("t.md", person.text("t.md").replace("one", "one, by hand"))
    with pytest.raises(Conflict):
        call("lithos_write", agent="a", id=note["id"], content="two")
    with pytest.raises(Conflict):
        person.save("t.md", person.text("t.md") + "again\n")
        call("lithos_delete", id=note["id"])
    assert call("lithos_read", id=note["id"])["content"] == "one, by hand\nagain"


def test_tags_and_additions_go_onto_what_a_person_has_just_saved(call: CallTool, person: Person) -> None:
    note = call("lithos_write", agent="a", title="T", content="one")
    person.save("t.md", person.text("t.md").replace("one", "by hand"))
    call("lithos_write", agent="a", id=note["id"], tags=["x"])
    person.save("t.md", person.text("t.md").replace("by hand", "by hand again"))
    call("lithos_write", agent="a", id=note["id"], content="added", append=True)
    assert call("lithos_read", id=note["id"])["content"] == "by hand again\n\nadded"


# Reading


def test_a_note_is_read_by_id_or_path_with_or_without_suffix_in_any_case(call: CallTool, person: Person) -> None:
    person.save("Folder/My Note.md", "# Hello\n\nText")
    first = call("lithos_read", path="Folder/My Note.md")
    for path in ("Folder/My Note", "folder/my note", "Folder/My Note.md"):
        assert call("lithos_read", path=path) == first
    assert call("lithos_read", id=first["id"]) == first
    for wrong in ({}, {"id": first["id"], "path": "x"}, {"id": first["id"], "max_length": 0}):
        with pytest.raises(InvalidInput):
            call("lithos_read", **wrong)
    for unknown in ({"id": "nope"}, {"path": "nope"}, {"path": "Folder"}):
        with pytest.raises(NotFound):
            call("lithos_read", **unknown)


def test_a_long_note_is_cut_at_a_boundary(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="T", content="First. Second sentence.\n\nNext paragraph.")
    cut = call("lithos_read", id=note["id"], max_length=12)
    assert (cut["content"], cut["truncated"]) == ("First.", True)
    assert call("lithos_read", id=note["id"], max_length=26)["content"] == "First. Second sentence."
    assert call("lithos_read", id=note["id"], max_length=1000)["truncated"] is False


def test_reading_shows_what_a_person_saved_this_moment(call: CallTool, person: Person) -> None:
    note = call("lithos_write", agent="a", title="T", content="one [[a]]")
    person.save("t.md", person.text("t.md").replace("one [[a]]", "two [[t]]"))
    read = call("lithos_read", id=note["id"])
    assert read["content"] == "two [[t]]"
    assert read["links"][0]["id"] == note["id"]


# Deleting


def test_a_deleted_note_can_be_restored_and_the_audit_names_who_did_it(call: CallTool, person: Person) -> None:
    note = call("lithos_write", agent="a", title="T", content="text")
    data = person.text("t.md")
    assert call("lithos_delete", id=note["id"], agent="b")["success"] is True
    again = call("lithos_delete", id=note["id"])
    assert (again["success"], again["reason"]) == (False, "not_found") and "restore" in again["hint"]
    with pytest.raises(NotFound):
        call("lithos_read", id=note["id"])
    event = call("lithos_note_history", id=note["id"])["versions"][0]
    assert (event["op"], event["agent"], event["kept"]) == ("delete", "b", True)
    assert call("lithos_note_restore", note=note["id"], agent="c")["path"] == "t.md"
    assert person.text("t.md") == data
    assert call("lithos_read", id=note["id"])["content"] == "text"
    with pytest.raises(Conflict):
        call("lithos_note_restore", note="t.md", agent="c")


# Listing


def test_notes_are_listed_newest_first_page_by_page(call: CallTool, clock: FakeClock) -> None:
    for number in range(7):
        call(
            "lithos_write",
            agent=f"a{number % 2}",
            title=f"Note {number}",
            content="x",
            tags=["t"] if number < 3 else [],
        )
        clock.advance(60)
    pages = [call("lithos_list", limit=3, offset=offset) for offset in (0, 3, 6)]
    titles = [item["title"] for page in pages for item in page["items"]]
    assert titles == [f"Note {number}" for number in reversed(range(7))]
    assert {page["total"] for page in pages} == {7}
    assert set(pages[0]["items"][0]) == {"id", "title", "path", "updated", "tags"}
    assert call("lithos_list", tags=["t"], author="a0")["total"] == 2
    assert call("lithos_list", since="2026-01-01T00:05:00Z")["total"] == 2
    assert call("lithos_list", tags=["t", "none"])["total"] == 0
    with pytest.raises(InvalidInput):
        call("lithos_list", since="some day")


def test_a_path_prefix_and_tags_filter_what_is_listed(call: CallTool, person: Person) -> None:
    for path in ("a/one.md", "a/b/two.md", "ab.md"):
        person.save(path, "---\ntags: [x]\n---\n")
    assert {item["path"] for item in call("lithos_list", path_prefix="a/")["items"]} == {"a/one.md", "a/b/two.md"}
    assert call("lithos_list", path_prefix="a")["total"] == 3
    assert call("lithos_tags")["tags"] == {"x": 3}


def test_dates_that_people_type_stay_as_typed(call: CallTool, person: Person) -> None:
    person.save("old.md", "---\ncreated_at: 2019-05-01\nupdated_at: 2020-01-02\n---\nText")
    item = call("lithos_list")["items"][0]
    assert item["updated"] == "2020-01-02T00:00:00Z"
    assert call("lithos_read", path="old")["metadata"] == {"created_at": "2019-05-01", "updated_at": "2020-01-02"}
    assert call("lithos_list", since="2020-01-03")["total"] == 0


# Moving


def test_a_moved_note_keeps_its_id_and_the_links_follow_on_request(call: CallTool, person: Person) -> None:
    person.save(
        "one.md", "[[target]] [[target|t]] [[target#H]] ![[target.md]] [x](target.md#h) [[T title]] `[[target]]`\n"
    )
    person.save("sub/two.md", "[x](../target.md) [y](<../target.md>) [[../target]]\n")
    person.save("target.md", "---\ntitle: T title\n---\nOwn: [one](one.md) [[one]]\n")
    target = call("lithos_read", path="target")
    moved = call("lithos_move", id=target["id"], to="deep/er/new name.md", agent="a", rewrite_links=True)
    assert (moved["id"], moved["old_path"]) == (target["id"], "target.md")
    assert [each["path"] for each in moved["rewritten"]] == ["one.md", "sub/two.md"]
    assert person.text("one.md") == (
        "[[new name]] [[new name|t]] [[new name#H]] ![[new name.md]] [x](deep/er/new%20name.md#h)"
        " [[T title]] `[[target]]`\n"
    )
    assert person.text("sub/two.md") == (
        "[x](../deep/er/new%20name.md) [y](<../deep/er/new name.md>) [[deep/er/new name]]\n"
    )
    assert person.text("deep/er/new name.md").endswith("Own: [one](../../one.md) [[one]]\n")
    incoming = call("lithos_links", id=target["id"])["incoming"]
    assert {each["path"] for each in incoming} == {"one.md", "sub/two.md"}
    assert "broken_links" not in call("lithos_validate")["counts"]
    assert call("lithos_note_history", id=target["id"])["versions"][0]["op"] == "move"


def test_a_move_without_rewriting_leaves_stale_references_that_validate_reports(call: CallTool, person: Person) -> None:
    person.save("one.md", "[[target]]\n")
    person.save("target.md", "text\n")
    target = call("lithos_read", path="target")
    moved = call("lithos_move", id=target["id"], to="archive/other.md", agent="a")
    assert (moved["path"], moved["version"]) == ("archive/other.md", target["version"])
    assert call("lithos_read", path="archive/other")["id"] == target["id"]
    (problem,) = call("lithos_validate")["problems"]["stale_references"]
    assert (problem["path"], problem["what"]) == ("one.md", "was renamed to archive/other.md")


def test_a_move_onto_another_note_is_refused(call: CallTool, person: Person) -> None:
    person.save("a.md", "a")
    person.save("b/A.md", "b")
    note = call("lithos_read", path="a.md")
    with pytest.raises(Conflict):
        call("lithos_move", id=note["id"], to="b", agent="x")
    assert call("lithos_move", id=note["id"], to="A.md", agent="x")["path"] == "A.md"
    assert call("lithos_move", id=note["id"], to="/", agent="x")["path"] == "A.md"


# History


def test_every_version_that_was_replaced_can_be_compared_and_brought_back(call: CallTool, clock: FakeClock) -> None:
    versions = [call("lithos_write", agent="a", title="T", content="one")]
    for content in ("two", "three"):
        clock.advance(1)
        versions.append(call("lithos_write", agent="a", id=versions[0]["id"], content=content))
    note_id = versions[0]["id"]
    listed = call("lithos_note_history", id=note_id)["versions"]
    assert [each["replaced_version"] for each in listed] == [versions[1]["version"], versions[0]["version"], None]
    assert [each["kept"] for each in listed] == [True, True, False]
    assert "-two\n+three\n" in call("lithos_note_diff", id=note_id)["diff"]
    assert "-one\n+three\n" in call("lithos_note_diff", id=note_id, old=versions[0]["version"])["diff"]
    back = call("lithos_note_revert", id=note_id, version=versions[0]["version"], agent="b")
    assert back["version"] == versions[0]["version"]
    assert call("lithos_read", id=note_id)["content"] == "one"
    undone = call("lithos_note_revert", id=note_id, version=versions[2]["version"], agent="b")
    assert undone["version"] == versions[2]["version"]
    with pytest.raises(NotFound):
        call("lithos_note_revert", id=note_id, version="sha256:0", agent="b")


@pytest.mark.parametrize("seen", [True, False])
def test_what_an_agent_wrote_and_an_old_editor_saved_over_can_be_brought_back(
    call: CallTool, person: Person, seen: bool
) -> None:
    note = call("lithos_write", agent="a", title="T", content="one")
    old_text = person.text("t.md")
    written = call("lithos_write", agent="a", id=note["id"], content="of the agent")
    person.save("t.md", old_text.replace("one", "one and a half"))
    if seen:
        person.rests()
    call("lithos_write", agent="a", id=note["id"], content="more", append=True)
    assert written["version"] in [
        each["replaced_version"] for each in call("lithos_note_history", id=note["id"])["versions"]
    ]
    call("lithos_note_revert", id=note["id"], version=written["version"], agent="a")
    assert call("lithos_read", id=note["id"])["content"] == "of the agent"


def test_a_version_from_before_the_id_does_not_make_it_another_note(call: CallTool, person: Person) -> None:
    person.save("hand.md", "by hand\n")
    first = call("lithos_read", path="hand")
    call("lithos_move", id=first["id"], to="moved.md", agent="a")
    call("lithos_write", id=first["id"], agent="a", content="by agent")
    call("lithos_note_revert", id=first["id"], version=first["version"], agent="a")
    after = call("lithos_read", path="moved")
    assert (after["id"], after["content"]) == (first["id"], "by hand")


def test_a_note_never_becomes_another_one_that_had_its_path_before(call: CallTool) -> None:
    first = call("lithos_write", agent="a", title="Plan", content="one")
    call("lithos_delete", agent="a", id=first["id"])
    second = call("lithos_write", agent="a", title="Plan", content="two")
    with pytest.raises(Conflict):
        call("lithos_note_revert", agent="a", id=second["id"], version=first["version"])
    assert call("lithos_read", id=second["id"])["content"] == "two"


# Links in properties

PROPERTIES = """---
# up: "[[Target]]" in a comment is none
up: "[[Target]]"
related:
  - '[[Target#Part|shown]]'
  - "[[Elsewhere]]"
nested: [[Target]]
---
Body with [[target]].
"""


def test_links_in_properties_count_as_obsidian_counts_them(call: CallTool, person: Person) -> None:
    person.save("target.md", "text")
    person.save("source.md", PROPERTIES)
    note = call("lithos_read", path="source")
    shown = [(link["target"], link["display"], link["status"]) for link in note["links"]]
    assert shown == [
        ("Target", "Target", "resolved"),
        ("Target#Part", "shown", "resolved"),
        ("Elsewhere", "Elsewhere", "broken"),
        ("target", "target", "resolved"),
    ]
    target = call("lithos_read", path="target")["id"]
    assert [each["path"] for each in call("lithos_links", id=target)["incoming"]] == ["source.md"]
    (broken,) = call("lithos_validate")["problems"]["broken_links"]
    assert (broken["target"], broken["line"]) == ("Elsewhere", 6)


def test_links_in_properties_follow_a_note_that_moves(call: CallTool, person: Person) -> None:
    person.save("target.md", "text")
    person.save("source.md", PROPERTIES)
    target = call("lithos_read", path="target")["id"]
    call("lithos_move", id=target, to="deep/other.md", agent="a", rewrite_links=True)
    wanted = PROPERTIES.replace('up: "[[Target]]"\nrel', 'up: "[[other]]"\nrel').replace("[[Target#", "[[other#")
    assert person.text("source.md") == wanted.replace("[[target]]", "[[other]]")


def test_a_name_that_would_break_the_properties_is_left_for_their_owner(call: CallTool, person: Person) -> None:
    person.save("target.md", "text")
    person.save("source.md", '---\nup: "[[target]]"\n---\nBody with [[target]].\n')
    target = call("lithos_read", path="target")["id"]
    call("lithos_move", id=target, to='a "quoted" name.md', agent="a", rewrite_links=True)
    assert person.text("source.md") == '---\nup: "[[target]]"\n---\nBody with [[a "quoted" name]].\n'


def test_a_path_on_an_update_may_say_where_the_note_is(call: CallTool) -> None:
    made = call("lithos_write", agent="a", title="Plan", content="one", path="deep")
    for place in ("deep", "Deep/", made["path"], None):
        assert "warnings" not in call("lithos_write", agent="a", id=made["id"], tags=[str(place)], path=place)
    (told,) = call("lithos_write", agent="a", id=made["id"], tags=["x"], path="elsewhere")["warnings"]
    assert "lithos_move" in told


# What two saves leave


def test_a_write_names_the_copy_of_a_save_that_met_an_earlier_one(
    call: CallTool, person: Person, clock: FakeClock
) -> None:
    made = call("lithos_write", agent="a", title="Plan", content="one")
    with open(person.folder / made["path"], "r+b") as editor:
        call("lithos_write", agent="a", id=made["id"], content="two")
        editor.truncate(0)
        editor.write(b"by hand")
    clock.advance(10)
    answer = call("lithos_write", agent="a", id=made["id"], tags=["t"])
    (copy,) = answer["conflict_copies"]
    assert (person.folder / copy).read_bytes() == b"by hand"
    assert call("lithos_validate")["counts"]["conflict_copies"] == 1


def test_a_refused_write_names_the_copies_too(call: CallTool, person: Person) -> None:
    made = call("lithos_write", agent="a", title="Plan", content="one")
    person.save("plan.conflict-20260131T120000Z.md", "the other one")
    person.rests()
    person.save("plan.md", "by hand")
    with pytest.raises(Conflict) as refused:
        call("lithos_write", agent="a", id=made["id"], content="two")
    assert refused.value.details["conflict_copies"] == ["plan.conflict-20260131T120000Z.md"]


def test_what_an_editor_with_an_older_text_saves_over_is_kept_though_the_host_ended(
    config: LithosConfig, tmp_path: Path
) -> None:
    first = open_lithos(config)
    made = catalogue().call(first, "lithos_write", {"agent": "a", "title": "Plan", "content": "one"})
    person = Person(first)
    older = person.text(made["path"])
    second = catalogue().call(first, "lithos_write", {"agent": "a", "id": made["id"], "content": "two"})
    first.close()
    person.save(made["path"], older)
    again = open_lithos(config)
    assert again.notes.reader.read(made["id"])["content"] == "one"
    assert b"two" in again.storage.roots["vault"].version_kept(made["path"], second["version"])
    again.close()
