"""Evidence from history: entries, outcomes, commits and notes, within the time that the question names."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lithos.board import Board
from lithos.core.call import Call
from lithos.core.clock import parse_time
from lithos.errors import NotFound
from lithos.graph.answers.code_finder import CodeFinder, Found, subject_as_written
from lithos.graph.answers.intents import ACTIVITY, HISTORICAL, RESUME, Intent, telling, without_frame
from lithos.graph.answers.note_finder import NoteFinder
from lithos.graph.answers.pieces import Piece
from lithos.graph.answers.texts import shared_words, shown_part, words_of
from lithos.graph.history import History, HistoryQuestion, HistoryRow, whole_text
from lithos.graph.knowledge import Knowledge, history_for_code
from lithos.graph.model import KnowledgeEdge
from lithos.ledger import Ledger
from lithos.sessions import ALL, HISTORY, Sessions

SHOWN_CHARACTERS = 300
MANY_NEW = 200
LINKED, NAMED = 0.85, 0.95  # similarity of what the graph joins to the code, and of what only names it
MOST_ALSO = 2  # commits named beside one of the same subject: a pull request and its copy on another branch
_PULL = re.compile(r"\s*\(#\d+\)$")
LAST_ENTRIES = 6  # of a session that is resumed


@dataclass(frozen=True)
class HistoryOwners:
    """The parts whose texts are history."""

    history: History
    graph: Knowledge
    ledger: Ledger
    board: Board
    sessions: Sessions
    notes: NoteFinder


class HistoryFinder:
    domain = "history"

    def __init__(self, owners: HistoryOwners, code: CodeFinder) -> None:
        self._history = owners.history
        self._graph = owners.graph
        self._ledger = owners.ledger
        self._board = owners.board
        self._sessions = owners.sessions
        self._notes = owners.notes
        self._code = code

    def find(self, call: Call, intent: Intent, query: str, limit: int) -> Found:
        behind = self._graph.catch_up()  # before the state is looked at: it is part of the answer
        probe = self._probe(intent)
        subject = partial(self._code.subject_state, call, query, intent.subject)
        states: list[tuple[Any, Hashable]] = [(probe, probe()), (subject, subject())]
        reasons = [behind, *self._graph.unread_commits(call)]
        whole = intent.intent == HISTORICAL and intent.time is None  # what is said besides a name tells commits apart
        words = words_of(telling(query) if whole else intent.subject.replace("_", " ")) or words_of(query)
        if intent.intent == RESUME:
            pieces = self._last_of_session(call, intent, words)
        else:
            pieces, degraded = self._about_subject(call, intent, query, limit, words)
            reasons.append(degraded)
            if (notes := self._notes.find(intent, query, limit)) is not None:
                pieces += notes.pieces
                states.append((notes.probe, notes.state))
                reasons.append(notes.degraded)
        return Found(
            self._with_successors(call, pieces), tuple(states), "; ".join(dict.fromkeys(filter(None, reasons)))
        )

    def _about_subject(
        self, call: Call, intent: Intent, query: str, limit: int, words: frozenset[str]
    ) -> tuple[list[Piece], str]:
        scope = intent.time
        since, until = (scope.start, scope.end) if scope else (None, None)
        one_line = intent.intent == ACTIVITY  # what happened: the subject of a commit says it
        text = subject_as_written(query, intent.subject) if one_line else without_frame(query)
        wide = limit * 3 if one_line else limit  # of many that name or touch it, those that name it are shown
        asked = HistoryQuestion(text, wide, since=since, until=until)
        page = self._history.search(call, asked)
        rows = list(page["results"])
        if intent.session:  # its own entries, promoted or not; refused unless the caller is a member
            rows += self._history.search(call, replace(asked, session_id=intent.session))["results"]
        pieces = {row["id"]: piece_of(row, words, one_line=one_line) for row in rows}
        for row in self._of_symbol(call, intent, query, wide):
            if scope is None or scope.start <= parse_time(row["timestamp"]) < scope.end:
                pieces[row["id"]] = piece_of(row, words, linked=True, one_line=one_line)
        found = once_each(list(pieces.values()), newest=one_line)
        return (by_name(found, text, words)[:limit] if one_line else found), page.get("degraded_reason", "")

    def _last_of_session(self, call: Call, intent: Intent, words: frozenset[str]) -> list[Piece]:
        """Where the work of a session stopped: its newest entries, the last one first."""
        session = intent.session or self._sessions.current(call)
        if session is None:
            rows = self._history.recent(call, frozenset(), LAST_ENTRIES)
        else:
            found = self._history.session(call, session, "all", chronological=False, limit=LAST_ENTRIES)
            rows = found["results"]
        return [
            replace(piece_of(row, words, linked=True), similarity=1.0 - place * 0.02) for place, row in enumerate(rows)
        ]

    def _with_successors(self, call: Call, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
        current = [piece.id for piece in pieces if not piece.superseded_by and piece.kind != "note"]
        successors = {
            id: edge.source
            for id, edges in self._graph.into_each(current, (KnowledgeEdge.SUPERSEDES,)).items()
            for edge in reversed(edges)
            if self._graph.nodes.get(call, edge.source) is not None
        }
        return tuple(replace(each, superseded_by=successors.get(each.id, each.superseded_by)) for each in pieces)

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


def by_name(pieces: Sequence[Piece], name: str, words: frozenset[str]) -> list[Piece]:
    """Those that have the name as it was written first, then those with all its words, each group the newest first.
    Quality would put the newest commits of a busy file before the one that says what happened."""

    def place(piece: Piece) -> tuple[bool, bool, float]:
        written = name.lower() in piece.whole.lower()
        return not written, shared_words(words, piece.whole) < 1.0, -piece.time.timestamp() if piece.time else 0.0

    return sorted(pieces, key=place)


def once_each(pieces: Sequence[Piece], *, newest: bool) -> list[Piece]:
    """A merge and the commit that it merged have one subject: the newest of them, or the one that says most."""
    groups: dict[str, list[Piece]] = {}
    for piece in pieces:
        is_commit = piece.kind == "commit"
        groups.setdefault(_PULL.sub("", piece.title).replace("`", "").lower() if is_commit else piece.id, []).append(
            piece
        )
    return [_one_of(group, newest=newest) for group in groups.values()]


def _one_of(group: Sequence[Piece], *, newest: bool) -> Piece:
    best = max(group, key=lambda each: (each.time.timestamp() if each.time else 0.0) if newest else len(each.whole))
    others = sorted(each.id for each in group if each.id != best.id)
    if not others:
        return best
    return replace(best, similarity=max(each.similarity for each in group), also=tuple(others[:MOST_ALSO]))


def piece_of(row: HistoryRow, words: frozenset[str], *, linked: bool = False, one_line: bool = False) -> Piece:
    kind = "commit" if row["source"] == "git" else row["type"]
    content = whole_text(row)
    title = row.get("title") or content.partition("\n")[0][:160]
    rest = content[len(title) :].strip() if content.startswith(title) else content
    text = "" if one_line and kind == "commit" else shown_part(rest, words, SHOWN_CHARACTERS)
    named = shared_words(words, content)
    similarity = LINKED + (1.0 - LINKED) * named if linked else NAMED * named
    return Piece(
        row["id"],
        "history",
        kind,
        title,
        text,
        similarity,
        time=parse_time(row["timestamp"]),
        whole=content,
        confidence=row.get("confidence", 1.0),
    )
