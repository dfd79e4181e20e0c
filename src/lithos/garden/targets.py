"""Targets: which file a call means and whether the caller may use it, decided before anything is opened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from lithos.core.call import Call
from lithos.core.names import is_blank
from lithos.errors import InvalidInput, Unsupported
from lithos.garden.rules.policy import Kind, Policy
from lithos.notes import Notes
from lithos.storage import Answer, Outcome, Plan

GARDEN, VAULT = "garden", "vault"
_TYPES: dict[Kind | None, str] = {
    "profile": "profile_update",
    "relationship": "relationship_update",
    "overview": "overview_update",
    "notes": "observation",
    None: "note",
}
GARDEN_TYPES = tuple(name for kind, name in _TYPES.items() if kind is not None)
LONGEST_RATIONALE = 500


class NoteFiles:
    """The part of the vault that the garden uses."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def path_of(self, note_id: str) -> str:
        """NotFound for an id that is none."""
        return self._notes.vault.find(note_id).path

    def apply(self, call: Call, note_id: str, decide: Callable[[], Plan | Outcome]) -> Answer:
        """As `Effects.apply`, under the note's lock; search and links follow at once."""
        vault = self._notes.vault

        def decide_in_turn(held: ExitStack) -> Plan | Outcome:
            vault.load(note_id, held)
            return decide()

        return vault.act(call, decide_in_turn)


@dataclass(frozen=True, slots=True)
class Target:
    root: str
    path: str
    kind: Kind | None  # None: a note of the vault
    thing: str = ""

    @property
    def event_type(self) -> str:
        return _TYPES[self.kind]


def garden_target(policy: Policy, user_id: str, path: str) -> Target:
    return Target(GARDEN, path, policy.kind_of(path, user_id), path)


def note_target(notes: NoteFiles | None, note_id: str) -> Target:
    if notes is None:
        raise Unsupported("there is no vault here", hint="Use a path of the garden.")
    return Target(VAULT, notes.path_of(note_id), None, note_id)


def for_user(call: Call, user_id: str | None) -> Call:
    """The call in the name of this user; what the caller says comes before what its token is called."""
    return replace(call, user=user_id, user_named=True) if user_id is not None else call


def user_of(call: Call, known: Callable[[], list[str]]) -> str:
    """Whose files a call is about. A login or the name of a token is no answer: no caller chose it as one."""
    if call.user_named and call.user:
        return call.user
    users = known()
    there = f"There are files of: {', '.join(users)}." if users else "No user has files yet."
    raise InvalidInput("user_id is missing", hint=f"Name the user whose files these are. {there}")


def writer_of(call: Call) -> str:
    if not call.agent:
        raise InvalidInput("agent is missing", hint="Say who writes: each change of the garden has an author.")
    return call.agent


def one_line(rationale: str | None) -> str:
    """The reason as it goes into event and Change Log."""
    line = " ".join((rationale or "").split())
    if is_blank(line):
        raise InvalidInput("rationale is empty", hint="Say in one line why you make this change.")
    if len(line) > LONGEST_RATIONALE:
        raise InvalidInput(f"rationale has {len(line)} characters; {LONGEST_RATIONALE} is the most")
    return line
