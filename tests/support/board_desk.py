"""A board over a real file with a clock that tests turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lithos.board import Board, NewTask, Notes, Terms
from lithos.core.call import Call
from lithos.core.canonical import canonical_hash
from lithos.core.clock import FakeClock
from lithos.core.ids import SeededIds
from lithos.storage import (
    Database,
    Effects,
    Events,
    Idempotency,
    Keyring,
)
from tests.support.states import open_state


class Desk:
    def __init__(self, folder: Path, *, terms: Terms | None = None, notes: Notes | None = None) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.ids = SeededIds()
        self._terms, self._notes = terms, notes
        self.open()

    def open(self) -> None:
        self.database: Database = open_state(self.folder, self.clock, synchronous="NORMAL")
        events = Events("store-1", Keyring(self.folder / "keys"), clock=self.clock, ids=self.ids)
        self.effects = Effects(self.database, events, Idempotency(self.clock), clock=self.clock)
        self.board = Board(self.database, self.effects, self.ids, terms=self._terms, notes=self._notes)
        self.board.open()

    def close(self) -> None:
        self.board.close()
        self.database.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    def reboot(self, boot: str) -> None:
        self.close()
        self.clock.reboot(boot)
        self.open()

    def task(self, title: str = "Research", agent: str = "ann", **more: Any) -> str:
        return self.board.create(call("lithos_task_create", agent), NewTask(title, agent, **more))["task_id"]

    def claim(self, task: str, agent: str = "ann", aspect: str = "tests", minutes: float | None = 1) -> dict[str, Any]:
        return dict(self.board.claim(call("lithos_task_claim", agent), task, aspect, agent, minutes))


def call(tool: str, agent: str | None = None, key: str | None = None, **arguments: Any) -> Call:
    return Call(tool, agent=agent, idempotency_key=key, arguments_hash=canonical_hash(arguments))
