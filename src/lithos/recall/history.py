"""Commits and outside sources in recall. Thoughts, tasks and findings, which are history too, are kinds themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lithos.graph.code import Code
from lithos.graph.knowledge import Knowledge
from lithos.graph.sources import KINDS
from lithos.notes import NoteSearch, cited
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Hit, SearchResult, Where

# Without this, every question would pay for a search of thousands of commits.
_ABOUT_HISTORY = re.compile(
    r"\b(?:why|when|history|commits?|chang(?:e|es|ed)|fix(?:e[sd])?|bugs?|regressions?|decided|chose|before|earlier|"
    r"introduced|reverts?|reverted|removed|renamed|broke|broken|issues?|last (?:week|month|year))\b",
    re.IGNORECASE,
)
NOTE = "note"  # asked too: the question names no kind
_NOTHING = KindHits(SearchResult((), False), lambda hit: {})


class CommitKind:
    """A hit is a commit of a root that the caller sees."""

    name = "history"

    def __init__(self, graph: Knowledge, code: Code) -> None:
        self._graph = graph
        self._code = code

    def begin(self, question: Question) -> FinishKind:
        asked = question.query
        named = NOTE not in question.kinds
        roots = tuple(root.spec.name for root in self._code.visible(question.call))
        if not roots or not asked.where.is_open or not (named or _ABOUT_HISTORY.search(asked.text)):
            return lambda least=0.0: _NOTHING
        behind = self._graph.catch_up(0.05, alone=0.05)
        entries = self._graph.commits.entries
        begun = entries.projector.begin(replace(asked, by="both", where=Where(any_of={"root": roots})))

        def finish(least: float = 0.0) -> KindHits:
            found = begun(least)
            hits = tuple(hit for hit in found.hits if found.relevant and entries.row(hit.id) is not None)
            degraded = "; ".join(filter(None, [behind, found.degraded]))
            return KindHits(replace(found, hits=hits, degraded=degraded), self._shown)

        return finish

    def _shown(self, hit: Hit) -> dict[str, Any]:
        row = self._graph.commits.entries.row(hit.id)
        row_facts = {} if row is None else {"timestamp": row["timestamp"], "summary_type": row["summary_type"]}
        fixed = {"id": hit.id, "title": hit.title, "heading": "", "path": "", "author": hit.author, "version": ""}
        return {**fixed, "passage": hit.passage, "score": hit.score, **row_facts}

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        return ()  # git shows them better


class SourceKind:
    """Notes of outside sources, where they are asked for by name; else they come with the notes, marked as sources."""

    name = "source"

    def __init__(self, search: NoteSearch) -> None:
        self._search = search

    def begin(self, question: Question) -> FinishKind:
        if NOTE in question.kinds:
            return lambda least=0.0: _NOTHING
        where = question.query.where
        own = replace(where, any_of={**where.any_of, "kind": KINDS})
        begun = self._search.begin(replace(question.query, where=own), question.scope)

        def finish(least: float = 0.0) -> KindHits:
            found, scope = begun()
            return KindHits(
                found, lambda hit: {**cited(hit), "passage": hit.passage, "score": hit.score, **scope.remarks(hit)}
            )

        return finish

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        return ()  # they are notes
