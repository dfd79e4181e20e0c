"""Tickets: a thought between getting its index and being durable, and how its caller waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from lithos.ledger.chain.format import RawEntry, ThoughtEntry
from lithos.ledger.proofs.checkpoints import Checkpoint


class Flushed:
    """Thoughts that one flush wrote. One checkpoint, of the last of them, serves all their callers: signing takes
    longer than everything else that an append does."""

    def __init__(self, last: ThoughtEntry, root: bytes) -> None:
        self.last, self.root = last, root
        self._lock = threading.Lock()
        self._signed: Checkpoint | None = None

    def checkpoint(self, sign: Callable[[ThoughtEntry, bytes], Checkpoint]) -> Checkpoint:
        with self._lock:
            if self._signed is None:
                self._signed = sign(self.last, self.root)
            return self._signed.copy()


class Stored(NamedTuple):
    """A durable thought, and with which others it was written, where that is known still."""

    entry: ThoughtEntry
    flushed: Flushed | None


class Ticket:
    """A thought between being given its place and being durable."""

    def __init__(self, raw: RawEntry, entry: ThoughtEntry, data: bytes) -> None:
        self.raw, self.entry, self.data = raw, entry, data
        self.done = False
        self.error: BaseException | None = None
        self.flushed: Flushed | None = None
        self._next_in_line = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> bool:
        """Until the thought is durable or failed; True: its owner is next in line, and writes for all that wait."""
        self._gate.acquire()
        is_next, self._next_in_line = self._next_in_line, False
        if self.done:
            self._gate.release()  # another caller may wait for the same thought
        return is_next

    def finish(self, error: BaseException | None = None) -> None:
        self.done, self.error = True, error
        self._open()

    def call_up(self) -> None:
        self._next_in_line = True
        self._open()

    def _open(self) -> None:
        """Called under the chain's lock, so no other thread opens the gate between check and release."""
        if self._gate.locked():
            self._gate.release()
