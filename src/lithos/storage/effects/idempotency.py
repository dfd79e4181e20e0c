"""Idempotency: a repeated call gets the first answer and has no second effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

import orjson

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.core.keyed_lock import KeyedLock
from lithos.errors import KeyReused
from lithos.storage.values import Answer, Deferred, Row, Tx

KEEP_HOURS = 48.0
_UNLOCKED = nullcontext()


class Idempotency:
    """Answers by (tool, agent, key) and by (guest, request), recorded in the transaction of their effect."""

    def __init__(self, clock: Clock, keep_hours: float = KEEP_HOURS) -> None:
        self._clock = clock
        self._keep = timedelta(hours=keep_hours)
        self._locks = KeyedLock()

    def lock(self, call: Call) -> AbstractContextManager[None]:
        """Calls with the same key run one at a time."""
        if not has_key(call):
            return _UNLOCKED
        return self._locks.hold(*_keys(call))

    def ask(self, tx: Tx, call: Call) -> Deferred | None:
        """Look up the call's key, and hold it until this transaction ends."""
        if call.idempotency_key is None:
            return None
        scope = (call.tool, call.agent or "", call.idempotency_key)
        tx.lock(f"once {orjson.dumps(scope).decode()}")
        sql = "SELECT arguments_hash, answer FROM once WHERE tool = ? AND agent = ? AND key = ? AND at > ?"
        return tx.ask(sql, *scope, self._oldest())

    def recall(self, tx: Tx, call: Call, asked: Deferred | None) -> Answer | None:
        """The first answer of a repeated call; other arguments under its key raise KeyReused."""
        known = self._recall_delivery(tx, call)
        return known if known is not None or asked is None else _recalled(call, asked.one())

    def _recall_delivery(self, tx: Tx, call: Call) -> Answer | None:
        """Only calls that a guest marked as resent: a client may reuse its request ids for other calls."""
        if call.delivery is None or not call.delivery.resent:
            return None
        sql = "SELECT answer FROM deliveries WHERE guest = ? AND request = ? AND tool = ? AND arguments_hash = ?"
        row = tx.one(sql, call.delivery.guest, call.delivery.request, call.tool, call.arguments_hash)
        return orjson.loads(row["answer"]) if row is not None else None

    def record(self, tx: Tx, call: Call, answer: Answer) -> None:
        if not has_key(call):
            return
        text, now = orjson.dumps(answer).decode(), micros(self._clock.now())
        if call.idempotency_key is not None:
            scope = (call.tool, call.agent or "", call.idempotency_key)
            tx.put(_RECORD_KEY, *scope, call.arguments_hash, text, now)
        if call.delivery is not None:
            request = (call.delivery.guest, call.delivery.request)
            tx.put(_RECORD_DELIVERY, *request, call.tool, call.arguments_hash, text, now)

    def prune(self, tx: Tx) -> int:
        """Delete expired records; how many."""
        oldest = self._oldest()
        gone = tx.run("DELETE FROM once WHERE at <= ?", oldest)
        return gone + tx.run("DELETE FROM deliveries WHERE at <= ?", oldest)

    def _oldest(self) -> int:
        return micros(self._clock.now() - self._keep)


_RECORD_KEY = """
INSERT INTO once (tool, agent, key, arguments_hash, answer, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tool, agent, key)
DO UPDATE SET arguments_hash = excluded.arguments_hash, answer = excluded.answer, at = excluded.at
"""
_RECORD_DELIVERY = """
INSERT INTO deliveries (guest, request, tool, arguments_hash, answer, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (guest, request)
DO UPDATE SET tool = excluded.tool, arguments_hash = excluded.arguments_hash, answer = excluded.answer, at = excluded.at
"""


def has_key(call: Call) -> bool:
    return call.idempotency_key is not None or call.delivery is not None


def _recalled(call: Call, row: Row | None) -> Answer | None:
    if row is not None and row["arguments_hash"] != call.arguments_hash:
        raise KeyReused(
            f"idempotency_key {call.idempotency_key!r} was used for {call.tool} with other arguments",
            hint="Use a new key for a new request; repeat the same arguments to get the first answer.",
        )
    return orjson.loads(row["answer"]) if row is not None else None


def _keys(call: Call) -> Iterator[tuple[str, ...]]:
    if call.idempotency_key is not None:
        yield ("key", call.tool, call.agent or "", call.idempotency_key)
    if call.delivery is not None:
        yield ("delivery", call.delivery.guest, call.delivery.request)
