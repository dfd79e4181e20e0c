"""Evidence from notes: what the team wrote down, with the confidence, lineage and expiry of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from typing_extensions import TypedDict

from lithos.core.clock import Clock, from_micros, micros
from lithos.graph.answers.intents import ACTIVITY, GENERAL, HISTORICAL, SIMILAR, Intent
from lithos.graph.answers.pieces import Piece
from lithos.graph.answers.texts import shared_words, shown_part, words_of
from lithos.graph.sources import KINDS
from lithos.notes import Notes, NoteSearch, NoteStanding, ScopeRequest
from lithos.search import Hit, Query, Where

EVERY_STATUS: Final = ScopeRequest(status="all")  # superseded and expired ones sink, with the reason
NO_SOURCE: Final = Where(none_of={"kind": KINDS})  # many on a subject would leave no room for notes
HIDDEN: Final = frozenset({"unapproved", "deprecated"})
ASKED_FOR: Final = frozenset({HISTORICAL, ACTIVITY, GENERAL, SIMILAR})
SHOWN_CHARACTERS: Final = 300
State = tuple[tuple[str, str, int], ...]  # id, version, until when it is current


class NoteStates:
    """Counts the changes of notes, so that a cached answer need not search again."""

    def __init__(self, notes: Notes, clock: Clock) -> None:
        self._clock = clock
        self.changes = 0
        notes.index.changed.add(self._wake)

    def _wake(self) -> None:
        self.changes += 1

    def probe(self, look: Callable[[], State], changes: int, found: State) -> tuple[Callable[[], Hashable], Hashable]:
        """The notes that `look` finds, looked up again only after a change, and which of them expired since; and the
        value for `found`, which the same look found when so many `changes` were counted."""

        def shown() -> Hashable:
            now = micros(self._clock.now())
            return tuple((id, version, ends <= now) for id, version, ends in found)

        def state() -> Hashable:
            nonlocal changes, found
            if changes != self.changes:
                changes, found = self.changes, look()
            return shown()

        return state, shown()


@dataclass(frozen=True, slots=True)
class FoundNotes:
    pieces: tuple[Piece, ...]
    probe: Callable[[], Hashable]
    state: Hashable
    degraded: str


class NoteFinder:
    def __init__(self, notes: Notes, search: NoteSearch, states: NoteStates, clock: Clock) -> None:
        self._notes = notes
        self._search = search
        self._states = states
        self._clock = clock

    def find(self, intent: Intent, query: str, limit: int) -> FoundNotes | None:
        """None: this question is not about what notes say."""
        if intent.intent not in ASKED_FOR:
            return None
        self._notes.ensure_scanned()
        text = intent.subject.replace("_", " ") or query
        changes = self._states.changes  # before the look: what changes meanwhile makes the answer stale
        hits, degraded = self._hits(text, limit)
        probe, state = self._states.probe(partial(self._state, text, limit), changes, state_of(hits))
        words = words_of(text)
        pieces = [self._piece(hit, note, words) for hit, note in hits]
        if intent.time is not None:
            scope = intent.time
            pieces = [each for each in pieces if each.time is not None and scope.start <= each.time < scope.end]
        return FoundNotes(tuple(pieces), probe, state, degraded)

    def _hits(self, text: str, limit: int) -> tuple[list[tuple[Hit, NoteStanding]], str]:
        found, _ = self._search.find(Query(text, limit=limit * 2, where=NO_SOURCE), EVERY_STATUS)
        if not found.relevant:
            return [], found.degraded
        standing = self._notes.reader.standing([hit.id for hit in found.hits])
        pairs = [(hit, standing[hit.id]) for hit in found.hits if hit.score > 0 and hit.id in standing]
        shown = [pair for pair in pairs if pair[1].status not in HIDDEN]
        return shown[:limit], found.degraded

    def _state(self, text: str, limit: int) -> State:
        return state_of(self._hits(text, limit)[0])

    def _piece(self, hit: Hit, note: NoteStanding, words: frozenset[str]) -> Piece:
        passage = hit.passage.strip()
        similarity = max(shared_words(words, f"{note.title} {passage}"), hit.similarity or 0.0)
        return Piece(
            note.id,
            "history",
            "note",
            note.title[:160],
            shown_part(passage, words, SHOWN_CHARACTERS),
            min(1.0, similarity),
            path=note.path,
            time=from_micros(note.updated),
            version=note.version,
            **lifecycle(note, self._clock),
        )


def state_of(hits: Sequence[tuple[object, NoteStanding]]) -> State:
    return tuple((note.id, note.version, note.ends) for _, note in hits)


class Lifecycle(TypedDict):
    ceiling: int
    superseded_by: str
    expired: bool


def lifecycle(note: NoteStanding, clock: Clock) -> Lifecycle:
    """The fields of a piece that a note's lifecycle decides."""
    return {
        "ceiling": round(note.trust * 100),
        "superseded_by": note.superseded_by if note.status == "superseded" else "",
        "expired": note.status == "stale" or (note.status != "superseded" and note.ends <= micros(clock.now())),
    }
