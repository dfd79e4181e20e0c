"""Effective status: whether a note counts now, and until when. Unreadable fields never hide a note."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lithos.core.clock import from_micros
from lithos.notes.fields import STATUSES, TTL_POLICIES
from lithos.notes.format.note import Note
from lithos.notes.lifecycle.decisions import PROCEDURAL, LifecycleTimes

UNAPPROVED = "unapproved"  # under procedural/ without a promotion
NEVER = 2**53 - 1  # microseconds, the year 2255: exact in a float, and beyond what anybody plans
GONE = 0

IsPromoted = Callable[[Note], bool]  # whether the promotion that it names approved its text, and is sealed as ours


def is_procedural(path: str) -> bool:
    return path.lower().startswith(PROCEDURAL)


def effective_status(note: Note, is_promoted: IsPromoted) -> str:
    """Its status, as filters see it. An unknown status counts as active; `validate` lists it."""
    if is_procedural(note.path) and not is_promoted(note):
        return UNAPPROVED
    said = status_of(note)
    return said if said in STATUSES else "active"


def status_of(note: Note) -> str:
    return note.text("status") or "active"


def policy_of(note: Note) -> str:
    said = note.text("ttl_policy") or ("decay" if note.text("expires_at") else "persistent")
    return said if said in TTL_POLICIES else "persistent"


def ends(note: Note, updated: int) -> int:
    """Until when it was or is current, in microseconds: its expiry, or when something replaced it.

    Of a note that is superseded without a recorded time, the time of its last change counts; a deprecated one has
    no recorded time, so that it is current at none.
    """
    expiry = note.moment("expires_at") if policy_of(note) != "persistent" else None
    end = NEVER if expiry is None else max(GONE, min(expiry, NEVER))
    said = status_of(note)
    if said == "superseded":
        return min(end, _superseded_at(note, updated))
    return GONE if said == "deprecated" else end


def _superseded_at(note: Note, updated: int) -> int:
    recorded = note.moment("superseded_at")
    return updated if recorded is None else recorded


def lifecycle_times(note: Note, updated: int) -> LifecycleTimes:
    """The recorded times, as the rules of `decisions` take them."""
    superseded = _superseded_at(note, updated) if status_of(note) == "superseded" else None
    return LifecycleTimes(
        status_of(note) if status_of(note) in STATUSES else "active",
        policy_of(note),
        _moment(note.moment("created_at")),
        _moment(note.moment("expires_at")),
        _moment(superseded),
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
