"""The chronicle: what sessions leave behind, as entries of the chain `history`."""

from __future__ import annotations

from dataclasses import replace

from lithos.chronicle.query import EntryPage, EntryShown
from lithos.core.call import Call
from lithos.errors import NotFound
from lithos.ledger import EntryScope, Filter, Ledger, SessionFilter, Thought, chosen_entries
from lithos.sessions import HISTORY, Sessions, Viewer

MOST_NAMED = 50  # sessions in the event of an export


class Chronicle:
    def __init__(self, sessions: Sessions, ledger: Ledger) -> None:
        self._sessions = sessions
        self._ledger = ledger

    def query(
        self, call: Call, chosen: Filter, wanted: SessionFilter, limit: int | None = None, session_id: str | None = None
    ) -> EntryPage:
        """Entries of sessions; never what is private of their context. `session_id`: the own session, for members."""
        scope, viewer = chosen_entries(self._sessions, call, wanted, session_id)
        return self.read(replace(chosen, entries=scope), viewer, limit)

    def all_of(self, session_id: str) -> list[EntryShown]:
        """Every entry of a session, oldest first."""
        promoted = self._sessions.promoted(HISTORY)
        thoughts = self._ledger.entries(HISTORY, EntryScope(sessions=(session_id,)))
        return [shown(each, each["index"] in promoted) for each in thoughts]

    def note_export(self, call: Call, chain_key: str) -> None:
        """The operator copies a chain: an event, if sessions have entries on it that are not promoted."""
        named = sorted(self._ledger.private_sessions(chain_key))
        if named:
            self._sessions.looked(call, chain_key, sessions=len(named), first=named[:MOST_NAMED])

    def read(self, chosen: Filter, viewer: Viewer, limit: int | None) -> EntryPage:
        try:
            found = self._ledger.search(HISTORY, chosen, limit, viewer)
        except NotFound:  # no session has left an entry yet
            return {"entries": [], "total": 0, "degraded": False}
        promoted = self._sessions.promoted(HISTORY)
        page: EntryPage = {
            "entries": [shown(each, each["index"] in promoted) for each in found["thoughts"]],
            "total": found["total"],
            "degraded": found["degraded"],
        }
        if found["degraded"]:
            page["degraded_reason"] = found["degraded_reason"]
        return page


def shown(thought: Thought, promoted: bool) -> EntryShown:
    entry: EntryShown = {
        "id": thought["id"],
        "index": thought["index"],
        "session_id": thought["session_id"] or "",
        "promoted": promoted,
        "thought_type": thought["thought_type"],
        "role": thought["role"],
        "content": thought["content"],
        "agent_id": thought["agent_id"],
        "timestamp": thought["timestamp"],
        "tags": thought["tags"],
    }
    if "score" in thought:
        entry["score"] = thought["score"]
    return entry
