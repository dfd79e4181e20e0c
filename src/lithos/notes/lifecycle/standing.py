"""Standing: the facts of a note that decide how far it is to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lithos.notes.fields import SOURCE_KINDS
from lithos.notes.index import queries
from lithos.notes.lifecycle.lineage import trust_of
from lithos.storage import Row, Tx


@dataclass(frozen=True, slots=True)
class NoteStanding:
    """`trust`: its own confidence, and no more than that of anything it came from."""

    id: str
    title: str
    path: str
    version: str
    updated: int  # microseconds
    is_source: bool  # of outside knowledge: it has a `kind`
    was_read: bool  # the original of the source was read
    status: str
    ends: int  # microseconds: until when it is current
    superseded_by: str
    url: str
    trust: float


def standing(tx: Tx, note_ids: Sequence[str]) -> dict[str, NoteStanding]:
    """Of those that exist."""
    rows = [row for each in dict.fromkeys(note_ids) if (row := queries.note_by_id(tx, each)) is not None]
    return {row["id"]: _standing(tx, row) for row in rows}


def versions(tx: Tx) -> dict[str, str]:
    """Id → version of every note."""
    return {row["id"]: row["version"] for row in tx.all("SELECT id, version FROM notes")}


def _standing(tx: Tx, row: Row) -> NoteStanding:
    return NoteStanding(
        row["id"],
        row["title"],
        row["path"],
        row["version"],
        row["updated"],
        row["kind"] in SOURCE_KINDS,
        bool(row["content_hash"]),
        row["effective_status"],
        row["ends"],
        row["superseded_by"] or "",
        row["url"] or "",
        trust_of(tx, row["id"]),
    )
