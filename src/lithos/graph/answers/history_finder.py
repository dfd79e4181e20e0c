"""Evidence from history: entries, outcomes and commits, within the time that the question names."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import partial

from lithos.board import Board
from lithos.core.call import Call
from lithos.core.clock import parse_time
from lithos.errors import NotFound
from lithos.graph.answers.code_finder import CodeFinder, Found
from lithos.graph.answers.intents import HISTORICAL, Intent
from lithos.graph.answers.pieces import Piece
from lithos.graph.history import History, HistoryQuestion, HistoryRow
from lithos.graph.knowledge import Knowledge, history_for_code
from lithos.ledger import Ledger
from lithos.sessions import ALL, HISTORY

SHOWN_CHARACTERS = 300
MANY_NEW = 200


class HistoryFinder:
    domain = "history"

    def __init__(self, history: History, graph: Knowledge, code: CodeFinder, ledger: Ledger, board: Board) -> None:
        self._history = history
        self._graph = graph
        self._code = code
        self._ledger = ledger
        self._board = board

    def find(self, call: Call, intent: Intent, query: str, limit: int) -> Found:
        scope = intent.time
        since, until = (scope.start, scope.end) if scope else (None, None)
        behind = self._graph.catch_up()  # before the state is looked at: it is part of the answer
        probe = self._probe(intent)
        state = probe()
        page = self._history.search(call, HistoryQuestion(query, limit, since=since, until=until))
        words = _words(f"{query} {intent.subject.replace('_', ' ')}")
        pieces = {row["id"]: piece_of(row, words) for row in page["results"]}
        for row in self._of_symbol(call, intent, query, limit):
            if scope is None or scope.start <= parse_time(row["timestamp"]) < scope.end:
                pieces[row["id"]] = piece_of(row, words, linked=True)
        reason = "; ".join(filter(None, (behind, page.get("degraded_reason", ""))))
        return Found(tuple(pieces.values()), ((probe, state),), reason)

    def _of_symbol(self, call: Call, intent: Intent, query: str, limit: int) -> list[HistoryRow]:
        """Entries and commits that the graph joins to the code which the question names."""
        found: dict[str, HistoryRow] = {}
        for node in self._code.known(call, query, intent.subject)[:3]:
            for row in history_for_code(self._graph, call, node.id, limit)["results"]:
                found[row["id"]] = row
        return list(found.values())[:limit]

    def _probe(self, intent: Intent) -> Callable[[], Hashable]:
        """HISTORICAL: until something on the subject is stored; the others: until anything is."""
        if intent.intent != HISTORICAL:
            return self._now
        subject = [part for part in intent.subject.split("_") if len(part) > 2]
        return partial(self._about, subject, self._size())

    def _size(self) -> int:
        try:
            return self._ledger.chain(HISTORY).size
        except NotFound:
            return 0

    def _now(self) -> Hashable:
        sql = "SELECT root, sha FROM commits WHERE place = 0 ORDER BY root"
        commits = self._graph.store.read(lambda tx: tuple((row["root"], row["sha"]) for row in tx.all(sql)))
        return self._size(), self._board.changes()["cursor"], commits

    def _about(self, subject: list[str], since: int) -> Hashable:
        size = self._size()
        if size == since:
            return 0
        if size - since > MANY_NEW:
            return size
        thoughts = self._ledger.between(HISTORY, since, size, ALL)
        return sum(any(part in each["content"].lower() for part in subject) for each in thoughts)


def piece_of(row: HistoryRow, words: frozenset[str], *, linked: bool = False) -> Piece:
    content = row["content"].strip()
    shown = content if len(content) <= SHOWN_CHARACTERS else f"{content[:SHOWN_CHARACTERS]} …"
    title = row.get("title") or content.partition("\n")[0][:160]
    body = shown[len(title) :].strip() if shown.startswith(title) else shown
    shared = len(words & _words(content)) / len(words) if words else 0.0
    kind = "commit" if row["source"] == "git" else row["type"]
    time = parse_time(row["timestamp"])
    similarity = max(shared, 0.9 if linked else 0.0)
    return Piece(row["id"], "history", kind, title, body, similarity, time=time, whole=content)


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:6] for word in re.findall(r"[a-z0-9]{3,}", text.lower()))
