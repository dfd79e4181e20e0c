"""The code graph's contribution to recall: symbols, where a question is about code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lithos.graph.code import Code, OpenRoot, entries_by_id, scope
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Hit, SearchResult

# Without this, every question would compete with 100,000 symbols for the places of the notes that answer it.
_ABOUT_CODE = re.compile(
    r"\b(?:code|function|functions|method|methods|class|classes|struct|interface|module|package|import|imports|caller|"
    r"callers|calls|called|implement|implements|implemented|implementation|defined|definition|symbol|refactor|repository|"
    r"source file|variable|constant|middleware|handler)\b"
    r"|\b\w+\(\)|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+(?:\.|::)\w+\b|\b[\w/]+\.(?:py|go|ts|tsx|js|rs|java|c|cpp|rb)\b"
)


class CodeKind:
    """A hit is a symbol's card; who may not see its root does not see it."""

    name = "code"

    def __init__(self, code: Code) -> None:
        self._code = code

    def begin(self, question: Question) -> FinishKind:
        roots = self._code.visible(question.call)
        asked = question.query
        if not roots or not asked.where.is_open or not _ABOUT_CODE.search(asked.text):
            return lambda least=0.0: KindHits(SearchResult((), False), lambda hit: {})
        where = scope(self._code, roots, "any", None)
        begun = self._code.projector.begin(replace(asked, by="both", where=where or asked.where))
        return lambda least=0.0: self._finished(roots, begun(least))

    def _finished(self, roots: Sequence[OpenRoot], found: SearchResult) -> KindHits:
        reasons = "; ".join(filter(None, [found.degraded, *(root.behind() for root in roots)]))
        symbols = entries_by_id(roots, [hit.id for hit in found.hits] if found.relevant else [])
        hits = tuple(hit for hit in found.hits if hit.id in symbols)

        def render(hit: Hit) -> dict[str, Any]:
            symbol = symbols.get(hit.id, {})
            return {
                "id": hit.id,
                "title": hit.title,
                "path": symbol.get("path", ""),
                "heading": f"{symbol.get('type', '')} lines {symbol.get('start_line', 0)}-{symbol.get('end_line', 0)}",
                "author": "",
                "version": symbol.get("version", ""),
                "passage": hit.passage,
                "score": hit.score,
                "kind": self.name,
            }

        return KindHits(replace(found, hits=hits, degraded=reasons), render)

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        """None: what changed in a repository, git tells better."""
        return []
