"""Texts of nodes by id: thoughts of the chain `history`, findings of the board, commits, notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lithos.board import Board
from lithos.core.clock import parse_time
from lithos.errors import LithosError, NotFound
from lithos.graph.history import HistoryRow, whole_text
from lithos.graph.trust.claims.extraction import LONGEST_TEXT
from lithos.graph.trust.claims.verify import Evidence
from lithos.graph.trust.firewall import NodeText
from lithos.ledger import Ledger, Thought
from lithos.notes import Notes
from lithos.sessions import ALL, HISTORY

MOST_READ = LONGEST_TEXT + 1  # characters of a note; claims are read from all but the last, which says that it is long
FINDING, COMMIT = "finding:", "commit:"


class NodeTexts:
    """`commit`: the commit of this id."""

    def __init__(self, ledger: Ledger, board: Board, notes: Notes, commit: Callable[[str], HistoryRow | None]) -> None:
        self._ledger = ledger
        self._board = board
        self._notes = notes
        self._commit = commit

    def texts(self, ids: Sequence[str]) -> list[NodeText]:
        """Those that exist; for checking, not for showing."""
        return [node for id in ids if (node := self.text(id)) is not None]

    def text(self, id: str) -> NodeText | None:
        if id.startswith(FINDING):
            row = self._board.finding_text(id.removeprefix(FINDING))
            return None if row is None else NodeText(id, "history", row.text)
        if id.startswith(COMMIT):
            commit = self._commit(id)
            return None if commit is None else NodeText(id, "history", whole_text(commit), Evidence(commit=True))
        if ":" in id:
            return None
        return self._thought(id) or self._note(id)

    def written(self, id: str) -> float:
        """When it was written, in seconds; 0 if it is gone."""
        if id.startswith(FINDING):
            row = self._board.finding_text(id.removeprefix(FINDING))
            return 0.0 if row is None else row.at / 1e6
        if id.startswith(COMMIT):
            commit = self._commit(id)
            return 0.0 if commit is None else parse_time(commit["timestamp"]).timestamp()
        if (thought := self._entry(id)) is not None:
            return parse_time(thought["timestamp"]).timestamp()
        note = self._notes.reader.standing([id]).get(id)
        return 0.0 if note is None else note.updated / 1e6

    def _thought(self, id: str) -> NodeText | None:
        found = self._entry(id)
        return None if found is None else NodeText(id, "history", found["content"])

    def _entry(self, id: str) -> Thought | None:
        try:
            found = self._ledger.thought(HISTORY, thought_id=id, viewer=ALL)["thought"]
        except NotFound:
            return None
        return None if found is None or "forgotten" in found else found

    def _note(self, id: str) -> NodeText | None:
        note = self._notes.reader.standing([id]).get(id)
        if note is None:
            return None
        if note.is_source:  # it describes other code
            return NodeText(id, "academic", "", Evidence(source=note.was_read), url=note.url, version=note.version)
        try:
            text = self._notes.reader.content(id)
        except LithosError:  # it went while we looked
            return None
        return NodeText(id, "history", f"{note.title}\n\n{text}"[:MOST_READ], version=note.version)
