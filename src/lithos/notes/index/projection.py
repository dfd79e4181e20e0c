"""A note as the document that search indexes."""

from __future__ import annotations

from lithos.core.canonical import sha256_hex
from lithos.notes.fields import COLUMNS
from lithos.notes.format.note import Note
from lithos.notes.lifecycle.effective_status import ends
from lithos.search import Document


def search_document(note: Note, note_id: str, updated: int, effective_status: str) -> Document:
    """`updated` in microseconds, as the catalogue has it; a note that names no time of its making was always there."""
    filtered = [field for field in COLUMNS if field.filtered]
    times = {field.column: max(0, note.moment(field.name) or 0) / 1e6 for field in filtered if field.type == "time"}
    numbers = {**times, "updated": updated / 1e6, "ends": ends(note, updated) / 1e6}
    words = {field.column: note.text(field.name) for field in filtered if field.type == "text"}
    keywords = {"status": (effective_status,), **{name: (word,) for name, word in words.items() if word}}
    return Document(
        id=note_id,
        title=note.title,
        text=note.search_text,
        hash=search_hash(note.path, note.version, updated),
        version=note.version,
        path=note.path,
        author=note.text("author") or "",
        names=(*note.other_names, *filter(None, [note.text("provenance")])),
        tags=tuple(note.tags),
        keywords=keywords,
        numbers=numbers,
    )


def search_hash(path: str, version: str, updated: int) -> str:
    """Of everything that a document is made from: the bytes, their path, and when they were last changed."""
    return sha256_hex(f"{version} {updated} {path}".encode())[:32]
