"""Verify the audit: find every altered, missing or inserted row, the newest ones too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from typing_extensions import TypedDict

from lithos.storage.audit.audit_chain import AuditHead, AuditLink, digest, fingerprint
from lithos.storage.audit.keys import Keyring
from lithos.storage.values import Row, Tx

PAGE = 2_000  # rows at a time: verifying a million must not hold a million
MOST_PROBLEMS = 100  # listed; all are counted
WIDEST_GAP = 10_000_000  # a forged position must not cost us a terabyte of memory

Kind = Literal["altered", "missing", "inserted", "key_missing"]


class Problem(TypedDict):
    kind: Kind
    what: str
    position: int | None
    event_id: str | None


class Verdict(TypedDict):
    ok: bool
    store: str
    events: int
    links: int
    head: str
    problem_count: int
    problems: list[Problem]


class Audit:
    """One pass over the chain, one over the events; memory is one byte per link."""

    def __init__(self, tx: Tx, store: str, keys: Keyring) -> None:
        self._tx = tx
        self._store = store
        self._keys = keys
        self._lost: set[int] = set()
        self._count = 0
        self._problems: list[Problem] = []

    def verdict(self, expected_head: str | None = None) -> Verdict:
        head = self._check_head()
        known = self._known_keys()
        newest, reached = self._check_chain(known)
        self._check_end(head, reached, expected_head)
        events = self._check_events(newest)
        self._check_strangers()
        return {
            "ok": self._count == 0,
            "store": self._store,
            "events": events,
            "links": reached.length,
            "head": reached.mac,
            "problem_count": self._count,
            "problems": self._problems,
        }

    def _note(self, kind: Kind, what: str, position: int | None = None, event_id: str | None = None) -> None:
        self._count += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append({"kind": kind, "what": what, "position": position, "event_id": event_id})

    def _known_keys(self) -> dict[int, bytes]:
        """Keys whose fingerprint is the one recorded at their first use."""
        known: dict[int, bytes] = {}
        for row in self._tx.all("SELECT salt_version, fingerprint FROM event_keys WHERE store = ?", self._store):
            version = row["salt_version"]
            key = self._keys.key(version)
            if key is None or fingerprint(key) != row["fingerprint"]:
                self._lost.add(version)
                self._note("key_missing", f"key {version} is lost or another: what it sealed cannot be verified")
            else:
                known[version] = key
        return known

    def _check_head(self) -> AuditHead:
        row = self._tx.one("SELECT * FROM event_heads WHERE store = ?", self._store)
        if row is None:
            if self._tx.one("SELECT position FROM event_chain WHERE store = ? LIMIT 1", self._store) is not None:
                self._note("missing", "the head of the chain is gone")
            return AuditHead(self._store)
        head = AuditHead(self._store, row["length"], row["mac"], row["salt_version"])
        key = self._keys.key(head.salt_version)
        if key is not None and head.seal(key) != row["seal"]:
            self._note("altered", "the head of the chain was altered")
        return head

    def _check_chain(self, keys: dict[int, bytes]) -> tuple[bytearray, AuditHead]:
        """1 for every position that is the newest link of its event; and the real end of the chain."""
        newest = bytearray(1)
        at = AuditHead(self._store)
        for row in self._pages("SELECT * FROM event_chain WHERE store = ? AND position > ? ORDER BY position LIMIT ?"):
            gap = row["position"] - at.length - 1
            if gap > WIDEST_GAP:
                self._note("inserted", "a link is far behind the end of the chain", row["position"], row["event_id"])
                break
            if gap:
                self._note("missing", f"links {at.length + 1} to {row['position'] - 1} are gone", at.length + 1)
                newest.extend(bytes(gap))
            self._check_link(row, at, keys)
            newest.append(1)
            if 0 < row["previous"] < row["position"]:
                newest[row["previous"]] = 0
            at = AuditHead(self._store, row["position"], row["mac"], row["salt_version"])
        return newest, at

    def _check_link(self, row: Row, before: AuditHead, keys: dict[int, bytes]) -> None:
        key = keys.get(row["salt_version"])
        mac = row["mac"]
        link = AuditLink(**{name: row[name] for name in AuditLink.__slots__})
        if key is None:
            if row["salt_version"] not in self._lost:  # a lost key is reported once
                self._note("altered", "a link names a key that was never in use", row["position"], row["event_id"])
        elif row["position"] == before.length + 1 and link.mac(key, before.mac) != mac:
            self._note("altered", "a link was altered or inserted", row["position"], row["event_id"])

    def _check_end(self, head: AuditHead, reached: AuditHead, expected: str | None) -> None:
        if head.length > reached.length:
            self._note("missing", f"links {reached.length + 1} to {head.length} are gone from the end")
        elif head.length < reached.length:
            self._note("inserted", f"links after {head.length} are not covered by the head")
        elif head.mac != reached.mac:
            self._note("altered", "the last link is not the one that the head names", reached.length)
        if expected is not None and not self._has_mac(expected):
            self._note("missing", "the chain does not contain the head that you kept")
        if not holds_anchor(self._tx, self._store, self._keys.anchor()):
            self._note("missing", "the chain does not contain the head that was seen before: it was cut or rolled back")

    def _has_mac(self, mac: str) -> bool:
        sql = "SELECT position FROM event_chain WHERE store = ? AND mac = ?"
        return self._tx.one(sql, self._store, mac) is not None

    def _check_events(self, newest: bytearray) -> int:
        """Compare every event with its newest link; then every newest link must have had its event."""
        count = 0
        for row in self._pages(_EVENTS_WITH_LINKS):
            count += 1
            position = row["position"]
            in_chain = 0 < position < len(newest)
            if not in_chain or row["link_event"] != row["id"]:
                self._note("inserted", "an event has no link in the chain", position, row["id"])
            elif not newest[position] or digest(row) != row["link_digest"]:
                self._note("altered", "an event was altered", position, row["id"])
            if in_chain:
                newest[position] = 0
        for position in range(1, len(newest)):
            if newest[position]:
                self._note("missing", "an event is gone", position, self._event_at(position))
        return count

    def _event_at(self, position: int) -> str | None:
        sql = "SELECT event_id FROM event_chain WHERE store = ? AND position = ?"
        row = self._tx.one(sql, self._store, position)
        return row["event_id"] if row else None

    def _check_strangers(self) -> None:
        """Rows of a store that has no chain: only a forger writes those."""
        sql = "SELECT id FROM events WHERE store NOT IN (SELECT store FROM event_heads) AND store <> ? LIMIT ?"
        for row in self._tx.all(sql, self._store, MOST_PROBLEMS):
            self._note("inserted", "an event belongs to a store that has no chain", None, row["id"])

    def _pages(self, sql: str) -> Iterator[Row]:
        last = 0
        while rows := self._tx.all(sql, self._store, last, PAGE):
            yield from rows
            last = rows[-1]["cursor"] if "cursor" in rows[-1] else rows[-1]["position"]


def holds_anchor(tx: Tx, store: str, anchor: tuple[int, str] | None) -> bool:
    """Whether the chain still contains the last link that was recorded outside the database."""
    if anchor is None:
        return True
    row = tx.one("SELECT mac FROM event_chain WHERE store = ? AND position = ?", store, anchor[0])
    return row is not None and row["mac"] == anchor[1]


_EVENTS_WITH_LINKS = """
SELECT events.*, events.sequence AS cursor, event_chain.digest AS link_digest, event_chain.event_id AS link_event
FROM events LEFT JOIN event_chain ON event_chain.store = events.store AND event_chain.position = events.position
WHERE events.store = ? AND events.sequence > ? ORDER BY events.sequence LIMIT ?
"""
