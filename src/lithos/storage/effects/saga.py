"""The saga: row, files, row. All files of a plan change or none does; a crash at any step is settled by hashes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.errors import Conflict, Internal, LithosError, NotFound, Unavailable
from lithos.storage.audit.events import Events, Status
from lithos.storage.database.database import Database
from lithos.storage.effects import intents
from lithos.storage.effects.idempotency import Idempotency
from lithos.storage.effects.intents import Intent
from lithos.storage.effects.steps import Hand, State, Step, step_of
from lithos.storage.faults import Faults
from lithos.storage.files import Root
from lithos.storage.values import Answer, Plan, Row, Tx


@dataclass(frozen=True, slots=True)
class Recovered:
    """A change that a crash interrupted and recovery brought to its end."""

    event: Row
    call: Call
    answer: Answer
    steps: tuple[Step, ...]


AfterRecovery = Callable[[Tx, Recovered], None]
After = Callable[[Tx], None] | None
_log = logging.getLogger(__name__)


class Saga:
    def __init__(
        self,
        database: Database,
        events: Events,
        once: Idempotency,
        roots: Mapping[str, Root],
        *,
        clock: Clock,
        faults: Faults,
    ) -> None:
        self._database = database
        self._events = events
        self._once = once
        self._roots = roots
        self._clock = clock
        self._faults = faults
        self._recovered: dict[str, AfterRecovery] = {}
        self._left: dict[str, After] = {}  # open though its call has ended: the closing row could not be written
        self._lock = threading.Lock()

    def on_recovered(self, event_type: str, after: AfterRecovery) -> None:
        self._recovered[event_type] = after

    def run(self, call: Call, plan: Plan, check: Callable[[Tx], None]) -> Answer:
        intent = self._intent(call, plan)
        hands = self._hands(intent)
        self._open(intent, plan, check)
        self._change(intent, hands, plan.check)
        self._close(intent, hands, plan.after)
        return intent.answer

    def _intent(self, call: Call, plan: Plan) -> Intent:
        steps = tuple(map(step_of, plan.changes))
        if not steps:
            raise Internal("a plan without a change of a file", hint="Give an Outcome instead.")
        return Intent(self._events.new_id(), self._events.store, micros(self._clock.now()), call, plan.answer, steps)

    def _open(self, intent: Intent, plan: Plan, check: Callable[[Tx], None]) -> None:
        """The row before: from here on a crash is seen and settled."""

        def work(tx: Tx) -> None:
            check(tx)
            if plan.before is not None:
                plan.before(tx)
            self._events.append(tx, intent.call, plan.event, "pending", intent.id)
            intents.save(tx, intent)

        self._faults.at("saga.open")
        try:
            self._database.write(work)
        except Unavailable:
            self._leave(intent, plan.after)
            raise

    def _change(self, intent: Intent, hands: list[Hand], check: Callable[[], None] | None) -> None:
        try:
            self._faults.at("saga.opened")
            for hand in hands:
                self._faults.at("saga.step")
                hand.forward("before")
                self._faults.at("saga.stepped")
            if check is not None:
                check()
        except Exception as error:
            self._undo(intent, hands, error)
            raise

    def _close(self, intent: Intent, hands: list[Hand], after: After) -> None:
        """The row after: the effect counts, and its answer is known to whoever asks again."""
        try:
            self._faults.at("saga.close")
            self._database.write(lambda tx: self._settled(tx, intent, after), reserve=True)
        except Unavailable:
            self._leave(intent, after)
            raise
        except Exception as error:
            self._undo(intent, hands, error)
            raise
        self._faults.at("saga.closed")

    def _settled(self, tx: Tx, intent: Intent, after: After) -> None:
        if after is not None:
            after(tx)
        self._events.advance(tx, intent.id, "committed", through=("written",))
        self._once.record(tx, intent.call, intent.answer)
        intents.drop(tx, intent.id)

    def _undo(self, intent: Intent, hands: list[Hand], error: Exception) -> None:
        left = [hand.path for hand in reversed(hands) if not self._undone(hand)]
        status: Status = "conflict" if left or isinstance(error, Conflict) else "failed"
        self._end(intent, status, {**_described(error), **({"left": left} if left else {})})

    def _undone(self, hand: Hand) -> bool:
        state = hand.state()
        return state == "before" or hand.back(state)

    def _end(self, intent: Intent, status: Status, error: dict[str, Any]) -> None:
        """Without effect; the key stays free."""

        def work(tx: Tx) -> None:
            if intents.is_open(tx, intent.id):
                self._events.advance(tx, intent.id, status, error)
                intents.drop(tx, intent.id)

        try:
            self._database.write(work, reserve=True)
        except Unavailable:
            self._leave(intent, None)

    def _leave(self, intent: Intent, after: After) -> None:
        with self._lock:
            self._left[intent.id] = after

    def settle_left(self) -> None:
        """What an ended call left open, because the database would not take its last row, is settled now."""
        if not self._left:
            return
        with self._lock:
            left, self._left = self._left, {}
        for intent in self._opened():
            if intent.id in left:
                self._settle_or_leave(intent, left[intent.id])

    def recover(self) -> list[str]:
        """At start, before the first call: settle whatever a crash left open; the ids of the events concerned."""
        for root in self._roots.values():
            root.recover()
        found = self._opened()
        for intent in found:
            self._faults.at("saga.recover")
            self._settle_or_leave(intent, partial(self._after_recovery, intent=intent))
        return [intent.id for intent in found]

    def _opened(self) -> list[Intent]:
        return self._database.read(lambda tx: intents.load(tx, self._events.store))

    def _settle_or_leave(self, intent: Intent, after: After) -> None:
        """A full disk must not keep the server from starting: such an intent is settled before a later write."""
        try:
            self._settle(intent, after)
        except Unavailable as error:
            _log.warning("event %s is not settled yet: %s", intent.id, error.message)
            self._leave(intent, after)

    def _settle(self, intent: Intent, after: After) -> None:
        """Back if nothing was changed yet, else forward; where somebody else has written since, both are kept."""
        hands = self._hands(intent)
        states = [hand.state() for hand in hands]
        touched = "after" in states or "between" in states
        foreign = [hand for hand, state in zip(hands, states, strict=True) if not self._finished(hand, state, touched)]
        if foreign:
            copies = [copy for hand in foreign for copy in hand.keep_aside()]
            self._end(intent, "conflict", {"code": "conflict", "message": "changed by somebody else", "copies": copies})
        elif touched:
            self._database.write(lambda tx: self._settled(tx, intent, after), reserve=True)
        else:
            self._end(intent, "failed", {"code": "host_restarted", "message": "interrupted before it took effect"})

    def _finished(self, hand: Hand, state: State, touched: bool) -> bool:
        """False when somebody else's bytes are, or come to be, where this step should have put ours."""
        try:
            if touched and state in ("before", "between"):
                hand.forward(state)
        except (Conflict, NotFound):
            return False
        return state != "foreign"

    def _after_recovery(self, tx: Tx, *, intent: Intent) -> None:
        event = tx.one("SELECT * FROM events WHERE id = ?", intent.id)
        if event is not None and event["type"] in self._recovered:
            event = {**event, "details": orjson.loads(event["details"])}
            self._recovered[event["type"]](tx, Recovered(event, intent.call, intent.answer, intent.steps))

    def _hands(self, intent: Intent) -> list[Hand]:
        return [Hand(self._root(step.root), step) for step in intent.steps]

    def _root(self, name: str) -> Root:
        found = self._roots.get(name)
        if found is None:
            raise Internal(f"there is no root {name!r}", hint="`app` names the roots.")
        return found


def _described(error: Exception) -> dict[str, Any]:
    """No stored text of an unexpected error: its message could carry anything."""
    if isinstance(error, LithosError):
        return {"code": error.code, "message": error.message}
    return {"code": "internal", "message": type(error).__name__}
