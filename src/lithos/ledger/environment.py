"""The environment that all chains of a ledger share: time, ids, the host's key, randomness, limits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lithos.core.clock import Clock
from lithos.core.ids import Ids
from lithos.ledger.chain.segments import SEGMENT_BYTES
from lithos.ledger.registry.keys import SigningKey
from lithos.storage import Faults, NoFaults

REMEMBER_HOURS = 48.0


class Noise:
    """Random bytes from the system, many at a time: each fetch is a system call, and lets other threads in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = b""

    def __call__(self, count: int) -> bytes:
        with self._lock:
            if len(self._left) < count:
                self._left = os.urandom(max(4096, count))
            taken, self._left = self._left[:count], self._left[count:]
            return taken


@dataclass(frozen=True)
class Environment:
    clock: Clock
    ids: Ids
    key: SigningKey
    checkpoints: Path
    faults: Faults = field(default_factory=NoFaults)
    noise: Callable[[int], bytes] = field(default_factory=Noise)
    segment_bytes: int = SEGMENT_BYTES
    remember_hours: float = REMEMBER_HOURS
    known_name: Callable[[str], str | None] = lambda agent_id: None  # of an agent, in the whole memory
