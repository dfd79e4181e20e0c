"""Follows what agents write through any tool: thoughts of the chain `history`, findings and notes are checked."""

from __future__ import annotations

from collections.abc import Sequence

from lithos.board import Board
from lithos.errors import NotFound
from lithos.graph.knowledge import KnowledgeStore
from lithos.graph.trust.claims.extraction import claims_in
from lithos.graph.trust.firewall import Firewall, NodeText
from lithos.graph.trust.node_texts import FINDING, NodeTexts
from lithos.ledger import Ledger
from lithos.notes import Notes
from lithos.sessions import ALL, HISTORY

BATCH = 200
MOST = 2_000  # in one run
CHECKED_NOTES = "checked notes"  # owner of the versions that were checked, in the derived store


class WrittenFollower:
    """A verdict that is there is not made again: after a start this only looks."""

    def __init__(
        self, ledger: Ledger, board: Board, notes: Notes, texts: NodeTexts, store: KnowledgeStore, firewall: Firewall
    ) -> None:
        self._ledger = ledger
        self._board = board
        self._notes = notes
        self._texts = texts
        self._store = store
        self._firewall = firewall
        self._done = 0
        self._cursor: int | None = None
        self._notes_changed = True
        notes.index.changed.add(self._wake)

    def _wake(self) -> None:
        self._notes_changed = True

    def follow(self) -> list[str]:
        """The ids of those that claim something."""
        found = [*self._follow_thoughts(), *self._follow_board()]
        return [*found, *self._follow_notes()] if self._notes_changed else found

    def _checked(self, nodes: Sequence[NodeText]) -> list[str]:
        rows = self._firewall.checked(nodes)
        return [node.id for node in nodes if rows[node.id].claims]

    def _follow_notes(self) -> list[str]:
        """Notes whose version is new. Only those that claim something get a row: most say nothing of code."""
        self._notes_changed = False  # before the look: what changes meanwhile is looked at again
        now, before = self._notes.reader.versions(), self._store.projected(CHECKED_NOTES)
        changed = [id for id, version in now.items() if before.get(id) != version]
        gone = [id for id in before if id not in now]
        if gone:
            self._firewall.rows.forget(gone)
            self._store.project(CHECKED_NOTES, [], {}, gone)
        found: list[str] = []
        for start in range(0, min(len(changed), MOST), BATCH):
            part = changed[start : start + BATCH]
            texts = self._texts.texts(part)
            claiming = [each for each in texts if claims_in(each.text)]
            found += self._checked(claiming)
            silent = set(part) - {each.id for each in claiming}
            if known := [*self._firewall.rows.get([*silent])]:
                self._firewall.rows.forget(known)
            self._store.project(CHECKED_NOTES, [], {id: now[id] for id in part}, [])
        self._notes_changed = self._notes_changed or len(changed) > MOST
        return found

    def _follow_thoughts(self) -> list[str]:
        try:
            size = self._ledger.chain(HISTORY).size
        except NotFound:
            return []
        found: list[str] = []
        end = min(size, self._done + MOST)
        while self._done < end:
            upto = min(end, self._done + BATCH)
            thoughts = self._ledger.between(HISTORY, self._done, upto, ALL)
            texts = [NodeText(each["id"], "history", each["content"]) for each in thoughts if "forgotten" not in each]
            found += self._checked(texts)
            self._done = upto
        return found

    def _follow_board(self) -> list[str]:
        found: list[str] = []
        seen = self._board.changes(self._cursor)
        tasks = None
        if self._cursor is not None and "missed" not in seen:
            tasks = {each["task_id"] for each in seen["changes"]}
        if tasks is None or tasks:
            rows = [row for row in self._board.texts(tasks) if row.kind == "finding"]
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                found += self._checked([NodeText(f"{FINDING}{row.id}", "history", row.text) for row in part])
        self._cursor = seen["cursor"]
        return found
