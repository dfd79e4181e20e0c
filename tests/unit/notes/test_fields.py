"""One table declares each frontmatter field; everything else follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.core.clock import FakeClock
from lithos.errors import InvalidInput
from lithos.notes import NOTE_KEYWORDS, NOTE_NUMBERS
from lithos.notes.fields import BY_NAME, COLUMNS, FIELDS, NoteField, checked_fields, in_order, problem_of
from lithos.notes.format.document import Unreadable
from lithos.notes.format.note import read_note
from lithos.notes.index.catalogue import open_catalogue
from lithos.notes.index.projection import search_document

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_each_field_is_documented(field: NoteField) -> None:
    pages = (DOCS / "notes.md").read_text() + (DOCS / "lifecycle.md").read_text()
    assert f"`{field.name}`" in pages


def test_the_catalogue_has_the_columns_of_the_table(tmp_path: Path) -> None:
    catalogue = open_catalogue(tmp_path, FakeClock())
    rows = catalogue.read(lambda tx: tx.all("SELECT name, type FROM pragma_table_info('notes')"))
    catalogue.close()
    types = {"text": "TEXT", "texts": "TEXT", "time": "INTEGER", "number": "REAL"}
    assert {(field.column, types[field.type]) for field in COLUMNS} <= {(row["name"], row["type"]) for row in rows}


def test_a_document_carries_every_field_that_search_filters_by() -> None:
    note = read_note("a.md", b"---\nclaim_id: c\nkind: rfc\ncreated_at: 2026-01-01\n---\ntext")
    assert not isinstance(note, Unreadable)
    document = search_document(note, "id", 1_000_000, "active")
    assert document.keywords == {"status": ("active",), "claim_id": ("c",), "kind": ("rfc",)}
    assert document.numbers["created"] == 1_767_225_600.0
    assert (set(document.keywords), set(document.numbers)) == (set(NOTE_KEYWORDS), set(NOTE_NUMBERS))


def test_none_leaves_a_field_alone_and_an_empty_value_removes_it() -> None:
    assert checked_fields({"claim_id": None, "merge_key": "", "derived_from": [], "confidence": 0.0}) == {
        "merge_key": None,
        "derived_from": None,
        "confidence": 0.0,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("status", "done"), ("ttl_policy", "soon"), ("expires_at", "never"), ("claim_id", " "), ("merge_key", "a\nb")],
)
def test_a_refusal_names_the_field(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        checked_fields({name: value})


@pytest.mark.parametrize(
    ("name", "value", "counts_as"),
    [
        ("status", "done", "counts as active"),
        ("ttl_policy", "soon", "counts as persistent"),
        ("expires_at", "never", "never expires"),
        ("provenance", "somewhere", "names no source"),
    ],
)
def test_a_wrong_value_that_a_person_typed_says_what_it_counts_as(name: str, value: str, counts_as: str) -> None:
    assert counts_as in (problem_of(BY_NAME[name], value) or "")
    assert problem_of(BY_NAME[name], None) is None


def test_known_fields_come_in_the_order_of_the_table_and_others_last() -> None:
    assert list(in_order({"mine": 1, "tags": [], "id": "x", "title": "t"})) == ["id", "title", "tags", "mine"]
