"""Identities: the id under which a file is served: its own, one derived from its path, or its former one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from lithos.core.clock import Clock, micros
from lithos.notes.format.naming import path_id
from lithos.storage import Database, Row, Tx


@dataclass(frozen=True, slots=True)
class Renamed:
    """The file that a note without an id in its frontmatter was until now, perhaps this one, and the id that it had."""

    path: str
    id: str


@dataclass(frozen=True, slots=True)
class IdClaim:
    """The id that a file names, and the file that it was before a rename, if any."""

    path: str
    own_id: str | None
    before: Renamed | None = None


@dataclass(frozen=True, slots=True)
class IdRecord:
    """`claimed`: the id in the file's frontmatter that it may not have; None: it names none."""

    id: str
    claimed: str | None = None


@dataclass(slots=True)
class Assigned:
    ids: dict[str, str] = field(default_factory=dict)  # path → id
    records: dict[str, IdRecord | None] = field(default_factory=dict)  # path → what is to be recorded; None: no longer


IsFree = Callable[[str, str], bool]


def assign(claims: Iterable[IdClaim], records: Mapping[str, IdRecord], owner: Callable[[str], str | None]) -> Assigned:
    """Pure. `owner` says which living file has an id now; in doubt the first in the order of paths gets it."""
    assigned = Assigned()
    taken: dict[str, str] = {}

    def is_free(note_id: str, path: str) -> bool:
        has_it = owner(note_id)
        return taken.get(note_id, path) == path and (has_it in (None, path) or has_it in assigned.ids)

    for claim in in_order(claims, records):
        known = records.get(claim.path)
        chosen, recorded = _choose(claim, known, is_free)
        assigned.ids[claim.path] = chosen
        taken[chosen] = claim.path
        if recorded != known:
            assigned.records[claim.path] = recorded
        before = claim.before
        if before and before.id == chosen and before.path in records and before.path != claim.path:
            assigned.records[before.path] = None
    return assigned


def in_order(claims: Iterable[IdClaim], records: Mapping[str, IdRecord]) -> list[IdClaim]:
    """Files with a record come last: a file that had its id before them takes it again first."""
    return sorted(claims, key=lambda claim: (claim.path in records, claim.path))


def _choose(claim: IdClaim, known: IdRecord | None, is_free: IsFree) -> tuple[str, IdRecord | None]:
    if claim.own_id is not None and is_free(claim.own_id, claim.path):
        return claim.own_id, None
    if known is not None and known.claimed == claim.own_id and is_free(known.id, claim.path):
        return known.id, known
    before = claim.before
    if claim.own_id is None and before is not None and is_free(before.id, claim.path):
        return before.id, None if before.id == path_id(claim.path) else IdRecord(before.id)
    attempt = 1
    while not is_free(path_id(claim.path, attempt), claim.path):
        attempt += 1
    chosen = path_id(claim.path, attempt)
    return chosen, None if attempt == 1 and claim.own_id is None else IdRecord(chosen, claim.own_id)


class Identities:
    """The records in coordination.db: a rebuild reads them, so that it serves each file under the same id again."""

    def __init__(self, database: Database, store: str, clock: Clock) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self.records = database.read(self._load)

    def _load(self, tx: Tx) -> dict[str, IdRecord]:
        rows: list[Row] = tx.all("SELECT path, id, claimed FROM note_ids WHERE store = ?", self._store)
        return {row["path"]: IdRecord(row["id"], row["claimed"]) for row in rows}

    def keep(self, changes: Mapping[str, IdRecord | None]) -> None:
        if not changes:
            return
        now = micros(self._clock.now())
        gone = [(self._store, path) for path in changes]
        come = [(self._store, path, each.id, each.claimed, now) for path, each in changes.items() if each is not None]

        def work(tx: Tx) -> None:
            tx.many("DELETE FROM note_ids WHERE store = ? AND path = ?", gone)
            tx.many("INSERT INTO note_ids (store, path, id, claimed, at) VALUES (?, ?, ?, ?, ?)", come)

        self._database.write(work)
        for path, each in changes.items():
            self.records.pop(path, None)
            if each is not None:
                self.records[path] = each

    def remember(self, moved: Mapping[str, str]) -> None:
        """Former path → id: what links that still say the old name once meant."""
        if not moved:
            return
        now = micros(self._clock.now())
        rows = [(self._store, path, note_id, now) for path, note_id in moved.items()]
        self._database.write(lambda tx: tx.many(_REMEMBER, rows))

    def former(self) -> dict[str, str]:
        """Former path → id."""
        rows = self._database.read(
            lambda tx: tx.all("SELECT path, id FROM note_moves WHERE store = ? ORDER BY at", self._store)
        )
        return {row["path"]: row["id"] for row in rows}

    def written_before(self, ids: Collection[str]) -> set[str]:
        """Those of these ids that an agent has written a note under."""
        if not ids:
            return set()

        def work(tx: Tx) -> set[str]:
            sql = "SELECT 1 AS known FROM events WHERE thing = ? AND type = 'note' AND status = 'committed' LIMIT 1"
            asked = {note_id: tx.ask(sql, note_id) for note_id in ids}
            return {note_id for note_id, row in asked.items() if row.one() is not None}

        return self._database.read(work)

    def prune(self) -> int:
        """Drop old former paths: a link that has been stale for so long counts as broken."""
        oldest = micros(self._clock.now() - timedelta(days=_REMEMBERED_DAYS))
        return self._database.write(
            lambda tx: tx.run("DELETE FROM note_moves WHERE store = ? AND at < ?", self._store, oldest)
        )


_REMEMBERED_DAYS = 365
_REMEMBER = """
INSERT INTO note_moves (store, path, id, at) VALUES (?, ?, ?, ?)
ON CONFLICT (store, path) DO UPDATE SET id = excluded.id, at = excluded.at
"""
