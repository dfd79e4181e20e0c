"""The arithmetic of the audit chain: what is hashed and sealed, in which order. No I/O."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

import orjson

from lithos.storage.values import Row


@dataclass(frozen=True, slots=True)
class AuditLink:
    """One state of one event, in the chain of its store."""

    store: str
    position: int
    previous: int
    event_id: str
    status: str
    digest: str
    salt_version: int

    def mac(self, key: bytes, before: str) -> str:
        """Over all fields and the MAC before it, so that no link can be changed, moved, added or removed."""
        return _mac(
            key,
            "link",
            self.store,
            self.position,
            self.previous,
            self.event_id,
            self.status,
            self.digest,
            self.salt_version,
            before,
        )


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The end of a chain."""

    store: str
    length: int = 0
    mac: str = ""
    salt_version: int = 0

    def seal(self, key: bytes) -> str:
        return _mac(key, "head", self.store, self.length, self.mac, self.salt_version)


# Never reordered or extended: a column that a later migration adds gets its own digest format.
DIGESTED = (
    "sequence",
    "id",
    "store",
    "position",
    "at",
    "updated_at",
    "tool",
    "type",
    "op",
    "agent",
    "user_id",
    "thing",
    "path",
    "section_anchor",
    "before_hash",
    "after_hash",
    "status",
    "rationale",
    "lint",
    "details",
    "error",
    "tool_call_id",
    "transaction_id",
    "agent_action_id",
)


def digest(event: Row) -> str:
    """SHA-256 over the whole row: every column is text, integer or null, for which this JSON has one form."""
    return hashlib.sha256(orjson.dumps([event[column] for column in DIGESTED])).hexdigest()


def fingerprint(key: bytes) -> str:
    """Identifies a key without revealing it."""
    return _mac(key, "fingerprint")


def _mac(key: bytes, *parts: str | int) -> str:
    return hmac.digest(key, orjson.dumps(parts), "sha256").hex()
