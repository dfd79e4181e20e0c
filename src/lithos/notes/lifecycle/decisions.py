"""The rules of the note lifecycle, without I/O: what a write means, what is current, what has expired.

The vault gathers, asks, and stores; each rule is one row of `tests/unit/notes/lifecycle/test_decisions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lithos.core.call import Call
from lithos.core.names import folded, is_blank
from lithos.core.validators import visible
from lithos.errors import Conflict, Forbidden, InvalidInput
from lithos.notes.lifecycle.lookalikes import alike, is_mixed

OnConflict = Literal["merge", "supersede", "reject"]
Action = Literal["inserted", "updated", "merged", "superseded", "unchanged"]

PROCEDURAL = "procedural/"
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class WriteStep:
    action: Action
    target: str | None = None  # the note that is changed in place, or superseded


def decide(note_id: str | None, merge_key: str | None, on_conflict: OnConflict, holder: str | None) -> WriteStep:
    """The step of a write, given the active note that holds its merge key now; a refusal names that note."""
    if note_id is not None:
        if holder is not None and holder != note_id:
            raise key_taken(merge_key, holder, "Leave out id to write to that note, or give another merge_key.")
        return WriteStep("updated", note_id)
    if holder is None:
        return WriteStep("inserted")
    if on_conflict == "reject":
        raise key_taken(merge_key, holder, "Read that note; merge into it or supersede it with on_conflict.")
    return WriteStep("merged" if on_conflict == "merge" else "superseded", holder)


def key_taken(merge_key: str | None, holder: str | None, hint: str) -> Conflict:
    return Conflict(f"an active note already holds the merge_key {merge_key!r}", hint=hint, active_id=holder)


@dataclass(frozen=True, slots=True)
class LifecycleTimes:
    """The recorded times of one note; what was never recorded is None."""

    status: str
    ttl_policy: str
    created_at: datetime | None
    expires_at: datetime | None = None
    superseded_at: datetime | None = None


def has_expired(times: LifecycleTimes, at: datetime) -> bool:
    """Decapod's rule of decay: active, with a policy that expires, and past its time."""
    ends = times.ttl_policy in ("decay", "ephemeral") and times.expires_at is not None
    return times.status == "active" and ends and times.expires_at is not None and times.expires_at <= at


def recency_score(created_at: datetime, now: datetime) -> float:
    """1 / (1 + age in days); a note from the future is as recent as can be."""
    age = max(0.0, (now - created_at).total_seconds() / _SECONDS_PER_DAY)
    return 1 / (1 + age)


def clean_references(references: Iterable[str]) -> list[str]:
    """Trimmed, sorted, unique, without the blank ones, and at least one."""
    cleaned = sorted(set(visible(list(references), "evidence_refs")))
    if not cleaned:
        raise InvalidInput("evidence_refs is empty", hint="Name at least one piece of evidence: a commit, a file.")
    return cleaned


def check_promotion(actor: str, approved_by: str, reason: str, approvers: Iterable[str]) -> None:
    """An actor cannot approve its own promotion; with a list of approvers, only those count."""
    for name, value in (("actor", actor), ("approved_by", approved_by), ("reason", reason)):
        if is_blank(value):
            raise InvalidInput(
                f"{name} is empty", hint="A promotion needs an actor, another who approves, and a reason."
            )
    for name, value in (("actor", actor), ("approved_by", approved_by)):
        if is_mixed(value):
            raise InvalidInput(
                f"{name} mixes letters of several alphabets", hint="Some look like others: use one alphabet for a name."
            )
    if alike(approved_by, actor):
        raise InvalidInput(
            "approved_by must differ from actor, and not in its spelling alone", hint="Ask a person or another agent."
        )
    known = list(approvers)
    if known and folded(approved_by) not in map(folded, known):
        raise InvalidInput(f"{approved_by!r} may not approve", hint="Approvers: " + ", ".join(known))


def check_approver(approved_by: str, call: Call, approvers: Iterable[str]) -> None:
    """A name that the caller chose approves nothing where there is a list of approvers, or a token that says who calls:
    a token bound to the approver does, or the operator's command line."""
    name, known = approved_by.strip(), [each.strip().casefold() for each in approvers]
    if call.operator or not (known or call.bound):
        return
    own = (call.agent or "").casefold()  # as the token has it: no other spelling of an approver's name is one
    if not call.bound or folded(own) != folded(name) or (known and own not in known):
        raise Forbidden(
            f"{name!r} approves with a token that is bound to this name",
            hint=f"A name in the arguments proves nothing. Have {name!r} call lithos_promote with its token "
            "(`lithos token new --agent`), or use `lithos promote` on the server's machine.",
        )


def trusted(own: float, sources: Iterable[float]) -> float:
    """A derived note is trusted no more than its least trusted source."""
    return min([own, *sources])


def successor(note_id: str, superseded_by: Callable[[str], str | None], longest: int = 100) -> str | None:
    """The last note of a chain of successors; None for a cycle, or a chain that ends at no note."""
    seen = {note_id}
    at = superseded_by(note_id)
    last = None
    while at is not None and at not in seen and len(seen) <= longest:
        seen.add(at)
        last, at = at, superseded_by(at)
    return last if at is None else None
