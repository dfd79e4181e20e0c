"""Texts of nodes by id, and who sees a node: thoughts of the chain `history`, findings of the board, code."""

from __future__ import annotations

from collections.abc import Sequence

from lithos.board import Board
from lithos.core.call import Call
from lithos.errors import NotFound
from lithos.graph.code import Code, entry_by_id
from lithos.graph.trust.firewall import NodeText
from lithos.ledger import Ledger
from lithos.sessions import ALL, HISTORY, Sessions, Viewer

FINDING = "finding:"


class NodeTexts:
    def __init__(self, code: Code, ledger: Ledger, sessions: Sessions, board: Board) -> None:
        self._code = code
        self._ledger = ledger
        self._sessions = sessions
        self._board = board

    def texts(self, ids: Sequence[str]) -> list[NodeText]:
        """Those that exist; for checking, not for showing."""
        found = []
        for id in ids:
            text = self._finding(id) if id.startswith(FINDING) else self._thought(id, ALL)
            if text is not None:
                found.append(NodeText(id, "history", text))
        return found

    def sees(self, call: Call, id: str) -> bool:
        if id.startswith(FINDING):
            return self._finding(id) is not None
        if ":" in id:
            roots = self._code.visible(call)
            return entry_by_id(roots, id) is not None
        return self._thought(id, self._sessions.viewer(call)) is not None

    def _thought(self, id: str, viewer: Viewer) -> str | None:
        try:
            found = self._ledger.thought(HISTORY, thought_id=id, viewer=viewer)["thought"]
        except NotFound:
            return None
        return None if found is None or "forgotten" in found else found["content"]

    def _finding(self, id: str) -> str | None:
        rows = self._board.texts()
        return next((row.text for row in rows if row.kind == "finding" and row.id == id.removeprefix(FINDING)), None)
