"""The registry's own history: who was named, given or denied a key, and when. Hash-chained like the thoughts.

Each thought holds the hash of the last entry before it, so that this history cannot be rewritten without rewriting
the chain.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from lithos.core.canonical import canonical_json
from lithos.errors import Damaged
from lithos.ledger.chain.log import append_whole, translated
from lithos.storage import flush_path, open_file, read_file

REGISTRY = b"lithos.registry.v1\n"
FIELDS = ("agent_id", "at", "by", "details", "op", "prev_hash", "seq", "thoughts")
Op = Literal["upsert", "describe", "alias", "key_added", "key_revoked", "disable"]


@dataclass(frozen=True, slots=True)
class RegistryChange:
    """One entry; `thoughts` is how many the chain had when it was made."""

    seq: int
    op: Op
    agent_id: str
    details: dict[str, Any]
    at: str
    by: str | None
    thoughts: int
    prev_hash: str
    hash: str = ""

    def canonical(self) -> bytes:
        return canonical_json({name: getattr(self, name) for name in FIELDS})


def change_hash(entry: bytes) -> str:
    return hashlib.sha256(REGISTRY + entry).hexdigest()


class History:
    def __init__(self, path: Path, origin: str) -> None:
        self.path = path
        self._origin = origin

    def load(self) -> list[RegistryChange]:
        """Every entry, checked; stops with `damaged` at the first that is wrong."""
        changes: list[RegistryChange] = []
        for number, line in enumerate(self._lines()):
            changes.append(self._read(line, number, changes[-1].hash if changes else self._origin))
        return changes

    def cut_torn_tail(self) -> None:
        """An unfinished last line was never acknowledged: its flush did not return."""
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self.path, whole)

    def append(self, change: RegistryChange) -> RegistryChange:
        entry = change.canonical()
        digest = change_hash(entry)
        descriptor = open_file(self.path, os.O_WRONLY | os.O_CREAT)
        try:
            append_whole(descriptor, b'{"entry":%s,"hash":"%s"}\n' % (entry, digest.encode()))
        except OSError as error:
            raise translated(error) from error
        finally:
            os.close(descriptor)
        if change.seq == 0:
            flush_path(self.path.parent)
        return _with_hash(change, digest)

    def _lines(self) -> Iterator[bytes]:
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            return
        yield from data.split(b"\n")[:-1]

    def _read(self, line: bytes, number: int, prev_hash: str) -> RegistryChange:
        try:
            entry = orjson.loads(line)["entry"]
            change = RegistryChange(**entry)
            digest = change_hash(change.canonical())
            spelled = b'{"entry":%s,"hash":"%s"}' % (change.canonical(), digest.encode())
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise Damaged(f"registry entry {number} is not one", finding="registry_damaged", entry=number) from None
        if spelled != line or change.seq != number or change.prev_hash != prev_hash:
            raise Damaged(
                f"registry entry {number} does not fit its hash or its place", finding="registry_damaged", entry=number
            )
        return _with_hash(change, digest)


def _with_hash(change: RegistryChange, digest: str) -> RegistryChange:
    fields = {name: getattr(change, name) for name in FIELDS}
    return RegistryChange(**fields, hash=digest)
