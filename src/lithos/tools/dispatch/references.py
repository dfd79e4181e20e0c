"""Names instead of ids: one place turns a path, a title, a link or a part of an id into the id that a part knows.

An argument says what it refers to by `Annotated[..., Refers("note")]`. Reads take any spelling that means one thing;
writes only an exact one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, get_type_hints

from lithos.core.references import SHORTEST_PART, Candidate, bare_name, is_part_of_id, matching
from lithos.errors import Ambiguous, LithosError, NotFound

if TYPE_CHECKING:
    from lithos.app import Lithos
    from lithos.core.call import Call
    from lithos.sessions import Viewer

Referred = Literal["note", "task", "thought"]
MOST_NEAREST = 3
CHAIN = "chain_key"
FULL_ID = 36
OF_THE_DELETED = frozenset({"lithos_note_history", "lithos_note_diff", "lithos_note_revert"})


@dataclass(frozen=True, slots=True)
class Refers:
    """Marks an argument, or each item of a list, that names a thing of this kind."""

    kind: Referred
    needed: bool = True  # False: what is not there is passed on as it is


class Tool(Protocol):
    """The part of a tool that is needed here; the registry imports this module."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> bool: ...

    @property
    def function(self) -> Callable[..., Any]: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    @property
    def references(self) -> dict[str, Refers]: ...


@dataclass(slots=True)
class Resolved:
    values: dict[str, Any]
    shown: dict[str, dict[str, str]] = field(default_factory=dict)  # by argument: what a name was taken for
    nearest: list[dict[str, str]] = field(default_factory=list)  # to a task that is not known


def references_of(tool: Tool) -> dict[str, Refers]:
    hints = get_type_hints(tool.function, localns={"Lithos": object, "Call": object}, include_extras=True)
    found = {}
    for name, hint in hints.items():
        marks = [each for each in _marks(hint) if isinstance(each, Refers)]
        if marks and name in tool.parameters:
            found[name] = marks[0]
    return found


def _marks(hint: Any) -> list[Any]:
    """All metadata of a type, that of its alternatives and items included."""
    own = list(getattr(hint, "__metadata__", ()))
    inner = [getattr(hint, "__origin__", None)] if own else []
    return own + [mark for each in (*get_args(hint), *inner) if each is not None for mark in _marks(each)]


def resolve(lithos: Lithos, tool: Tool, values: dict[str, Any], call: Call) -> Resolved:
    """The values with ids where names were; raises where a name means several things, or no note or thought."""
    done = Resolved(dict(values))
    for name, mark in tool.references.items():
        given = values.get(name)
        if isinstance(given, str):
            done.values[name] = _one(lithos, call, tool, mark, given, name, done)
        elif isinstance(given, list):
            done.values[name] = [_one(lithos, call, tool, mark, each, name, done) for each in given]
    return done


def is_whole_task(mark: Refers, value: Any) -> bool:
    """Whether it is the whole id of a task: the board itself knows best whether that exists."""
    return mark.kind == "task" and isinstance(value, str) and len(value) == FULL_ID and is_part_of_id(value)


def _one(lithos: Lithos, call: Call, tool: Tool, mark: Refers, given: str, argument: str, done: Resolved) -> str:
    if not given.strip():
        return given  # the part that needs it says that it is empty
    if mark.kind == "note":
        found = _note(lithos, tool, mark, given, done)
    elif mark.kind == "task":
        found = _task(lithos, given, not tool.reads, done)
    else:
        found = _thought(lithos, given, done.values.get(CHAIN), lithos.sessions.viewer(call))
    if found is None:
        return given
    if found.id != given:
        done.shown[argument] = {"id": found.id, "title": found.title} if found.title else {"id": found.id}
    return found.id


def _note(lithos: Lithos, tool: Tool, mark: Refers, given: str, done: Resolved) -> Candidate | None:
    found = lithos.notes.reader.named(given, exact=not tool.reads)
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous("note", given, found)
    deleted = lithos.notes.history.deleted(bare_name(given))
    if deleted is not None and tool.name in OF_THE_DELETED:
        return Candidate(deleted, "")
    if deleted is not None and mark.needed:
        raise deleted_note(given, deleted)
    if mark.needed and len(given) != FULL_ID:  # one that is just being written is waited for by the vault
        nearest = _nearest(bare_name(given), lithos.notes.reader.all_titles())
        hint = (
            "Use the id of one of the nearest, or lithos_recall to find it."
            if nearest
            else "lithos_recall finds notes."
        )
        raise NotFound(f"there is no note {given[:80]!r}", hint=hint, nearest=nearest)
    done.nearest = _nearest(bare_name(given), lithos.notes.reader.all_titles())
    return None


def deleted_note(given: str, note_id: str) -> NotFound:
    return NotFound(
        f"the note {given[:80]!r} was deleted",
        hint=f'lithos_note_restore with {{"note": "{note_id}"}} brings it back.',
        deleted_id=note_id,
    )


def _task(lithos: Lithos, given: str, exact: bool, done: Resolved) -> Candidate | None:
    """None for one that is not known: the board refuses it as the specification says."""
    tasks = lithos.board.candidates(given)
    found = matching(given, tasks, exact=exact)
    if len(found) > 1:
        raise _ambiguous("task", given, found)
    if not found:
        done.nearest = _nearest(given, lithos.board.candidates(None))
    return found[0] if found else None


def _thought(lithos: Lithos, given: str, chain: str | None, viewer: Viewer) -> Candidate | None:
    """None for one that is not known: the ledger answers with null, or names it in its error."""
    from lithos.ledger import Filter

    if len(given) < SHORTEST_PART or len(given) >= 36:
        return None
    try:
        rows = lithos.ledger.search(chain, Filter(), 1000, viewer)["thoughts"]
    except LithosError:
        return None
    found = matching(given, [Candidate(row["id"], row["content"][:60]) for row in rows], exact=False)
    if len(found) > 1:
        raise _ambiguous("thought", given, found)
    return found[0] if found else None


def _ambiguous(kind: str, given: str, found: list[Candidate]) -> Ambiguous:
    shown = [each.shown() for each in found[:MOST_NEAREST]]
    return Ambiguous(
        f"{given[:80]!r} means {len(found)} {kind}s", hint="Use the id of the one that you mean.", nearest=shown
    )


def _nearest(given: str, known: list[Candidate]) -> list[dict[str, str]]:
    by_title = {each.title.lower(): each for each in known}
    close = get_close_matches(given.lower(), list(by_title), n=MOST_NEAREST, cutoff=0.3)
    return [by_title[title].shown() for title in close]
