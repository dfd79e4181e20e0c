"""A thought between being given its place and being durable, and how its caller waits for that."""

from __future__ import annotations

import threading
from typing import NamedTuple

from lithos.ledger.format import Entry, RawEntry


class Stored(NamedTuple):
    """A durable thought, and the root of the tree that ends with it where that is known already."""

    entry: Entry
    root: bytes | None


class Ticket:
    """A thought between being given its place and being durable."""

    def __init__(self, raw: RawEntry, entry: Entry, data: bytes) -> None:
        self.raw, self.entry, self.data = raw, entry, data
        self.done = False
        self.error: BaseException | None = None
        self.root: bytes | None = None  # of the tree that ends with this thought
        self._next_in_line = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> bool:
        """Until the thought is durable or failed; True: its owner is next in line, and writes for all that wait."""
        self._gate.acquire()
        turn, self._next_in_line = self._next_in_line, False
        if self.done:
            self._gate.release()  # somebody else may wait for the same thought
        return turn

    def finish(self, error: BaseException | None = None) -> None:
        self.done, self.error = True, error
        self._open()

    def call_up(self) -> None:
        self._next_in_line = True
        self._open()

    def _open(self) -> None:
        """Under the chain's lock: nobody else opens the gate between the look and the release."""
        if self._gate.locked():
            self._gate.release()
