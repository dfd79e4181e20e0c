"""The title's place, content, tags and aliases as people write them, and what a write makes of them."""

from __future__ import annotations

import difflib

import pytest

from lithos.core.clock import parse_time
from lithos.errors import InvalidInput, TooLarge, Unsupported
from lithos.notes.format.document import Unreadable
from lithos.notes.format.note import Note, read_note
from lithos.notes.vault.writing import WriteRequest, changed_note, checked_request, new_note

NOW = parse_time("2026-03-04T05:06:07Z")
ID = "5e3f6a3e-5a5e-4d3c-9b1f-0a2b3c4d5e6f"


def read(text: str, path: str = "folder/file-name.md") -> Note:
    note = read_note(path, text.encode())
    assert isinstance(note, Note)
    return note


def update(text: str, request: WriteRequest) -> str:
    changed = changed_note(read(text), request, ID, NOW)
    return text if changed is None else changed.encode().decode()


def changed_lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


@pytest.mark.parametrize(
    ("text", "title", "content"),
    [
        ("---\ntitle: A\n---\n\n# A\n\nText\n", "A", "Text"),
        ("---\ntitle: A\n---\n# A\nText\n", "A", "Text"),
        ("---\ntitle: A\n---\n\n# Other\n\nText\n", "A", "# Other\n\nText"),
        ("---\ntitle: A\n---\n\n## A\n\nText\n", "A", "## A\n\nText"),
        ("# Heading #\n\nText", "Heading", "Text"),
        ("# C#\n", "C#", ""),
        ("Text only\n", "file-name", "Text only"),
        ("", "file-name", ""),
        ("---\ntitle: 2024\n---\nText", "2024", "Text"),
        ("---\ntitle: [broken\n---\nText", "file-name", "Text"),
        ("---\nno: end\n", "file-name", "---\nno: end"),
    ],
)
def test_a_first_heading_equal_to_the_title_is_its_place_and_any_other_is_content(
    text: str, title: str, content: str
) -> None:
    note = read(text)
    assert (note.title, note.content) == (title, content)


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: [a, b]", ["a", "b"]),
        ("tags:\n- a\n- '#b'\n- a", ["a", "b"]),
        ("tags: a, b", ["a", "b"]),
        ("tags: one", ["one"]),
        ("tags:", []),
        ("tags: 2024", ["2024"]),
        ("tags: {a: 1}", []),
        ("other: 1", []),
    ],
)
def test_tags_are_read_in_every_form_that_people_use(written: str, tags: list[str]) -> None:
    assert read(f"---\n{written}\n---\n").tags == tags


@pytest.mark.parametrize(
    ("written", "aliases"),
    [("aliases:", []), ("aliases: One, name", ["One, name"]), ("aliases: [A, a, A, '']", ["A", "a"]), ("x: 1", [])],
)
def test_aliases_may_be_empty_a_single_string_or_repeated(written: str, aliases: list[str]) -> None:
    assert read(f"---\n{written}\n---\n").aliases == aliases


def test_bytes_that_are_no_text_say_why() -> None:
    assert read_note("x.md", b"caf\xe9") == Unreadable("not UTF-8: byte 0xe9 at offset 3")
    assert isinstance(read_note("x.md", b"a\0b"), Unreadable)


def test_deep_brackets_in_frontmatter_are_refused_before_the_parser_chokes_on_them() -> None:
    note = read("---\na: " + "[" * 60_000 + "\n---\nText")
    assert note.front.problem is not None
    assert note.content == "Text"


def test_a_new_note_has_the_fields_and_the_heading_of_the_spec() -> None:
    request = WriteRequest("agent-a", "My: title", "Text", ("x", "why"), {"source": "task-1"})
    assert new_note(request, ID, NOW).encode().decode() == (
        f'---\nid: {ID}\ntitle: "My: title"\ncreated_at: 2026-03-04T05:06:07Z\nupdated_at: 2026-03-04T05:06:07Z\n'
        "author: agent-a\ntags:\n  - x\n  - why\nconfidence: 1.0\nsource: task-1\n---\n\n# My: title\n\nText\n"
    )


def test_a_title_heading_that_the_agent_sends_is_not_written_twice() -> None:
    text = new_note(WriteRequest("a", "T", "# T\n\nText"), ID, NOW).encode().decode()
    assert text.count("# T") == 1
    assert read(text).content == "Text"
    assert read(update(text, WriteRequest("a", content="# T\n\nNew"))).content == "New"
    assert update(text, WriteRequest("a", content="# T\n\nNew")).count("# T") == 1


HAND_WRITTEN = """---
# my note
title:   'Hand written'   # quoted on purpose
tags:
    - alpha   # first
    - "beta"
custom: {a: 1,  b: [x,y]}
date: 2024-01-05
---
Intro without heading.
"""


def test_adding_a_tag_to_a_hand_written_note_changes_the_tag_lines_and_the_book_keeping_only() -> None:
    after = update(HAND_WRITTEN, WriteRequest("bot", tags=("alpha", "beta", "gamma")))
    assert changed_lines(HAND_WRITTEN, after) == [
        "+     - gamma",
        "+ contributors:",
        "+   - bot",
        f"+ id: {ID}",
        "+ updated_at: 2026-03-04T05:06:07Z",
    ]


def test_removing_a_tag_removes_its_line_only() -> None:
    base = HAND_WRITTEN.replace("date:", f"id: {ID}\nauthor: bot\nupdated_at: then\ndate:")
    after = update(base, WriteRequest("bot", tags=("beta",)))
    assert changed_lines(base, after) == [
        "-     - alpha   # first",
        "- updated_at: then",
        "+ updated_at: 2026-03-04T05:06:07Z",
    ]


def test_empty_tags_clear_them_and_none_leaves_them() -> None:
    assert read(update(HAND_WRITTEN, WriteRequest("bot", tags=()))).tags == []
    assert read(update(HAND_WRITTEN, WriteRequest("bot", content="x"))).tags == ["alpha", "beta"]


def test_line_endings_and_byte_order_mark_survive_a_change() -> None:
    data = b"\xef\xbb\xbf" + HAND_WRITTEN.replace("\n", "\r\n").encode()
    note = read_note("x.md", data)
    assert isinstance(note, Note)
    assert note.content == "Intro without heading."
    changed = changed_note(note, WriteRequest("bot", content="One\nTwo"), ID, NOW)
    assert changed is not None
    after = changed.encode()
    assert after.startswith(b"\xef\xbb\xbf---\r\n")
    assert after.endswith(b"---\r\nOne\r\nTwo\r\n")
    assert after.count(b"\n") == after.count(b"\r\n")


def test_a_changed_title_rewrites_the_heading_and_the_field() -> None:
    text = new_note(WriteRequest("a", "Old", "Text"), ID, NOW).encode().decode()
    after = update(text, WriteRequest("a", title="New"))
    assert "title: New\n" in after
    assert "\n# New\n\nText\n" in after
    assert "Old" not in after


def test_a_title_that_only_the_heading_says_is_changed_there_alone() -> None:
    after = read(update("# Old\n\nText\n", WriteRequest("a", title="New")))
    assert (after.title, after.content, "title" in after.fields) == ("New", "Text", False)


def test_content_that_begins_with_another_heading_keeps_the_title_of_a_note_without_one() -> None:
    after = read(update("Plain\n", WriteRequest("a", content="# Other\n\nText")))
    assert (after.title, after.content) == ("file-name", "# Other\n\nText")


def test_the_author_is_no_contributor_and_no_name_is_twice() -> None:
    text = new_note(WriteRequest("a", "T", "x"), ID, NOW).encode().decode()
    for agent, content in (("b", "1"), ("a", "2"), ("b", "3"), ("c", "4")):
        text = update(text, WriteRequest(agent, content=content))
    assert read(text).contributors == ["b", "c"]
    assert read(text).text("author") == "a"


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    text = new_note(WriteRequest("a", "T", "x", ("t",)), ID, NOW).encode().decode()
    assert changed_note(read(text), WriteRequest("a", "T", "x", ("t",)), ID, NOW) is None


@pytest.mark.parametrize(
    ("old", "addition", "content"),
    [
        ("Text", "More", "Text\n\nMore"),
        ("Text\n", "More", "Text\n\nMore"),
        ("Text\n\n\n", "More", "Text\n\n\nMore"),
        ("- a", "- b", "- a\n- b"),
        ("1. a", "2. b\n3. c", "1. a\n2. b\n3. c"),
        ("| a |", "| b |", "| a |\n| b |"),
        ("- a", "Text", "- a\n\nText"),
        ("", "More", "More"),
    ],
)
def test_appended_text_is_a_new_paragraph_or_the_next_item(old: str, addition: str, content: str) -> None:
    text = new_note(WriteRequest("a", "T", old), ID, NOW).encode().decode()
    assert read(update(text, WriteRequest("a", content=addition, append=True))).content == content


def test_a_note_with_broken_frontmatter_keeps_it_and_takes_new_content() -> None:
    broken = "---\ntitle: [oops\n---\nText\n"
    assert update(broken, WriteRequest("a", content="New")) == "---\ntitle: [oops\n---\nNew\n"
    with pytest.raises(Unsupported):
        update(broken, WriteRequest("a", tags=("x",)))


def test_an_id_that_is_no_uuid_is_someone_elses_and_stays() -> None:
    assert "id: 202401011200\n" in update("---\nid: 202401011200\n---\nText\n", WriteRequest("a", content="x"))


@pytest.mark.parametrize(
    "request_",
    [
        WriteRequest("a", title="  "),
        WriteRequest("a", title="x" * 501),
        WriteRequest("a", title="two\nlines"),
        WriteRequest("a", content="nul\0"),
        WriteRequest("a", content="\ud800"),
        WriteRequest("a", tags=("",)),
        WriteRequest("a", tags=("a\nb",)),
        WriteRequest("a", tags=tuple(map(str, range(101)))),
    ],
)
def test_bad_input_is_refused_before_anything_is_read(request_: WriteRequest) -> None:
    with pytest.raises(InvalidInput):
        checked_request(request_, 1_000)


def test_content_over_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge):
        checked_request(WriteRequest("a", content="ü" * 501), 1_000)
