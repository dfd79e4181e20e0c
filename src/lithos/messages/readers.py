"""Who may see a message: its sender, its receiver, the members of its session; the operator sees all."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from lithos.core.call import Call
from lithos.messages import store
from lithos.messages.model import Message, person_of
from lithos.sessions import Viewer, is_member, proved_sessions, visible
from lithos.storage import Tx


class Reader:
    """One caller within one transaction; what it asks of sessions is asked once."""

    def __init__(self, tx: Tx, call: Call, names: Set[str]) -> None:
        """`names`: those that are the caller's, see `names_of`."""
        self._tx = tx
        self._call = replace(call, agent=call.agent or call.connection)
        self._names = names
        self._members: dict[str, bool] = {}
        self._closed: dict[str, frozenset[str]] = {}

    def sees(self, message: Message) -> bool:
        """A topic in no session is everyone's."""
        row, session_id = message.row, message.session_id
        if (
            self._call.operator
            or self._is_party(row["source"], session_id)
            or self._is_party(row["target"], session_id)
        ):
            return True
        if session_id is None:
            return bool(row["topic"])
        return visible(message, Viewer(session_id if self._is_member(session_id) else None))

    def message(self, message_id: str) -> Message:
        """The message, if the caller may see it; for others it does not exist."""
        row = store.ask(self._tx, message_id).one()
        if row is None or not self.sees(Message(row)):
            raise store.unknown(message_id)
        return Message(row)

    def _is_party(self, name: str, session_id: str | None) -> bool:
        if name not in self._names:
            return False
        if name not in self._closed:
            self._closed[name] = proved_sessions(self._tx, self._call, name)
        return session_id not in self._closed[name]

    def _is_member(self, session_id: str) -> bool:
        if session_id not in self._members:
            self._members[session_id] = is_member(self._tx, self._call, session_id)
        return self._members[session_id]


def names_of(call: Call, persons: Set[str]) -> set[str]:
    """The names under which the caller sends and receives; a person's name is that person's alone."""
    person = person_of(call)
    claimed = {call.agent, None if call.bound else call.connection}
    return {each for each in (claimed - persons) | {person} if each}
