"""Effects: every mutation goes through `commit` (rows) or `apply` (files and rows), exactly once per key.

`apply` is a saga: a row before (the intent), the files, a row after. All files of a plan change or none does. A crash
at any step is settled by hashes before the first call of the next start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.errors import Busy, Conflict, Internal, LithosError, NotFound, Unavailable
from lithos.storage.audit.events import ChainEnd, Events, EventStatus
from lithos.storage.database.database import Database
from lithos.storage.effects import intent_rows
from lithos.storage.effects.idempotency import Idempotency, has_key
from lithos.storage.effects.intent_rows import Intent
from lithos.storage.effects.shared import Answered, Item, SharedCommit, SharedWork
from lithos.storage.effects.steps import Step, StepState, back, forward, state_of, step_of
from lithos.storage.faults import Faults, NoFaults
from lithos.storage.files import Root
from lithos.storage.values import Answer, Outcome, Plan, Row, Tx


@dataclass(frozen=True, slots=True)
class Applied:
    """The answer of an `apply`, and the plan that this call carried out; None: it changed no file."""

    answer: Answer
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """A change that a crash interrupted and recovery completed."""

    event: Row
    call: Call
    answer: Answer
    steps: tuple[Step, ...]


AfterRecovery = Callable[[Tx, Recovered], None]
After = Callable[[Tx], None] | None
_log = logging.getLogger(__name__)


class Effects:
    def __init__(
        self,
        database: Database,
        events: Events,
        idempotency: Idempotency,
        roots: Mapping[str, Root] | None = None,
        *,
        clock: Clock,
        faults: Faults | None = None,
    ) -> None:
        self._database = database
        self._events = events
        self._idempotency = idempotency
        self._roots = roots if roots is not None else {}
        self._clock = clock
        self._faults = faults or NoFaults()
        self._recovered: dict[str, AfterRecovery] = {}
        self._left: dict[str, After] = {}  # open though its call has ended: the closing row could not be written
        self._lock = threading.Lock()

    def commit(self, call: Call, work: Callable[[Tx], Outcome], *, audited: bool = True) -> Answer:
        """Run `work` in one transaction with its events and the record of its answer.

        A repeated call gets the first answer, and `work` does not run. What a refused outcome had written is undone,
        and its key stays free. `work` may run twice, so it has no effect but on `tx`. `audited` false: it usually has
        no event, so the chain of events is neither locked nor read beforehand.
        """
        with self._idempotency.lock(call):
            try:
                return self._database.write(lambda tx: self._commit_once(tx, call, work, audited))
            except Answered as answered:
                return answered.answer

    def shared(self, work: SharedWork[Item]) -> SharedCommit[Item]:
        """`commit`, without events, for calls that wait together: `work` gets their items as one list."""
        return SharedCommit(self._database, self._idempotency, self._recall, work)

    def _commit_once(self, tx: Tx, call: Call, work: Callable[[Tx], Outcome], audited: bool = True) -> Answer:
        known = self._recall(tx, call) if has_key(call) else None
        if known is not None:
            return known
        end: ChainEnd | None = self._events.ask_end(tx) if audited else None
        outcome = work(tx)
        if outcome.refused:
            raise Answered(outcome.answer)
        for draft in outcome.events:
            self._events.append(tx, call, draft, end=end)
            end = None
        self._idempotency.record(tx, call, outcome.answer)
        return outcome.answer

    def apply(self, call: Call, decide: Callable[[], Plan | Outcome]) -> Applied:
        """Carry out the plan that `decide` makes: all of its files and rows, or none, across a crash too.

        A repeated call gets the first answer, and `decide` does not run. Conflict, with the current `version`, when a
        file is not what the plan was made for; nothing is changed then, and the key stays free.
        """
        with self._idempotency.lock(call):
            self.settle()
            known = self._database.read(lambda tx: self._recall(tx, call)) if has_key(call) else None
            if known is not None:
                return Applied(known)
            plan = decide()
            if isinstance(plan, Outcome):
                return Applied(self._outcome(call, plan))
            intent = self._intent(call, plan)
            try:
                self._open(intent, plan)
            except Answered as answered:
                return Applied(answered.answer)
            originals: list[bytes | None] = [None] * len(intent.steps)
            with self._undo_on_error(intent, originals):
                self._faults.at("saga.opened")
                for number, step in enumerate(intent.steps):
                    self._faults.at("saga.step")
                    originals[number] = forward(step, self._roots[step.root], "before")
                    self._faults.at("saga.stepped")
                if plan.check is not None:
                    plan.check()
                self._close(intent, plan.after)
            self._faults.at("saga.closed")
            return Applied(intent.answer, plan)

    def settle(self) -> None:
        """Settle what an ended call had to leave open (a full disk, a lost connection); each `apply` does so too."""
        if not self._left:
            return
        with self._lock:
            left, self._left = self._left, {}
        for intent in self._open_intents():
            if intent.id in left:
                self._settle_or_leave(intent, left[intent.id])

    def recover(self) -> list[str]:
        """At start, before the first call: settle what a crash left open; the ids of the events concerned."""
        self._database.read(self._events.record_anchor)
        for root in self._roots.values():
            root.recover()
        found = self._open_intents()
        for intent in found:
            self._faults.at("saga.recover")
            self._settle_or_leave(intent, partial(self._after_recovery, intent=intent))
        return [intent.id for intent in found]

    def on_recovered(self, event_type: str, after: AfterRecovery) -> None:
        """Register what recovery does for events of this type, in place of the `Plan.after` that the crash lost."""
        self._recovered[event_type] = after

    # Idempotency

    def _recall(self, tx: Tx, call: Call) -> Answer | None:
        used = self._idempotency.ask(tx, call)
        elsewhere = intent_rows.ask_elsewhere(tx, call, self._events.store)
        known = self._idempotency.recall(tx, call, used)
        if known is None and elsewhere is not None and elsewhere.one() is not None:
            raise Busy(
                "the first call with this idempotency_key is still running on another host",
                hint="Call again with the same key.",
                retry_after_ms=500,
            )
        return known

    def _outcome(self, call: Call, outcome: Outcome) -> Answer:
        """An `apply` that has no file to change; the caller holds its key."""
        if outcome.refused:
            return outcome.answer
        return self._database.write(lambda tx: self._commit_once(tx, call, lambda tx: outcome))

    # The saga

    def _intent(self, call: Call, plan: Plan) -> Intent:
        if not plan.changes:
            raise Internal("a plan without a file change", hint="Return an Outcome instead.")
        unknown = {change.root for change in plan.changes} - set(self._roots)
        if unknown:
            raise Internal(f"there is no root {min(unknown)!r}", hint="Storage is given its roots by name.")
        steps = tuple(map(step_of, plan.changes))
        return Intent(self._events.new_id(), self._events.store, micros(self._clock.now()), call, plan.answer, steps)

    def _open(self, intent: Intent, plan: Plan) -> None:
        """The row before: from here on a crash is seen and settled."""

        def work(tx: Tx) -> None:
            known = self._recall(tx, intent.call)  # again, in this transaction: another host may have answered
            if known is not None:
                raise Answered(known)
            if plan.before is not None:
                plan.before(tx)
            self._events.append(tx, intent.call, plan.event, "pending", intent.id)
            intent_rows.save(tx, intent)

        self._faults.at("saga.open")
        try:
            self._database.write(work)
        except Unavailable:
            self._leave(intent, plan.after)
            raise

    def _close(self, intent: Intent, after: After) -> None:
        """The row after: the effect counts, and a repeated call gets its answer."""
        self._faults.at("saga.close")
        try:
            self._database.write(lambda tx: self._settled(tx, intent, after), reserve=True)
        except Unavailable:
            self._leave(intent, after)
            raise

    def _settled(self, tx: Tx, intent: Intent, after: After) -> None:
        if after is not None:
            after(tx)
        self._events.advance(tx, intent.id, "committed", through=("written",))
        self._idempotency.record(tx, intent.call, intent.answer)
        intent_rows.drop(tx, intent.id)

    @contextmanager
    def _undo_on_error(self, intent: Intent, originals: Sequence[bytes | None]) -> Iterator[None]:
        """Undo the files, unless the intent stays open because its closing row could not be written."""
        try:
            yield
        except Exception as error:
            if intent.id not in self._left:
                self._undo(intent, originals, error)
            raise

    def _undo(self, intent: Intent, originals: Sequence[bytes | None], error: Exception) -> None:
        left = [
            step.target
            for step, original in reversed([*zip(intent.steps, originals, strict=True)])
            if not self._undone(step, original)
        ]
        status: EventStatus = "conflict" if left or isinstance(error, Conflict) else "failed"
        self._end(intent, status, {**_described(error), **({"left": left} if left else {})})

    def _undone(self, step: Step, original: bytes | None) -> bool:
        root = self._roots[step.root]
        state = state_of(step, root)
        return state == "before" or back(step, root, state, original)

    def _end(self, intent: Intent, status: EventStatus, error: dict[str, Any]) -> None:
        """Without effect; the key stays free."""

        def work(tx: Tx) -> None:
            if intent_rows.is_open(tx, intent.id):
                self._events.advance(tx, intent.id, status, error)
                intent_rows.drop(tx, intent.id)

        try:
            self._database.write(work, reserve=True)
        except Unavailable:
            self._leave(intent, None)

    def _leave(self, intent: Intent, after: After) -> None:
        with self._lock:
            self._left[intent.id] = after

    # Settling what was left open

    def _open_intents(self) -> list[Intent]:
        return self._database.read(lambda tx: intent_rows.load(tx, self._events.store))

    def _settle_or_leave(self, intent: Intent, after: After) -> None:
        """A full disk must not keep the server from starting: such an intent is settled before a later write."""
        try:
            self._settle(intent, after)
        except Unavailable as error:
            _log.warning("event %s is not settled yet: %s", intent.id, error.message)
            self._leave(intent, after)

    def _settle(self, intent: Intent, after: After) -> None:
        """Back if nothing was changed yet, else forward. Where another program wrote since, both texts are kept."""
        found = [(step, self._root(step), state_of(step, self._root(step))) for step in intent.steps]
        touched = any(state in ("after", "between") for _, _, state in found)
        foreign = [(step, root) for step, root, state in found if not _finished(step, root, state, touched)]
        if foreign:
            copies = [root.keep_conflict(step.path, step.data) for step, root in foreign if step.data is not None]
            message = "another program changed the file"
            self._end(intent, "conflict", {"code": "conflict", "message": message, "copies": copies})
        elif touched:
            self._database.write(lambda tx: self._settled(tx, intent, after), reserve=True)
        else:
            self._end(intent, "failed", {"code": "host_restarted", "message": "interrupted before it took effect"})

    def _root(self, step: Step) -> Root:
        found = self._roots.get(step.root)
        if found is None:
            raise Internal(f"there is no root {step.root!r}", hint="Storage is given its roots by name.")
        return found

    def _after_recovery(self, tx: Tx, *, intent: Intent) -> None:
        event = tx.one("SELECT * FROM events WHERE id = ?", intent.id)
        if event is not None and event["type"] in self._recovered:
            event = {**event, "details": orjson.loads(event["details"])}
            self._recovered[event["type"]](tx, Recovered(event, intent.call, intent.answer, intent.steps))


def _finished(step: Step, root: Root, state: StepState, touched: bool) -> bool:
    """False if another program's bytes are, or come to be, where this step should have put ours."""
    try:
        if touched and state in ("before", "between"):
            forward(step, root, state)
    except (Conflict, NotFound):
        return False
    return state != "foreign"


def _described(error: Exception) -> dict[str, Any]:
    """No stored text of an unexpected error: its message could contain anything."""
    if isinstance(error, LithosError):
        return {"code": error.code, "message": error.message}
    return {"code": "internal", "message": type(error).__name__}
