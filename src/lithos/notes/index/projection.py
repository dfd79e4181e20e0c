"""A note as the document that search indexes."""

from __future__ import annotations

import orjson

from lithos.core.canonical import sha256_hex
from lithos.notes.fields import BY_NAME, COLUMNS
from lithos.notes.format.naming import folder_of
from lithos.notes.format.note import Note
from lithos.notes.index.link_names import NOT_CALLED
from lithos.notes.lifecycle.effective_status import ends
from lithos.search import Document, place_in

TOGETHER = 3600.0  # seconds between short notes of one folder that were written one after the other

# Fields of Lithos whose text says what a note is about; the others are names, filters or ids.
_NOT_DESCRIBING = BY_NAME.keys() - {"url", "authors", "venue", "library", "modules"}


def search_document(
    note: Note, note_id: str, updated: int, effective_status: str, called: str = NOT_CALLED
) -> Document:
    """`updated` in microseconds and `called`, as the catalogue has them; a note that names no time of its making was
    always there."""
    filtered = [field for field in COLUMNS if field.filtered]
    times = {field.column: max(0, note.moment(field.name) or 0) / 1e6 for field in filtered if field.type == "time"}
    numbers = {**times, "updated": updated / 1e6, "ends": ends(note, updated) / 1e6}
    words = {field.column: note.text(field.name) for field in filtered if field.type == "text"}
    keywords = {"status": (effective_status,), **{name: (word,) for name, word in words.items() if word}}
    return Document(
        id=note_id,
        title=note.title,
        text=note.search_text,
        body=note.described(_NOT_DESCRIBING),
        hash=search_hash(note.path, note.version, updated, called),
        version=note.version,
        path=note.path,
        author=note.text("author") or "",
        names=tuple(dict.fromkeys([*note.other_names, *note.origins, *orjson.loads(called)])),
        tags=tuple(note.tags),
        keywords=keywords,
        numbers=numbers,
        sequence=place_in(folder_of(note.path), times["created"] or updated / 1e6, TOGETHER, note.search_text),
    )


def search_hash(path: str, version: str, updated: int, called: str) -> str:
    """Of everything that a document is made from: the bytes, their path, when they were last changed, and what links
    to the note call it."""
    return sha256_hex(f"2 {version} {updated} {path} {called}".encode())[:32]
