"""Effects: every mutation goes through `commit` (rows) or `apply` (files and rows), exactly once per key."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lithos.core.call import Call
from lithos.core.clock import Clock
from lithos.errors import Busy
from lithos.storage.audit.events import End, Events
from lithos.storage.database.database import Database
from lithos.storage.effects import intents
from lithos.storage.effects.idempotency import Idempotency
from lithos.storage.effects.saga import AfterRecovery, Saga
from lithos.storage.faults import Faults, NoFaults
from lithos.storage.files import Root
from lithos.storage.values import Answer, Outcome, Plan, Tx


class Effects:
    def __init__(
        self,
        database: Database,
        events: Events,
        once: Idempotency,
        roots: Mapping[str, Root] | None = None,
        *,
        clock: Clock,
        faults: Faults | None = None,
    ) -> None:
        self._database = database
        self._events = events
        self._once = once
        self._saga = Saga(
            database, events, once, roots if roots is not None else {}, clock=clock, faults=faults or NoFaults()
        )

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
        known = self._recall(tx, call)
        if known is not None:
            return known
        end: End | None = self._events.ask_end(tx)
        outcome = work(tx)
        if outcome.refused:
            raise _Refused(outcome.answer)
        for draft in outcome.events:
            self._events.append(tx, call, draft, end=end)
            end = None
        self._once.record(tx, call, outcome.answer)
        return outcome.answer

    def apply(self, call: Call, decide: Callable[[], Plan | Outcome]) -> Answer:
        """Carry out the plan that `decide` makes: all of its files and rows, or none, across a crash too.

        A call that was answered before gets that answer, and `decide` does not run. Conflict, with the current
        `version`, when a file is not what the plan was made for; nothing is changed then, and the key stays free.
        """
        with self._once.turn(call):
            self._saga.settle_left()
            known = self._database.read(lambda tx: self._recall(tx, call)) if _has_key(call) else None
            return known if known is not None else self._apply(call, decide())

    def _apply(self, call: Call, decided: Plan | Outcome) -> Answer:
        if isinstance(decided, Plan):
            try:
                return self._saga.run(call, decided, lambda tx: self._answered(tx, call))
            except _Refused as answered:
                return answered.answer
        return decided.answer if decided.refused else self._commit(call, lambda tx: decided)

    def recover(self) -> list[str]:
        """At start, before the first call: settle what a crash left open; the ids of the events concerned."""
        self._database.read(self._events.drop_anchor)
        return self._saga.recover()

    def settle(self) -> None:
        """Settle what an ended call had to leave open (a full disk, a lost connection); each `apply` does so too."""
        self._saga.settle_left()

    def on_recovered(self, event_type: str, after: AfterRecovery) -> None:
        """What to do, for this type of event, instead of the `Plan.after` that a crash has lost."""
        self._saga.on_recovered(event_type, after)

    def _recall(self, tx: Tx, call: Call) -> Answer | None:
        used = self._once.ask(tx, call)
        elsewhere = intents.ask_elsewhere(tx, call, self._events.store)
        known = self._once.recall(tx, call, used)
        if known is None and elsewhere is not None and elsewhere.one() is not None:
            raise Busy(
                "the first call with this idempotency_key has not ended yet, on another host",
                hint="Call again with the same key.",
                retry_after_ms=500,
            )
        return known

    def _answered(self, tx: Tx, call: Call) -> None:
        """Looked up again in the intent's own transaction: another host may have answered meanwhile."""
        known = self._recall(tx, call)
        if known is not None:
            raise _Refused(known)


def _has_key(call: Call) -> bool:
    return call.idempotency_key is not None or call.delivery is not None


class _Refused(Exception):
    """Undoes the transaction of a refused or already answered call on its way to the caller."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("refused")
        self.answer = answer
