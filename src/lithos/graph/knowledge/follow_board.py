"""Follows the board: a completed task is a workflow that resulted in an outcome; findings name sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lithos.board import Board, BoardText
from lithos.graph.knowledge.edges import Edge
from lithos.graph.knowledge.mentions import named
from lithos.graph.knowledge.store import Derived, KnowledgeStore, Mention
from lithos.graph.model import EDGE_RULES, KnowledgeEdge

MARK = "board"  # cursor of the board's journal


class BoardFollower:
    name = "the board"

    def __init__(self, store: KnowledgeStore, board: Board) -> None:
        self._store = store
        self._board = board
        self._cursor: int | None = None
        self._restarts = -1

    def follow(self, until: float) -> bool:
        if self._store.restarts != self._restarts:
            self._restarts = self._store.restarts
            mark = self._store.mark(MARK)
            self._cursor = int(mark) if mark else None
        if self._cursor is None:
            return self._take_all()
        tasks: set[str] = set()
        before = self._cursor
        while "missed" not in (seen := self._board.changes(self._cursor)):
            self._cursor = seen["cursor"]
            tasks |= {each["task_id"] for each in seen["changes"]}
            if not seen["changes"]:
                if tasks or self._cursor != before:
                    self._store.replace(derived(self._board.texts(tasks)), [(MARK, str(self._cursor))])
                return True
        return self._take_all()

    def _take_all(self) -> bool:
        self._cursor = self._board.changes()["cursor"]
        self._store.replace(derived(self._board.texts()), [(MARK, str(self._cursor))])
        return True


def derived(texts: Sequence[BoardText]) -> Iterator[Derived]:
    for each in texts:
        node = f"{each.kind}:{each.id}"
        edges: list[Edge] = []
        if each.kind == "task" and each.status == "completed":
            node = f"outcome:{each.id}"
            edges.append(Edge(f"task:{each.id}", node, KnowledgeEdge.RESULTED_IN, 1.0, "the task was completed"))
        kind = KnowledgeEdge.REFERENCES
        mentions = [
            Mention(node, kind, found.key, EDGE_RULES[kind].weight, f"its text names {found.key}")
            for found in named(each.text)
        ]
        yield Derived(f"b:{each.kind}:{each.id}", edges, mentions)
