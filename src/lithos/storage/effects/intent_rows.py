"""Intents: the plan of a saga, on disk before the first file changes and deleted with its closing row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from lithos.core.call import Call, Correlation, Delivery
from lithos.storage.effects.steps import Step
from lithos.storage.values import Answer, Deferred, Tx


@dataclass(frozen=True, slots=True)
class Intent:
    id: str  # of its event
    store: str
    at: int
    call: Call
    answer: Answer
    steps: tuple[Step, ...]


def save(tx: Tx, intent: Intent) -> None:
    call = intent.call
    scope = (call.tool, call.agent or "", call.idempotency_key)
    texts = (orjson.dumps(call).decode(), orjson.dumps(intent.answer).decode())
    tx.put(
        "INSERT INTO intents (id, store, at, tool, agent, key, call, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        *(intent.id, intent.store, intent.at, *scope, *texts),
    )
    tx.many(_ADD_STEP, [(intent.id, number, *_step_values(step)) for number, step in enumerate(intent.steps)])


def load(tx: Tx, store: str) -> list[Intent]:
    """The open intents of one store, oldest first."""
    rows = tx.all("SELECT * FROM intents WHERE store = ? ORDER BY at, id", store)
    return [_intent(tx, row) for row in rows]


def is_open(tx: Tx, intent_id: str) -> bool:
    return tx.one("SELECT id FROM intents WHERE id = ?", intent_id) is not None


def drop(tx: Tx, intent_id: str) -> None:
    tx.put("DELETE FROM intents WHERE id = ?", intent_id)  # and with it its changes


def ask_elsewhere(tx: Tx, call: Call, store: str) -> Deferred | None:
    """Look for an open intent of another host under the key of this call."""
    if call.idempotency_key is None:
        return None
    sql = "SELECT id FROM intents WHERE tool = ? AND agent = ? AND key = ? AND store <> ? LIMIT 1"
    return tx.ask(sql, call.tool, call.agent or "", call.idempotency_key, store)


_ADD_STEP = """
INSERT INTO intent_changes (intent, position, root, path, move_to, before_version, after_version, after_bytes, history)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def _step_values(step: Step) -> tuple[Any, ...]:
    versions = (step.before, step.after, step.data)
    return (step.root, step.path, step.move_to, *versions, int(step.history))


def _intent(tx: Tx, row: dict[str, Any]) -> Intent:
    steps = tx.all("SELECT * FROM intent_changes WHERE intent = ? ORDER BY position", row["id"])
    call, answer = _call(orjson.loads(row["call"])), orjson.loads(row["answer"])
    return Intent(row["id"], row["store"], row["at"], call, answer, tuple(map(_step, steps)))


def _step(row: dict[str, Any]) -> Step:
    data = bytes(row["after_bytes"]) if row["after_bytes"] is not None else None
    versions = (row["before_version"], row["after_version"])
    return Step(row["root"], row["path"], row["move_to"], *versions, data, bool(row["history"]))


def _call(values: dict[str, Any]) -> Call:
    delivery = Delivery(**values["delivery"]) if values["delivery"] else None
    return Call(**{**values, "delivery": delivery, "correlation": Correlation(**values["correlation"])})
