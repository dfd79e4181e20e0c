"""Thoughts of the chain `history` as entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from lithos.core.call import Call
from lithos.errors import Forbidden, NotFound
from lithos.graph.history.question import THOUGHTS, Answered, HistoryQuestion
from lithos.graph.history.values import DONE, NODE_OF_CATEGORY, THOUGHT_OF_SUMMARY, HistoryRow, category_of
from lithos.ledger import EntryScope, Filter, Ledger, Thought, chosen_entries
from lithos.sessions import ALL, HISTORY, Sessions, Viewer

NEWEST = 1_000  # entries that a search of the ledger gives; older ones are read with the whole session
_SUMMARY_TAGS = tuple(name for name, kind in THOUGHT_OF_SUMMARY.items() if kind == DONE)


class ThoughtEntries:
    """Searches the chain; the session filters act inside the engine."""

    def __init__(self, ledger: Ledger, sessions: Sessions) -> None:
        self._ledger = ledger
        self._sessions = sessions

    def find(self, call: Call, question: HistoryQuestion) -> Answered:
        scope, viewer = self._scope(call, question)
        types = question.thought_types()
        if types is None or not question.asks(THOUGHTS):
            return Answered([])
        chosen = Filter(
            question.text or None,
            types,
            tags_any=question.thought_tags(),
            agent_ids=question.agents,
            since=question.since,
            until=question.until,
            entries=scope,
        )
        return self.read(chosen, viewer, question.limit)

    def _scope(self, call: Call, question: HistoryQuestion) -> tuple[EntryScope, Viewer]:
        if question.session_id is None:
            return chosen_entries(self._sessions, call, question.sessions, public=True)
        self._sessions.members_only(call, question.session_id)
        return EntryScope(sessions=(question.session_id,)), ALL

    def read(self, chosen: Filter, viewer: Viewer, limit: int) -> Answered:
        try:
            found = self._ledger.search(HISTORY, chosen, limit, viewer)
        except NotFound:  # there is no entry yet
            return Answered([])
        return Answered(
            self.rows(each for each in found["thoughts"] if "forgotten" not in each), found.get("degraded_reason", "")
        )

    def rows(self, thoughts: Iterable[Thought]) -> list[HistoryRow]:
        promoted = self._sessions.promoted(HISTORY)
        return [as_row(each, promoted) for each in thoughts]

    def of_session(self, call: Call, session_id: str, types: tuple[str, ...], limit: int) -> tuple[Answered, bool]:
        """Entries of one session, oldest first: all for its members, the promoted ones for others; and which."""
        try:
            self._sessions.members_only(call, session_id)
            is_member = True
        except Forbidden:
            is_member = False
        scope = EntryScope(sessions=(session_id,), promoted_only=not is_member)
        if limit <= NEWEST:
            return self.read(Filter(thought_types=types, entries=scope), ALL, limit), is_member
        every = [each for each in self._ledger.entries(HISTORY, scope) if not types or each["thought_type"] in types]
        return Answered(self.rows(every[-limit:])), is_member

    def exists(self, entry_id: str) -> bool:
        """Whether there is such an entry, seen or not; a forgotten one is none."""
        try:
            return self._ledger.by_ids(HISTORY, [entry_id], ALL).get(entry_id.lower()) is not None
        except NotFound:  # there is no entry yet
            return False

    def neighbours(self, row: HistoryRow, least: float) -> list[str]:
        """Ids of entries whose meaning is nearly the same, as far as they are embedded."""
        return self._ledger.neighbours(HISTORY, row["id"], least)

    def by_ids(self, call: Call, ids: Sequence[str]) -> dict[str, Thought | None]:
        """Those of these ids that are thoughts; None where the caller may not see it or it is forgotten."""
        try:
            return self._ledger.by_ids(HISTORY, ids, self._sessions.viewer(call)) if ids else {}
        except NotFound:  # there is no entry yet
            return {}


def as_row(thought: Thought, promoted: Collection[int]) -> HistoryRow:
    category = category_of(thought["thought_type"], thought["tags"])
    kind = NODE_OF_CATEGORY.get(category)
    row: HistoryRow = {
        "id": thought["id"],
        "source": THOUGHTS,
        "type": "entry" if kind is None else kind.name.lower(),
        "category": category,
        "content": thought["content"],
        "agent": thought["agent_id"],
        "timestamp": thought["timestamp"],
    }
    summary = next((tag for tag in _SUMMARY_TAGS if tag in thought["tags"]), None)
    if summary is not None and thought["thought_type"] == DONE:
        row["summary_type"] = summary
    if thought["session_id"]:
        row["session_id"] = thought["session_id"]
        row["promoted"] = thought["index"] in promoted
    if thought["tags"]:
        row["tags"] = thought["tags"]
    if (confidence := thought.get("confidence")) is not None:
        row["confidence"] = confidence
    if "score" in thought:
        row["score"] = thought["score"]
    return row
