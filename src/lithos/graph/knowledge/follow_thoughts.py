"""Follows the chain `history`: derives the edges of each new thought, drops those of a forgotten one."""

from __future__ import annotations

import time

from lithos.errors import NotFound
from lithos.graph.knowledge.store import KnowledgeStore
from lithos.graph.knowledge.thoughts import ThoughtEdges
from lithos.ledger import Ledger
from lithos.sessions import ALL, HISTORY

BATCH = 500
MARK = "thoughts"  # one past the newest thought whose edges are stored


class ThoughtFollower:
    name = "thoughts"

    def __init__(self, store: KnowledgeStore, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self._edges = ThoughtEdges()
        self._noted = 0
        self._restarts = store.restarts
        self._done: int | None = None

    def follow(self, until: float) -> bool:
        if self._store.restarts != self._restarts:  # damage made the store start empty
            self._restarts, self._done = self._store.restarts, None
            self._edges, self._noted = ThoughtEdges(), 0
        try:
            size = self._ledger.chain(HISTORY).size
        except NotFound:
            return True
        if self._done is None:
            self._done = int(self._store.mark(MARK) or 0)
        while self._done < size and time.monotonic() < until:
            self._note_to(self._done)
            end = min(size, self._done + BATCH)
            thoughts = self._ledger.between(HISTORY, self._done, end, ALL)
            self._store.replace([self._edges.derive(each) for each in thoughts], [(MARK, str(end))])
            self._done = self._noted = end
        return self._done >= size

    def _note_to(self, end: int) -> None:
        """After a start: what the edges of later thoughts depend on is read again."""
        while self._noted < end:
            upto = min(end, self._noted + BATCH)
            for each in self._ledger.between(HISTORY, self._noted, upto, ALL):
                self._edges.note(each)
            self._noted = upto
