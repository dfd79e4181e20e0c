"""Session filters of a question over entries, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lithos.core.call import Call
from lithos.errors import InvalidInput, NotFound
from lithos.ledger.scopes import EntryScope
from lithos.sessions import ALL, Sessions, Viewer


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """The session filters of a query. Without any: the own session, and what is promoted."""

    current_only: bool = False
    cross_session: bool = False
    session_ids: tuple[str, ...] = ()
    exclude_sessions: tuple[str, ...] = ()
    promoted_only: bool = False

    @property
    def looks_abroad(self) -> bool:
        """Whether it asks for entries of other sessions that are not promoted."""
        return (self.cross_session or bool(self.session_ids)) and not self.promoted_only

    def scope(self, own: str | None) -> EntryScope:
        """Refuses pairs that contradict each other, and `current_only` of an agent that is in no session."""
        self._check()
        if not self.current_only:
            return EntryScope(own, self.cross_session, self.session_ids, self.exclude_sessions, self.promoted_only)
        if own is None:
            raise InvalidInput(
                "current_only: the agent is in no session", hint="Pass session_id, or lithos_session_join first."
            )
        return EntryScope(own, sessions=(own,), promoted_only=self.promoted_only)

    def _check(self) -> None:
        if self.current_only:
            for name in ("cross_session", "session_ids", "exclude_sessions"):
                if getattr(self, name):
                    raise _contradiction("current_only", name)
        both = sorted(set(self.session_ids) & set(self.exclude_sessions))
        if both:
            raise InvalidInput(
                f"session_ids and exclude_sessions both name {both[0][:80]!r}", hint="Name each session in one of them."
            )


def _contradiction(one: str, other: str) -> InvalidInput:
    return InvalidInput(f"{one} and {other} contradict each other", hint="Give one of them.")


def chosen_entries(
    sessions: Sessions, call: Call, wanted: SessionFilter, session_id: str | None = None, *, public: bool = False
) -> tuple[EntryScope, Viewer]:
    """The entries that a question is about, and who looks. `session_id`: the own session, for members; `public`: also
    thoughts of no session."""
    if session_id is not None:
        sessions.members_only(call, session_id)
    named = {*wanted.session_ids, *wanted.exclude_sessions}
    for unknown in sorted(named - sessions.known(named)):
        raise NotFound(f"there is no session {unknown[:80]!r} in this store", hint="lithos_session_list shows them.")
    own = session_id or sessions.current(call)
    scope = replace(wanted.scope(own), public=public and not wanted.current_only)
    return scope, ALL if wanted.looks_abroad else Viewer(own)


def tuple_of(names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.casefold() for each in names or ()))
