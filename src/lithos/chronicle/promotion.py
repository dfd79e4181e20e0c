"""Promotion: an entry of a session becomes everyone's, and can be taken back. Each step is an event."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.core.validators import text_block
from lithos.errors import Forbidden, InvalidInput, NotFound
from lithos.graph.history import RESOLVED
from lithos.ledger import EntryScope, Ledger, Thought
from lithos.sessions import HISTORY, PROMOTIONS, Session, SessionChanged, Sessions
from lithos.storage import Database, Effects, EventDraft, Outcome, Tx

LONGEST_REASON = 2_000
MOST_IDS = 200
PROVEN = frozenset({"Decision", "PatternDetected", "LessonLearned"})
FAILURES = frozenset({"Mistake", "AssumptionInvalidated"})
RESOLVING = frozenset({"Correction", "LessonLearned", "StrategyShift", "TaskComplete"})


class PromotedEntries(TypedDict):
    ids: list[str]
    sessions: list[str]
    unchanged: NotRequired[list[str]]  # promoted already, or not promoted


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    place: int
    session_id: str
    promoted: bool


class Promotion:
    def __init__(
        self,
        database: Database,
        effects: Effects,
        sessions: Sessions,
        ledger: Ledger,
        clock: Clock,
        *,
        promote_after: int = 3,
        inspectors: Collection[str] = (),
    ) -> None:
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._ledger = ledger
        self._clock = clock
        self._promote_after = promote_after
        self._inspectors = frozenset(inspectors)

    def promote(self, call: Call, ids: Sequence[str], reason: str, evidence: Sequence[str] = ()) -> PromotedEntries:
        """By a person, or by an inspector's token."""
        self._need_right(call)
        return self._promote(call, self._entries(ids), text_block(reason, "reason", LONGEST_REASON), evidence)

    def demote(self, call: Call, ids: Sequence[str], reason: str) -> PromotedEntries:
        """Back to its session alone."""
        self._need_right(call)
        return self._take_back(call, "demote", self._entries(ids), text_block(reason, "reason", LONGEST_REASON))

    def rollback(self, call: Call, session_id: str, reason: str) -> PromotedEntries:
        """Take back everything that a session has promoted."""
        self._need_right(call)
        if not self._sessions.is_session(session_id):
            raise NotFound(f"there is no session {session_id[:80]!r}", hint="lithos_session_list shows them.")
        rows = self._database.read(
            lambda tx: tx.all(
                "SELECT * FROM session_promotions WHERE session_id = ? AND store = ? ORDER BY place",
                *(session_id, self._sessions.store_id),
            )
        )
        entries = [Entry(row["thought_id"], row["place"], session_id, True) for row in rows]
        return self._take_back(call, "rollback", entries, text_block(reason, "reason", LONGEST_REASON))

    def complete(self, call: Call, session_id: str, summary: str | None) -> SessionChanged:
        """End a session well: its decisions, patterns and resolved failures are promoted in the same transaction."""
        places: list[int] = []

        def ended(tx: Tx, call: Call, session: Session) -> int:
            worthy = [each for each in self._worthy(session.id) if not each.promoted]
            places[:] = [each.place for each in worthy]
            self._insert(tx, call, worthy, "session completed")
            return len(worthy)

        answer = self._sessions.complete(call, session_id, summary, ended)
        self._changed(places)
        return answer

    def count_uses(self, call: Call, used_ids: Sequence[str], returned_ids: Collection[str]) -> list[str]:
        """Entries of other sessions that were retrieved and helped. Each bound identity counts once; an unbound agent
        promotes nothing. The ids that reached the number and were promoted."""
        own = self._sessions.current(call)
        if not call.bound or call.agent is None or own is None:
            return []
        used = [each for each in self._known(set(used_ids) & set(returned_ids)) if not each.promoted]
        helped = [each for each in used if each.session_id != own]
        if not helped:
            return []
        identity, now = call.agent, micros(self._clock.now())

        def count(tx: Tx) -> dict[str, list[str]]:
            for each in helped:
                tx.put(_USE, each.id, identity, own, now)
            sql = "SELECT identity FROM session_uses WHERE thought_id = ? ORDER BY identity"
            return {each.id: [row["identity"] for row in tx.all(sql, each.id)] for each in helped}

        users = self._database.write(count)
        proven = [each for each in helped if len(users[each.id]) >= self._promote_after]
        for each in proven:
            plain = replace(call, idempotency_key=None, delivery=None)
            self._promote(plain, [each], f"helped {len(users[each.id])} times in other sessions", users[each.id])
        return [each.id for each in proven]

    # -- steps

    def _need_right(self, call: Call) -> None:
        if call.by_person or (call.bound and call.agent in self._inspectors):
            return
        raise Forbidden(
            "a person or an inspector promotes entries",
            hint="Use the lithos command, a token bound to a user, or one bound to an agent of sessions.inspectors.",
        )

    def _promote(self, call: Call, entries: Sequence[Entry], reason: str, evidence: Sequence[str]) -> PromotedEntries:
        new = [each for each in entries if not each.promoted]

        def work(tx: Tx) -> Outcome:
            self._insert(tx, call, new, reason)
            return Outcome(_answer(entries, new), tuple(_events("promote", new, reason, evidence)))

        answer = self._effects.commit(call, work)
        self._changed([each.place for each in new])
        return cast(PromotedEntries, answer)

    def _insert(self, tx: Tx, call: Call, entries: Iterable[Entry], reason: str) -> None:
        now, by = micros(self._clock.now()), call.agent or call.user
        for each in entries:
            row = (each.id, self._sessions.store_id, HISTORY, each.place, each.session_id, reason, by, now)
            tx.put(_INSERT, *row)
        tx.notify(PROMOTIONS)

    def _take_back(self, call: Call, op: str, entries: Sequence[Entry], reason: str) -> PromotedEntries:
        known = [each for each in entries if each.promoted]

        def work(tx: Tx) -> Outcome:
            for each in known:
                tx.put("DELETE FROM session_promotions WHERE thought_id = ?", each.id)
                tx.put("DELETE FROM session_uses WHERE thought_id = ?", each.id)
            tx.notify(PROMOTIONS)
            return Outcome(_answer(entries, known), tuple(_events(op, known, reason, ())))

        answer = self._effects.commit(call, work)
        self._changed([each.place for each in known])
        return cast(PromotedEntries, answer)

    def _changed(self, places: Sequence[int]) -> None:
        """Search follows; after a kill before this, the comparison of indexes finds it."""
        self._sessions.forget_promotions()
        if places:
            self._ledger.rescope(HISTORY, places)

    def _entries(self, ids: Sequence[str]) -> list[Entry]:
        if not 1 <= len(ids) <= MOST_IDS:
            raise InvalidInput(f"there are {len(ids)} ids", hint=f"Name 1 to {MOST_IDS} entries.")
        found = {each.id: each for each in self._known(ids)}
        for missing in [each for each in ids if each not in found]:
            raise NotFound(
                f"{missing[:80]!r} is no entry of a session", hint="lithos_session_query shows entries with their ids."
            )
        return [found[each] for each in dict.fromkeys(ids)]

    def _known(self, ids: Collection[str]) -> list[Entry]:
        """Those of them that are entries of sessions."""
        try:
            chain = self._ledger.chain(HISTORY)
        except NotFound:
            return []
        places = {each: chain.find_id(each) for each in sorted(ids)}
        scopes = self._ledger.scopes(chain)
        rows = {each: scopes.row(place) for each, place in places.items() if place is not None}
        return [
            Entry(each, cast(int, places[each]), row.session_id, row.promoted)
            for each, row in rows.items()
            if row.session_id is not None
        ]

    def _worthy(self, session_id: str) -> list[Entry]:
        """Decisions, patterns, lessons, and failures that a later entry of the session resolves."""
        thoughts = self._ledger.entries(HISTORY, EntryScope(sessions=(session_id,)))
        resolved = {index for each in thoughts if each["thought_type"] in RESOLVING for index in _targets(each)}
        promoted = self._sessions.promoted(HISTORY)
        return [
            Entry(each["id"], each["index"], session_id, each["index"] in promoted)
            for each in thoughts
            if each["thought_type"] in PROVEN
            or (each["thought_type"] in FAILURES and (each["index"] in resolved or RESOLVED in each["tags"]))
        ]


def _targets(thought: Thought) -> list[int]:
    return [*thought["refs"], *(each["target"] for each in thought["relations"])]


def _answer(asked: Sequence[Entry], done: Sequence[Entry]) -> dict[str, Any]:
    ids = [each.id for each in done]
    answer: dict[str, Any] = {"ids": ids, "sessions": sorted({each.session_id for each in done})}
    unchanged = [each.id for each in asked if each.id not in ids]
    return {**answer, "unchanged": unchanged} if unchanged else answer


def _events(op: str, entries: Sequence[Entry], reason: str, evidence: Sequence[str]) -> Iterable[EventDraft]:
    for session in sorted({each.session_id for each in entries}):
        ids = [each.id for each in entries if each.session_id == session]
        details = {"entries": ids, "reason": reason, "evidence": list(evidence)}
        yield EventDraft("session", op, thing=session, details=details)


_INSERT = """
INSERT INTO session_promotions (thought_id, store, chain, place, session_id, reason, agent, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thought_id) DO NOTHING
"""
_USE = """
INSERT INTO session_uses (thought_id, identity, session_id, at) VALUES (?, ?, ?, ?)
ON CONFLICT (thought_id, identity) DO NOTHING
"""
