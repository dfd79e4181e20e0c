"""Hashing a chain in passing: what opening took on trust first, then all of it again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lithos.errors import Damaged
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.chain.opening import check_link

if TYPE_CHECKING:
    from lithos.ledger.chain.chain import Chain


class Rehash:
    """One pass over the first thoughts of a chain, some at a time: how far it has hashed them."""

    def __init__(self, end: int) -> None:
        self.place = 0
        self.lock = threading.Lock()
        self.is_vouched = False  # the checkpoints were read and found right, or not
        self._end = end
        self._head: str | None = None

    @property
    def is_done(self) -> bool:
        return self.place >= self._end

    def advance(self, chain: Chain, count: int = 256) -> None:
        if self.place == 0:
            chain.check_segments()
        indexes = range(self.place, min(self._end, self.place + count))
        try:
            entries: Iterable[ThoughtEntry] = chain.entries(indexes)
        except Damaged:
            entries = map(chain.entry, indexes)  # as far as they are right
        head = self._head or chain.origin
        for entry in entries:
            check_link(entry, self.place, head)
            if entry.body is None:
                chain.check_forgotten(entry)
            head = entry.hash
            self.place += 1
        self._head = head
