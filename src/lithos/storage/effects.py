"""Effects: every mutation goes through `commit` (rows) or `apply` (files and rows), exactly once per key."""

from __future__ import annotations

from collections.abc import Callable

from lithos.core.call import Call
from lithos.storage.database import Database
from lithos.storage.events import Events
from lithos.storage.once import Once
from lithos.storage.values import Answer, Outcome, Tx


class Effects:
    def __init__(self, database: Database, events: Events, once: Once) -> None:
        self._database = database
        self._events = events
        self._once = once

    def commit(self, call: Call, work: Callable[[Tx], Outcome]) -> Answer:
        """Run `work` in one transaction with its events and the record of its answer.

        A call that was answered before gets that answer, and `work` does not run. What a refused outcome had written
        is undone, and its key stays free. `work` may run twice, so that it has no effect but on `tx`.
        """
        with self._once.turn(call):
            return self._commit(call, work)

    def _commit(self, call: Call, work: Callable[[Tx], Outcome]) -> Answer:
        try:
            return self._database.write(lambda tx: self._commit_once(tx, call, work))
        except _Refused as refusal:
            return refusal.answer

    def _commit_once(self, tx: Tx, call: Call, work: Callable[[Tx], Outcome]) -> Answer:
        known = self._once.recall(tx, call)
        if known is not None:
            return known
        outcome = work(tx)
        if outcome.refused:
            raise _Refused(outcome.answer)
        for draft in outcome.events:
            self._events.append(tx, call, draft)
        self._once.record(tx, call, outcome.answer)
        return outcome.answer


class _Refused(Exception):
    """Undoes the transaction of a refused outcome on its way to the caller."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("refused")
        self.answer = answer
