"""Events: every mutation appends an event, and every state of an event a link in an HMAC chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.core.ids import Ids
from lithos.errors import Damaged
from lithos.storage.audit.audit_chain import AuditHead, AuditLink, digest, fingerprint
from lithos.storage.audit.event_query import Event, EventFilter, EventPage, committed, find
from lithos.storage.audit.keys import Keyring
from lithos.storage.audit.verify import Audit, Verdict, holds_anchor
from lithos.storage.values import Deferred, EventDraft, Row, Tx

CHANNEL = "events"  # notified when something that changed is committed
_ANNOUNCED = frozenset({"note", "task", "skill"})  # what others see; the rest is bookkeeping
EventStatus = Literal["pending", "written", "committed", "failed", "conflict"]


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The end of a chain, read under its lock; the next event follows it."""

    head: Deferred
    number: Deferred


class Events:
    """The events of one store (data directory). All stores share one table; each has its own chain."""

    def __init__(self, store: str, keys: Keyring, *, clock: Clock, ids: Ids) -> None:
        self.store = store
        self._keys = keys
        self._clock = clock
        self._ids = ids

    def new_id(self) -> str:
        return self._ids.event()

    def ask_end(self, tx: Tx) -> ChainEnd:
        """Lock the chain and read its end. Called early, it travels with the statements of the work itself."""
        tx.lock(f"events {self.store}")
        return ChainEnd(tx.ask(_HEAD, self.store), tx.next_number("events", "sequence"))

    def append(
        self,
        tx: Tx,
        call: Call,
        draft: EventDraft,
        status: EventStatus = "committed",
        event_id: str | None = None,
        end: ChainEnd | None = None,
    ) -> str:
        """Write an event in the transaction of its effect; its id."""
        end = end or self.ask_end(tx)
        head = self._head(end.head)
        row = {"sequence": _number(end), "id": event_id or self.new_id()}
        row |= self._row(call, draft, status, head.length + 1)
        tx.put(f"INSERT INTO events ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", *row.values())
        self._link(tx, head, [row], previous=0)
        self._announce(tx, row)
        return str(row["id"])

    def advance(
        self,
        tx: Tx,
        event_id: str,
        status: EventStatus,
        error: dict[str, Any] | None = None,
        *,
        through: tuple[EventStatus, ...] = (),
    ) -> None:
        """Give an event its next status, `through` others; the chain proves each of them."""
        self._change(tx, event_id, lambda known: {"status": status, "error": _json(error)}, through)

    def amend(self, tx: Tx, event_id: str, *, rationale: str | None = None, details: dict[str, Any]) -> None:
        """Add the agent's later rationale and details to an event."""
        self._change(
            tx,
            event_id,
            lambda known: {
                "rationale": rationale or known["rationale"],
                "details": _json({**orjson.loads(known["details"]), **details}),
            },
        )

    def _change(
        self, tx: Tx, event_id: str, change: Callable[[Row], Row], through: tuple[EventStatus, ...] = ()
    ) -> None:
        tx.lock(f"events {self.store}")
        asked = tx.ask(_HEAD, self.store)
        known = tx.one("SELECT * FROM events WHERE id = ? AND store = ?", event_id, self.store)
        if known is None:
            raise Damaged(f"event {event_id} is gone from the audit", hint="Run `lithos events verify`.")
        head = self._head(asked)
        last = head.length + len(through) + 1
        values = {**change(known), "updated_at": micros(self._clock.now()), "position": last}
        changes = ", ".join(f"{column} = ?" for column in values)
        tx.put(f"UPDATE events SET {changes} WHERE id = ?", *values.values(), event_id)
        row = {**known, **values}
        passed = [{**row, "status": status, "position": head.length + at} for at, status in enumerate(through, 1)]
        self._link(tx, head, [*passed, row], previous=known["position"])
        self._announce(tx, row)

    def _announce(self, tx: Tx, event: Row) -> None:
        if event["status"] == "committed" and event["type"] in _ANNOUNCED:
            tx.notify(CHANNEL)

    def rotate(self, tx: Tx, call: Call) -> int:
        """Use a new key from here on; returns its salt version. Old keys stay, to verify what they sealed."""
        version = self._next_version(tx)
        self._use(tx, version)
        self.append(tx, call, EventDraft("key", "rotate", f"events-{version}"))
        return version

    def find(self, tx: Tx, wanted: EventFilter, *, limit: int = 50, cursor: str | None = None) -> EventPage:
        """Events of all stores, newest first."""
        return find(tx, wanted, limit, cursor)

    def committed(
        self, tx: Tx, *, after: Mapping[str, int] | None, since: int, most: int
    ) -> tuple[list[Event], dict[str, int]]:
        """Events committed after these positions of the stores' chains, or since a time; and the positions now."""
        return committed(tx, self.store, after=after, since=since, most=most)

    def verify(self, tx: Tx, expected_head: str | None = None) -> Verdict:
        """Verify the audit of this store. A head that was kept elsewhere also reveals a rolled-back database."""
        self._keys.check_files()
        verdict = Audit(tx, self.store, self._keys).verdict(expected_head)
        if verdict["ok"]:
            self.record_anchor(tx)
        return verdict

    def record_anchor(self, tx: Tx) -> None:
        """Record the chain's end in the keys folder, unless the chain has lost the end recorded before."""
        row = tx.one("SELECT length, mac FROM event_heads WHERE store = ?", self.store)
        if row is not None and holds_anchor(tx, self.store, self._keys.anchor()):
            self._keys.set_anchor(row["length"], row["mac"])

    def _row(self, call: Call, draft: EventDraft, status: EventStatus, position: int) -> Row:
        now = micros(self._clock.now())
        return {
            "store": self.store,
            "position": position,
            "at": now,
            "updated_at": now,
            "tool": call.tool,
            "type": draft.type,
            "op": draft.op,
            "agent": call.agent,
            "user_id": call.user,
            "thing": draft.thing,
            "path": draft.path,
            "section_anchor": draft.section_anchor,
            "before_hash": draft.before_hash,
            "after_hash": draft.after_hash,
            "status": status,
            "rationale": draft.rationale or call.rationale,
            "lint": _json(draft.lint),
            "details": _json(draft.details),
            "error": None,
            "tool_call_id": call.correlation.tool_call_id,
            "transaction_id": call.correlation.transaction_id,
            "agent_action_id": call.correlation.agent_action_id,
        }

    def _head(self, asked: Deferred) -> AuditHead:
        row = asked.one()
        return AuditHead(**row) if row is not None else AuditHead(self.store)

    def _link(self, tx: Tx, head: AuditHead, states: list[Row], *, previous: int) -> None:
        """Append the states of one event to the chain."""
        version, key = self._key(tx, head)
        for event in states:
            link = AuditLink(
                self.store, head.length + 1, previous, event["id"], event["status"], digest(event), version
            )
            head = AuditHead(self.store, link.position, link.mac(key, head.mac), version)
            values = (link.store, link.position, previous, link.event_id, link.status, link.digest, version, head.mac)
            tx.put(_ADD_LINK, *values)
            previous = link.position
        tx.put(_SET_HEAD, self.store, head.length, head.mac, version, head.seal(key))

    def _key(self, tx: Tx, head: AuditHead) -> tuple[int, bytes]:
        """The newest key. Create one if there is none; `verify` reports a lost one."""
        newest = self._keys.newest()
        key = self._keys.key(newest) if newest >= max(head.salt_version, 1) else None
        if key is not None and newest == head.salt_version:
            return newest, key
        version = newest if key is not None else self._next_version(tx)
        return version, self._use(tx, version)

    def _next_version(self, tx: Tx) -> int:
        row = tx.one("SELECT max(salt_version) AS newest FROM event_keys WHERE store = ?", self.store)
        recorded = row["newest"] if row is not None else None
        return max(recorded or 0, self._keys.newest()) + 1

    def _use(self, tx: Tx, version: int) -> bytes:
        key = self._keys.add(version)
        tx.put(_ADD_KEY, self.store, version, fingerprint(key), micros(self._clock.now()))
        return key


_HEAD = "SELECT store, length, mac, salt_version FROM event_heads WHERE store = ?"
_ADD_LINK = """
INSERT INTO event_chain (store, position, previous, event_id, status, digest, salt_version, mac)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET_HEAD = """
INSERT INTO event_heads (store, length, mac, salt_version, seal) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (store) DO UPDATE SET
    length = excluded.length, mac = excluded.mac, salt_version = excluded.salt_version, seal = excluded.seal
"""
_ADD_KEY = """
INSERT INTO event_keys (store, salt_version, fingerprint, since) VALUES (?, ?, ?, ?)
ON CONFLICT (store, salt_version) DO NOTHING
"""


def _number(end: ChainEnd) -> int:
    row = end.number.one()
    assert row is not None
    return int(row["number"])


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
