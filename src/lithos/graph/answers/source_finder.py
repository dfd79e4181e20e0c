"""Evidence from outside sources: the best passage of each, verified where the original was read."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from lithos.core.call import Call
from lithos.core.clock import parse_time
from lithos.graph.answers.code_finder import Found
from lithos.graph.answers.intents import Intent
from lithos.graph.answers.pieces import Piece
from lithos.graph.knowledge import SourceNodes
from lithos.graph.sources import SourceRow, Sources

SHOWN_CHARACTERS = 700


class SourceFinder:
    domain = "academic"

    def __init__(self, sources: Sources, nodes: SourceNodes) -> None:
        self._sources = sources
        self._nodes = nodes

    def find(self, call: Call, intent: Intent, query: str, limit: int) -> Found:
        subject = intent.subject.replace("_", " ")
        rows, behind = self._sources.find(subject or query, limit)
        pieces = [self._piece(row) for row in rows]
        probe = partial(self._state, subject or query, limit)
        return Found(tuple(pieces), ((probe, tuple((piece.id, piece.version) for piece in pieces)),), behind)

    def _state(self, text: str, limit: int) -> Hashable:
        """The sources that this search finds now: a new or changed one on the subject is among them."""
        rows, _ = self._sources.find(text, limit)
        return tuple((row["id"], self._version(row["id"])) for row in rows)

    def _version(self, id: str) -> str:
        row = self._nodes.row(id)
        return "" if row is None else str(row["content_hash"] or row["path"])

    def _piece(self, row: SourceRow) -> Piece:
        note = self._nodes.row(row["id"])
        read = note is not None and bool(note["content_hash"])
        published = row.get("published_at")
        passage = row["passage"].strip()
        return Piece(
            row["id"],
            "academic",
            row["kind"],
            row["title"],
            passage[:SHOWN_CHARACTERS],
            min(1.0, max(0.0, row["score"])),
            url=row.get("url", ""),
            time=parse_time(published) if published else None,
            version=self._version(row["id"]),
            verified=read,
            superseded_by=row.get("superseded_by", ""),
            whole=passage,
        )
