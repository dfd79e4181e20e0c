"""Decay: marks expired notes stale and records the run in the audit, a dry run too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from typing import cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import version_of
from lithos.core.clock import Clock, micros, parse_time, rfc3339
from lithos.core.names import one_line
from lithos.errors import Conflict, NotFound
from lithos.notes.index import queries
from lithos.notes.lifecycle.decisions import has_expired
from lithos.notes.lifecycle.effective_status import lifecycle_times
from lithos.notes.vault.loaded import ROOT
from lithos.notes.vault.vault import Vault
from lithos.notes.vault.writing import marked_note
from lithos.storage import Effects, EventDraft, Events, FileChange, Outcome, Plan, Tx

MARKERS = 8
LISTED = 1_000  # ids that the event of a run names


class Decayed(TypedDict):
    as_of: str
    policy: str
    dry_run: bool
    stale_ids: list[str]
    event_id: str


class Decay:
    def __init__(self, vault: Vault, effects: Effects, events: Events, clock: Clock) -> None:
        self._vault = vault
        self._effects = effects
        self._events = events
        self._clock = clock

    def run(self, call: Call, policy: str = "default", as_of: str | None = None, dry_run: bool = False) -> Decayed:
        """Decapod's rule: active notes of a policy that ends, whose time has come by `as_of`."""
        policy = one_line(policy, "policy", 200)
        moment = self._clock.now() if as_of is None else parse_time(as_of, "as_of")
        due = self._vault.catalogue.read(lambda tx: [row["id"] for row in queries.expired(tx, micros(moment))])
        stale = due if dry_run else self._mark_all(call, due, moment)
        report = {"as_of": rfc3339(moment), "policy": policy, "dry_run": dry_run, "stale_ids": stale}

        def work(tx: Tx) -> Outcome:
            details = {**report, "stale_ids": stale[:LISTED], "count": len(stale)}
            event_id = self._events.append(tx, call, EventDraft("knowledge", "decay", details=details))
            return Outcome({**report, "event_id": event_id})

        return cast(Decayed, self._effects.commit(call, work))

    def _mark_all(self, call: Call, due: list[str], moment: datetime) -> list[str]:
        """In parallel: each waits for the disk six times, and those that wait together share a commit."""
        with ThreadPoolExecutor(MARKERS, "decay") as markers:
            marked = list(markers.map(lambda note_id: self._mark(call, note_id, moment), due))
        return [note_id for note_id, done in zip(due, marked, strict=True) if done]

    def _mark(self, call: Call, note_id: str, moment: datetime) -> bool:
        """One note, by the ordinary way of a write; a note that was just renewed, saved or deleted is left alone."""
        own = Call(call.tool, agent=call.agent, user=call.user)  # the keys of the call belong to the run as a whole
        try:
            return bool(self._vault.act(own, lambda held: self._decide(note_id, moment, held))["stale"])
        except (Conflict, NotFound):
            return False

    def _decide(self, note_id: str, moment: datetime, held: ExitStack) -> Plan | Outcome:
        found = self._vault.load(note_id, held)
        self._vault.check_version(found, None, replaces=True)
        if not has_expired(lifecycle_times(found.note, found.row["updated"]), moment):
            return Outcome({"stale": False}, refused=True)
        data = marked_note(found.note, {"status": "stale"}, found.id, self._clock.now()).encode()
        event = EventDraft("note", "decay", found.id, found.path, None, found.note.version, version_of(data))
        return Plan((FileChange(ROOT, found.path, found.note.version, data),), event, {"stale": True})
