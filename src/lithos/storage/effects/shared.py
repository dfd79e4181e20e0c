"""Shared commits: calls that wait together become one list of items and one round of statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from lithos.core.call import Call
from lithos.errors import LithosError
from lithos.storage.database.database import Database
from lithos.storage.effects.idempotency import Idempotency, has_key
from lithos.storage.values import Answer, Outcome, Tx

Item = TypeVar("Item")
SharedWork = Callable[[Tx, Sequence[Item]], Sequence[Outcome | LithosError]]


class Answered(Exception):
    """Undoes the transaction of a refused or repeated call on its way to the caller."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("answered")
        self.answer = answer


class SharedCommit(Generic[Item]):
    """`work` answers each item with its outcome or its error; for one that is refused or failed it writes nothing."""

    def __init__(
        self,
        database: Database,
        idempotency: Idempotency,
        recall: Callable[[Tx, Call], Answer | None],
        work: SharedWork[Item],
    ) -> None:
        self._database = database
        self._idempotency = idempotency
        self._recall = recall
        self._work = work

    def commit(self, call: Call, item: Item) -> Answer:
        if not has_key(call):
            return self._commit(call, item)
        with self._idempotency.lock(call):
            return self._commit(call, item)

    def _commit(self, call: Call, item: Item) -> Answer:
        try:
            return self._database.write_together(self._run, (call, item))
        except Answered as answered:
            return answered.answer

    def _run(self, tx: Tx, waiting: Sequence[tuple[Call, Item]]) -> list[Answer | Exception]:
        results: dict[int, Answer | Exception] = {}
        for number, (call, _) in enumerate(waiting):
            known = self._known(tx, call)
            if known is not None:
                results[number] = known
        new = [number for number in range(len(waiting)) if number not in results]
        outcomes = self._work(tx, [waiting[number][1] for number in new])
        for number, outcome in zip(new, outcomes, strict=True):
            results[number] = self._recorded(tx, waiting[number][0], outcome)
        return [results[number] for number in range(len(waiting))]

    def _known(self, tx: Tx, call: Call) -> Exception | None:
        """How a repeated call ends; None: it is new."""
        if not has_key(call):
            return None
        try:
            answer = self._recall(tx, call)
        except LithosError as error:
            return error
        return Answered(answer) if answer is not None else None

    def _recorded(self, tx: Tx, call: Call, outcome: Outcome | LithosError) -> Answer | Exception:
        if isinstance(outcome, LithosError):
            return outcome
        if outcome.refused:
            return Answered(outcome.answer)
        self._idempotency.record(tx, call, outcome.answer)
        return outcome.answer
