"""Follows what agents write through any tool: thoughts of the chain `history` and findings are checked once each."""

from __future__ import annotations

from lithos.board import Board
from lithos.errors import NotFound
from lithos.graph.trust.firewall import Firewall, NodeText
from lithos.graph.trust.node_texts import FINDING
from lithos.ledger import Ledger
from lithos.sessions import ALL, HISTORY

BATCH = 200
MOST = 2_000  # in one run


class WrittenFollower:
    """A verdict that is there is not made again: after a start this only looks."""

    def __init__(self, ledger: Ledger, board: Board, firewall: Firewall) -> None:
        self._ledger = ledger
        self._board = board
        self._firewall = firewall
        self._done = 0
        self._cursor: int | None = None

    def follow(self) -> None:
        self._follow_thoughts()
        self._follow_board()

    def _follow_thoughts(self) -> None:
        try:
            size = self._ledger.chain(HISTORY).size
        except NotFound:
            return
        end = min(size, self._done + MOST)
        while self._done < end:
            upto = min(end, self._done + BATCH)
            thoughts = self._ledger.between(HISTORY, self._done, upto, ALL)
            texts = [NodeText(each["id"], "history", each["content"]) for each in thoughts if "forgotten" not in each]
            self._firewall.checked(texts)
            self._done = upto

    def _follow_board(self) -> None:
        seen = self._board.changes(self._cursor)
        tasks = None
        if self._cursor is not None and "missed" not in seen:
            tasks = {each["task_id"] for each in seen["changes"]}
        if tasks is None or tasks:
            rows = [row for row in self._board.texts(tasks) if row.kind == "finding"]
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                self._firewall.checked([NodeText(f"{FINDING}{row.id}", "history", row.text) for row in part])
        self._cursor = seen["cursor"]
