"""Storage put together as `app` does it, over a folder of a test's own."""

from __future__ import annotations

from pathlib import Path

from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.core.ids import RandomIds
from lithos.storage import (
    Effects,
    Event,
    EventDraft,
    EventFilter,
    Events,
    Faults,
    Idempotency,
    Keyring,
    Outcome,
    Root,
    Tx,
    Verdict,
)
from tests.support.states import open_state


class StorageBench:
    """Effects over real files, and a work that counts how often it took effect."""

    def __init__(self, folder: Path, faults: Faults | None = None) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.database = open_state(folder / ".lithos", self.clock, faults)
        self.keys = Keyring(folder / ".lithos/keys")
        self.events = Events("store-1", self.keys, clock=self.clock, ids=RandomIds())
        self.once = Idempotency(self.clock)
        (folder / "knowledge").mkdir(exist_ok=True)
        self.root = Root(folder / "knowledge", name="vault", keep=folder / ".lithos", clock=self.clock, faults=faults)
        roots = {"vault": self.root}
        self.effects = Effects(self.database, self.events, self.once, roots, clock=self.clock, faults=faults)

    def close(self) -> None:
        self.database.close()
        self.root.close()

    def count(self, tx: Tx) -> Outcome:
        tx.run(_COUNT)
        return Outcome({"count": self._counted(tx)}, (EventDraft("counter", "add", "count"),))

    def counted(self) -> int:
        return self.database.read(self._counted)

    def _counted(self, tx: Tx) -> int:
        row = tx.one("SELECT length(value) AS n FROM meta WHERE name = 'count'")
        return int(row["n"]) if row else 0

    def rows(self, table: str) -> int:
        row = self.database.read(lambda tx: tx.one(f"SELECT count(*) AS n FROM {table}"))
        assert row is not None
        return int(row["n"])

    def found(self, **wanted) -> list[Event]:
        return self.database.read(lambda tx: self.events.find(tx, EventFilter(**wanted)))["events"]

    def verdict(self, head: str | None = None) -> Verdict:
        return self.database.read(lambda tx: self.events.verify(tx, head))


_COUNT = """
INSERT INTO meta (name, value) VALUES ('count', '1') ON CONFLICT (name) DO UPDATE SET value = meta.value || '1'
"""


def keyed(key: str | None = "k", **changes) -> Call:
    return Call(**{"tool": "count", "agent": "ada", "arguments_hash": "h1", "idempotency_key": key, **changes})
