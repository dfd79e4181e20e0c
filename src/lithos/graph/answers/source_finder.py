"""Evidence from outside sources: the best passage of each, verified where the original was read."""

from __future__ import annotations

from functools import partial

from lithos.core.call import Call
from lithos.core.clock import Clock, parse_time
from lithos.errors import LithosError
from lithos.graph.answers.code_finder import Found
from lithos.graph.answers.intents import Intent
from lithos.graph.answers.note_finder import EVERY_STATUS, HIDDEN, NoteStates, State, lifecycle, state_of
from lithos.graph.answers.pieces import Piece
from lithos.graph.answers.texts import beginning, section_on, shown_part, words_of
from lithos.graph.sources import SourceRow, Sources
from lithos.notes import Notes, NoteStanding

SHOWN_CHARACTERS = 300
HEADING = 0.5  # share of the similarity that the name of a section decides
SAME_HEADING = 0.5  # of the words of a heading and the subject together


class SourceFinder:
    domain = "academic"

    def __init__(self, sources: Sources, notes: Notes, states: NoteStates, clock: Clock) -> None:
        self._sources = sources
        self._notes = notes
        self._states = states
        self._clock = clock

    def find(self, call: Call, intent: Intent, query: str, limit: int) -> Found:
        text = intent.subject.replace("_", " ") or query
        changes = self._states.changes  # before the look: what changes meanwhile makes the answer stale
        rows, relevant, behind = self._rows(text, limit)
        probe, state = self._states.probe(partial(self._state, text, limit), changes, state_of(rows))
        words = words_of(text)
        pieces = [(row, note, *self._passage(row, words)) for row, note in rows]
        # A section that is called like the subject answers, however unlikely the search finds it.
        shown = [self._piece(*each, words) for each in pieces if relevant or each[2]]
        return Found(tuple(shown), ((probe, state),), behind)

    def _rows(self, text: str, limit: int) -> tuple[list[tuple[SourceRow, NoteStanding]], bool, str]:
        rows, relevant, behind = self._sources.candidates(text, limit, scope=EVERY_STATUS)
        standing = self._notes.reader.standing([row["id"] for row in rows])
        pairs = [(row, standing[row["id"]]) for row in rows if row["id"] in standing]
        return [pair for pair in pairs if pair[1].status not in HIDDEN], relevant, behind

    def _state(self, text: str, limit: int) -> State:
        """The sources that this search finds now: a new or changed one on the subject is among them."""
        return state_of(self._rows(text, limit)[0])

    def _piece(self, row: SourceRow, note: NoteStanding, share: float, passage: str, words: frozenset[str]) -> Piece:
        published = row.get("published_at")
        return Piece(
            row["id"],
            "academic",
            row["kind"],
            row["title"],
            beginning(passage, SHOWN_CHARACTERS) if share else shown_part(passage, words, SHOWN_CHARACTERS),
            min(1.0, max(0.0, row["score"] * (1 - HEADING) + share * HEADING)),
            url=row.get("url", ""),
            time=parse_time(published) if published else None,
            version=note.version,
            verified=note.was_read,
            **lifecycle(note, self._clock),
        )

    def _passage(self, row: SourceRow, words: frozenset[str]) -> tuple[float, str]:
        """The section that is called like the subject, where the source has one; else the passage that was found."""
        try:
            share, section = section_on(self._notes.reader.content(row["id"]), words)
        except LithosError:  # it went while we looked
            return 0.0, row["passage"]
        return (share, section) if share >= SAME_HEADING and section else (0.0, row["passage"])
