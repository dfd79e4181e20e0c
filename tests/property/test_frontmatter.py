"""Any frontmatter and body: parse, change one field, write; the rest is identical bytes."""

from __future__ import annotations

import difflib
import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lithos.core.clock import parse_time
from lithos.errors import Unsupported
from lithos.notes.format.document import Document, read_document
from lithos.notes.format.frontmatter import edit_frontmatter, json_ready, new_frontmatter, parse_frontmatter
from lithos.notes.format.note import Note, read_note
from lithos.notes.format.yaml_text import scalar
from lithos.notes.vault.writing import WriteRequest, changed_note, new_note

NOW = parse_time("2026-03-04T05:06:07Z")
LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\x85"), max_size=20)
ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=200)
KEYS = st.sampled_from(["title", "tags", "aliases", "weird key", "confidence", "x", "Ünï", "date", "cssclasses"])
WORDS = st.sampled_from(["alpha", "beta", "gamma", "2024", "no", "c: d", "#e", "it's", 'say "hi"', "ß", "日本", "a, b"])


def _flow_list(items: list[str]) -> str:
    return "[" + ", ".join(scalar(item, flow=True) for item in items) + "]"


@st.composite
def entries(draw: st.DrawFn) -> str:
    """One key as a person might type it: scalars in all quotings, lists, blocks, comments, odd spacing."""
    key, form = scalar(draw(KEYS)), draw(st.integers(0, 9))
    word, words = draw(WORDS), draw(st.lists(WORDS, min_size=1, max_size=4))
    comment = draw(st.sampled_from(["", "  # why", " # c: d"]))
    before = draw(st.sampled_from(["", "# a comment\n", "\n", "#\n\n"]))
    indent = draw(st.sampled_from(["", "  ", "    "]))
    forms = [
        f"{key}: {scalar(word)}{comment}\n",
        f"{key}:   '{word.replace(chr(39), chr(39) * 2)}'{comment}\n",
        f"{key}: {json.dumps(word, ensure_ascii=False)}\n",
        f"{key}:{comment}\n",
        f"{key}: {_flow_list(words)}{comment}\n",
        f"{key}:{comment}\n" + "".join(f"{indent}- {scalar(each, flow=True)}{comment}\n" for each in words),
        f"{key}: |\n  first\n\n  {word}\n",
        f"{key}: >-\n  folded {word}\n  more\n",
        f"{key}:\n  inner: {scalar(word)}\n  other: 1 # one\n",
        f"{key}: [{scalar(words[0], flow=True)},\n  {scalar(words[-1], flow=True)}\n  ]\n",
    ]
    return before + forms[form]


FRONTS = st.lists(entries(), max_size=5).map("".join)
VALUES: st.SearchStrategy[Any] = st.one_of(LINE, st.lists(WORDS, max_size=3), st.floats(0, 1), st.integers(0, 9))


@settings(max_examples=60, deadline=None)
@given(FRONTS, KEYS, VALUES)
def test_one_changed_key_leaves_every_other_line_as_it_was(front: str, key: str, value: Any) -> None:
    before = parse_frontmatter(front)
    assume(before.problem is None)
    after = edit_frontmatter(front, {key: value})
    wanted = before.fields | {key: value}
    assert _as_text(parse_frontmatter(after).fields) == _as_text(wanted)
    touched = [line for line in difflib.ndiff(front.splitlines(True), after.splitlines(True)) if line[:1] == "-"]
    own = _lines_of(front, key)
    assert all(line[2:] in own for line in touched), (touched, own)


def _lines_of(front: str, key: str) -> list[str]:
    """The lines that belong to one key: from its own line to the next one at its depth, comments apart."""
    lines, found = front.splitlines(True), []
    inside = False
    for line in lines:
        if line[:1] not in (" ", "-", "#", "\n", "]"):
            inside = line.startswith(f"{scalar(key)}:")
        if inside:
            found.append(line)
    return found


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_text(item) for name, item in value.items()}
    return [str(item) for item in value] if isinstance(value, list) else str(value)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=120), KEYS, VALUES)
def test_any_text_is_edited_rightly_or_refused_never_damaged(front: str, key: str, value: Any) -> None:
    assume("\0" not in front)
    before = parse_frontmatter(front)
    try:
        after = edit_frontmatter(front if front.endswith("\n") else front + "\n", {key: value})
    except Unsupported:
        return
    assert before.problem is None
    assert _as_text(parse_frontmatter(after).fields) == _as_text(before.fields | {key: value})


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=10), st.one_of(ANY_TEXT, st.lists(ANY_TEXT, max_size=3), st.booleans())))
def test_what_we_write_is_read_back_equal(fields: dict[str, Any]) -> None:
    assert parse_frontmatter(new_frontmatter(fields)).fields == fields


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300) | ANY_TEXT.map(str.encode))
def test_any_readable_bytes_survive_reading_and_writing(data: bytes) -> None:
    found = read_document(data)
    if isinstance(found, Document):
        assert found.encode() == data


def _read(path: str, data: bytes) -> Note:
    note = read_note(path, data)
    assert isinstance(note, Note)
    return note


@settings(max_examples=60, deadline=None)
@given(LINE.filter(lambda title: title.strip()), ANY_TEXT, ANY_TEXT)
def test_content_reads_back_as_it_was_sent(title: str, first: str, second: str) -> None:
    title = title.strip()
    assume(not any(text.lstrip().startswith("#") for text in (first, second)))
    note = _read("x.md", new_note(WriteRequest("a", title, first), "id-1", NOW).encode())
    assert (note.title, note.content) == (title, first)
    changed = changed_note(note, WriteRequest("b", content=second), "id-1", NOW)
    assert (changed is None) == (first == second)
    assert _read("x.md", changed.encode() if changed else note.document.encode()).content == second


@settings(max_examples=60, deadline=None)
@given(FRONTS, st.booleans(), st.booleans(), st.booleans(), ANY_TEXT, ANY_TEXT)
def test_an_update_of_any_hand_written_file_reads_back(
    front: str, has_front: bool, crlf: bool, bom: bool, body: str, content: str
) -> None:
    assume("---" not in body and "\r" not in content and parse_frontmatter(front).problem is None)
    text = (f"---\n{front}---\n" if has_front else "") + body
    if crlf:
        text = text.replace("\r", "").replace("\n", "\r\n")
    data = (("\ufeff" if bom else "") + text).encode()
    note = _read("x.md", data)
    assume(not content.lstrip().startswith("#"))
    changed = changed_note(note, WriteRequest("b", content=content), "id-1", NOW)
    assert (changed is None) == (note.content == content)
    after = note if changed is None else _read("x.md", changed.encode())
    assert after.content == content
    assert after.title == note.title
    changed = changed or note.document
    assert (changed.newline, changed.bom) == (note.document.newline, note.document.bom)


@settings(max_examples=60, deadline=None)
@given(FRONTS, st.booleans(), ANY_TEXT, st.lists(WORDS, max_size=3))
def test_new_tags_leave_the_body_and_the_other_keys_as_bytes(
    front: str, has_front: bool, body: str, tags: list[str]
) -> None:
    assume("---" not in body and parse_frontmatter(front).problem is None)
    data = ((f"---\n{front}---\n" if has_front else "") + body).encode()
    note = _read("x.md", data)
    changed = changed_note(note, WriteRequest("b", tags=tuple(dict.fromkeys(tags))), "id-1", NOW)
    if changed is None:
        return
    assert changed.encode().endswith(note.document.body.replace("\n", note.document.newline).encode())
    kept = {name: value for name, value in note.fields.items() if name not in ("tags", "contributors", "updated_at")}
    after = _read("x.md", changed.encode())
    assert {name: after.fields[name] for name in kept} == kept
    assert after.content == note.content


def test_json_ready_leaves_nothing_that_json_cannot_say() -> None:
    found = json_ready({1: float("nan"), None: [float("inf"), 2**70]})
    assert found == {"1": "nan", "None": ["inf", str(2**70)]}
