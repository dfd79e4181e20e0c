"""Which note a promotion was used for: the first that was written under it, with the title and text of then."""

from __future__ import annotations

from lithos.core.canonical import canonical_hash
from lithos.core.clock import Clock, micros
from lithos.errors import Conflict, InvalidInput
from lithos.notes.format.naming import path_key
from lithos.notes.format.note import Note
from lithos.storage import Database, Row, Tx


class PromotionUses:
    """Rows are never dropped: the ledger's promotions are not either, and there are as many."""

    def __init__(self, database: Database, store: str, clock: Clock) -> None:
        self._database = database
        self._store = store
        self._clock = clock

    def allow(self, event_id: str, note: Note) -> bool:
        """Whether the promotion is unused, or was used for this note as it is."""
        row = self._row(event_id)
        return row is None or (row["note_id"] == _key(note) and row["text_hash"] == _text_hash(note))

    def check(self, event_id: str, note: Note) -> None:
        row = self._row(event_id)
        if row is not None and row["note_id"] != _key(note):
            raise Conflict(
                f"another note was written under the promotion {event_id}; nothing was written",
                hint="One promotion is good for one note: lithos_promote records another.",
                id=row["note_id"],
            )
        if row is not None and row["text_hash"] != _text_hash(note):
            raise InvalidInput(
                f"the promotion {event_id} approved this note under another title; nothing was written",
                hint="Keep the title, or have the note approved again with lithos_promote.",
            )

    def record(self, tx: Tx, event_id: str, note: Note) -> None:
        sql = "INSERT INTO promotion_uses (event_id, store, note_id, text_hash, at) VALUES (?, ?, ?, ?, ?)"
        now = micros(self._clock.now())
        tx.put(f"{sql} ON CONFLICT (event_id) DO NOTHING", event_id, self._store, _key(note), _text_hash(note), now)

    def _row(self, event_id: str) -> Row | None:
        sql = "SELECT note_id, text_hash FROM promotion_uses WHERE event_id = ?"
        return self._database.read(lambda tx: tx.one(sql, event_id))


def _key(note: Note) -> str:
    return note.own_id or f"path:{path_key(note.path)}"


def _text_hash(note: Note) -> str:
    """Of what readers take for the rule: its title and its text."""
    return canonical_hash([note.title, note.content.replace("\r\n", "\n")])
