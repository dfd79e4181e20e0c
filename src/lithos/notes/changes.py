"""Which notes changed since a moment, by any hand: agents, section edits, people, git."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lithos.core.clock import from_micros, micros, parse_time
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue
from lithos.storage import Database, Event, EventFilter, Events, Row, Tx

_SEEN_WITHIN = 10_000_000  # microseconds from a call to the look at what it wrote, also at a start after a crash
_MOST_EVENTS = 500  # a page of the audit; an older change is listed without its agent


@dataclass(frozen=True, slots=True)
class NoteChange:
    id: str
    path: str
    title: str
    at: datetime
    what: str  # the operation of the audit ("update", "move", "delete"), or "edit" by a hand that it does not know
    agent: str | None = None
    saved: datetime | None = None  # the file's own time, where a person saved it


class NoteChanges:
    """The catalogue knows every change of a file; the audit knows who made it, and what is gone."""

    def __init__(
        self, catalogue: Catalogue, allows_note: Callable[[str], bool], database: Database, events: Events
    ) -> None:
        self._catalogue = catalogue
        self._allows_note = allows_note
        self._database = database
        self._events = events

    def since(
        self,
        since: datetime,
        until: datetime | None = None,
        *,
        path_prefix: str | None = None,
        agent: str | None = None,
        limit: int = 100,
    ) -> list[NoteChange]:
        """Newest first, each note once; notes that were deleted included."""
        events = self._recent_events(since, until)
        last: dict[str, Event] = {}
        for event in events:  # newest first
            last.setdefault(event["thing"], event)
        rows = self._catalogue.read(lambda tx: queries.changed_since(tx, micros(since), path_prefix or ""))
        found = [_changed(row, last.get(row["id"])) for row in rows]
        present = {row["id"] for row in rows}
        found += [
            _deleted(event) for note_id, event in last.items() if event["op"] == "delete" and note_id not in present
        ]
        wanted = [
            each
            for each in found
            if (until is None or each.at < until)
            and each.path.startswith(path_prefix or "")
            and agent in (None, each.agent)
        ]
        return sorted(wanted, key=lambda each: each.at, reverse=True)[:limit]

    def by_people(self, after: int, path_prefix: str = "", limit: int = 500) -> tuple[list[NoteChange], int, bool]:
        """Files that changed after this moment (microseconds) and that no event explains: editors, git, sync. Newest
        first, at most `limit`; the newest moment seen, to go on from; and whether there were more."""
        rows = self._catalogue.read(lambda tx: queries.changed_since(tx, after + 1, path_prefix, limit + 1))
        newest, more = rows[0]["changed"] if rows else after, len(rows) > limit
        rows = rows[:limit]
        unknown = self._database.read(lambda tx: [row for row in rows if not _explained(tx, row)])
        return [_by_a_person(row) for row in unknown], newest, more

    def _recent_events(self, since: datetime, until: datetime | None) -> list[Event]:
        wanted = EventFilter(type="note", status="committed", store=self._events.store, since=since, until=until)
        found = self._database.read(lambda tx: self._events.find(tx, wanted, limit=_MOST_EVENTS))["events"]
        return [event for event in found if self._allows_note(event["path"] or "")]


def _changed(row: Row, event: Event | None) -> NoteChange:
    at = from_micros(row["changed"])
    by_event = event is not None and (event["after_hash"] in (None, row["version"]) or event["op"] == "move")
    if event is None or not by_event:
        return NoteChange(row["id"], row["path"], row["title"], at, "edit")
    return NoteChange(row["id"], row["path"], row["title"], at, event["op"], event["agent"])


def _deleted(event: Event) -> NoteChange:
    path = event["path"] or ""
    title = path.rpartition("/")[2].removesuffix(".md")
    return NoteChange(event["thing"], path, title, parse_time(event["at"]), "delete", event["agent"])


def _explained(tx: Tx, row: Row) -> bool:
    """Whether a call through Lithos put these bytes at this path. Of a change that was seen when it happened, only a
    call of that moment: a person may bring back what an agent wrote long ago."""
    if row["by_us"]:
        return True
    seen = row["changed"] - _SEEN_WITHIN if row["edited"] else 0
    sql = "SELECT 1 AS known FROM events WHERE path = ? AND after_hash = ? AND updated_at >= ? LIMIT 1"
    return tx.one(sql, row["path"], row["version"], seen) is not None


def _by_a_person(row: Row) -> NoteChange:
    saved = from_micros(row["mtime_ns"] // 1000)
    what = "edit" if row["edited"] else "add"
    return NoteChange(row["id"], row["path"], row["title"], from_micros(row["changed"]), what, None, saved)
