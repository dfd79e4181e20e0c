"""Notes as nodes: outside sources, which have a `kind`, and the notes of the team."""

from __future__ import annotations

from typing import Any

import orjson

from lithos.core.call import Call
from lithos.core.clock import from_micros, rfc3339
from lithos.graph.knowledge.nodes import UUID_LENGTH, NodeShown
from lithos.notes import Notes
from lithos.storage import Row


class SourceNodes:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def get(self, call: Call, id: str) -> NodeShown | None:
        row = self.row(id)
        return None if row is None else source_shown(row)

    def exists(self, id: str) -> bool:
        return self.row(id) is not None

    def row(self, id: str) -> Row | None:
        found = self._notes.reader.sources("id", id) if len(id) == UUID_LENGTH else []
        return found[0] if found else None


class NoteNodes:
    """Notes of the team as nodes of history: those that are no outside source."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def get(self, call: Call, id: str) -> NodeShown | None:
        note = self._notes.reader.standing([id]).get(id) if len(id) == UUID_LENGTH else None
        if note is None or note.is_source:
            return None
        return {
            "id": note.id,
            "domain": "history",
            "type": "entry",
            "title": note.title,
            "path": note.path,
            "timestamp": rfc3339(from_micros(note.updated)),
        }

    def exists(self, id: str) -> bool:
        return len(id) == UUID_LENGTH and self._notes.reader.exists(id)


def source_shown(row: Row) -> NodeShown:
    shown: NodeShown = {
        "id": row["id"],
        "domain": "academic",
        "type": row["kind"],
        "title": row["title"],
        "path": row["path"],
    }
    if row["url"]:
        shown["url"] = row["url"]
    return shown


def source_facts(row: Row) -> dict[str, Any]:
    """Who wrote it, when and where, as far as the note says."""
    facts: dict[str, Any] = {"kind": row["kind"], "status": row["effective_status"]}
    if row["authors"]:
        facts["authors"] = orjson.loads(row["authors"])
    if row["published"] is not None:
        facts["published_at"] = rfc3339(from_micros(row["published"]))[:10]
    for name in ("venue", "library", "url", "superseded_by"):
        if row[name]:
            facts[name] = row[name]
    return facts
