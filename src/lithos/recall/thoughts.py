"""The ledger's contribution to recall: thoughts of every chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from lithos.core.call import Call
from lithos.ledger import Ledger
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Hit, Where
from lithos.sessions import Viewer


class ThoughtKind:
    name = "thought"

    def __init__(self, ledger: Ledger, viewer: Callable[[Call], Viewer]) -> None:
        self._ledger = ledger
        self._viewer = viewer

    def begin(self, question: Question) -> FinishKind:
        where = question.query.where
        tags = {"tag": tuple(tag.casefold() for tag in where.tags)} if where.tags else {}
        agent = {"agent": (where.author,)} if where.author else {}
        viewer = self._viewer(question.call)
        asked = replace(question.query, where=Where(any_of={**tags, **agent}))
        begun = self._ledger.begin_recall(asked, viewer)

        def finish(least: float = 0.0) -> KindHits:
            found, places = begun(least)
            # All at once, when the first is shown: each look opens the segment.
            entries = cache(lambda: self._ledger.recalled(places.values(), viewer))

            def render(hit: Hit) -> dict[str, Any]:
                chain, index = places[hit.id]
                entry = entries().get((chain, index))
                title = f"{entry.record['thought_type']} #{index}" if entry else f"#{index}"
                row = {"id": entry.record["id"] if entry else "", "title": title}
                row |= {"heading": "", "path": "", "version": ""}
                passage = (entry.body or {}).get("content", "") if entry else ""
                return {**row, "author": hit.author, "passage": passage, "score": hit.score, "chain_key": chain}

            return KindHits(found, render)

        return finish

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        return ()  # `Changes` asks the ledger itself, with its cursor
