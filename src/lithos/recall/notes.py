"""The notes' contribution to recall and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lithos.errors import NotFound
from lithos.graph.sources import KINDS
from lithos.notes import Notes, NoteSearch, cited
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Hit


class NoteKind:
    """Notes are shared: every caller sees all of them."""

    name = "note"

    def __init__(self, notes: Notes, search: NoteSearch) -> None:
        self._notes = notes
        self._search = search

    def begin(self, question: Question) -> FinishKind:
        begun = self._search.begin(question.query, question.scope)

        def finish(least: float = 0.0) -> KindHits:
            found, scope = begun()

            def render(hit: Hit) -> dict[str, Any]:
                source = {"kind": "source"} if set(hit.keywords.get("kind", ())) & set(KINDS) else {}
                return {**cited(hit), "passage": hit.passage, "score": hit.score, **source, **scope.remarks(hit)}

            return KindHits(found, render)

        return finish

    def linked(self, question: Question, hit: Hit, most: int) -> list[Hit]:
        try:
            links = self._notes.reader.links(hit.id, limit=most)
        except NotFound:  # deleted since
            return []
        within = question.query.where.path_prefix or ""
        paths = [each["path"] for each in (*links["outgoing"], *links["incoming"]) if each["path"].startswith(within)]
        found: list[Hit] = []
        for path in paths[:most]:
            where = replace(question.query.where, path_prefix=path)
            hits = self._search.find(replace(question.query, where=where, limit=1, explain=False), question.scope)[
                0
            ].hits
            found += [each for each in hits if each.path == path]
        return found

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        """Notes by any hand, those that were deleted included."""
        found = self._notes.changes.since(
            query.since, query.until, path_prefix=query.path_prefix, agent=query.agent, limit=query.limit
        )
        return [Changed(self.name, each.id, each.at, each.what, each.title, each.path, each.agent) for each in found]
