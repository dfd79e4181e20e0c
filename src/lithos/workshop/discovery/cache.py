"""Facts of repositories that were discovered before: in memory, and one row per project and branch."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import orjson

from lithos.core.clock import Clock, micros
from lithos.storage import Database, Tx
from lithos.workshop.discovery.scanning import Stamps, unchanged
from lithos.workshop.discovery.values import RepositoryFacts

MOST_HELD = 32
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Discovered:
    project: str
    branch: str
    config_hash: str
    stamps: Stamps
    facts: RepositoryFacts
    session_id: str
    thought_id: str = ""


class DiscoveryCache:
    def __init__(self, database: Database, clock: Clock, store: str) -> None:
        self._database = database
        self._clock = clock
        self._store = store
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, str, Path], Discovered] = OrderedDict()

    def find(self, project: str, branch: str, root: Path) -> Discovered | None:
        """The discovery that still holds: no file that it read has changed since."""
        key = project, branch, root
        with self._lock:
            held = self._held.get(key)
        if held is None:
            held = self.row(project, branch)
        if held is None or not unchanged(root, held.stamps):
            return None
        self._hold(key, held)
        return held

    def row(self, project: str, branch: str) -> Discovered | None:
        """The last discovery, whether it holds or not."""
        row = self._database.read(lambda tx: tx.one(_FIND, self._store, project, branch))
        if row is None:
            return None
        facts = RepositoryFacts.from_dict(orjson.loads(row["facts"]))
        stamps = orjson.loads(row["watched"])
        return Discovered(project, branch, row["config_hash"], stamps, facts, row["session_id"], row["thought_id"])

    def keep(self, root: Path, found: Discovered) -> None:
        now = micros(self._clock.now())
        facts = orjson.dumps(found.facts.as_dict()).decode("utf-8", "replace")
        watched = orjson.dumps(found.stamps).decode()
        key = self._store, found.project, found.branch
        values = (found.config_hash, watched, facts, found.session_id, found.thought_id, now, now)

        def work(tx: Tx) -> None:
            tx.put(_REPLACE, *key, *values)
            tx.put(_BOUND, self._store, self._store, MOST_ROWS)

        self._database.write(work)
        self._hold((found.project, found.branch, root), found)

    def prune(self, before: int) -> None:
        """Drop rows that no one used since; `before` is in microseconds."""
        self._database.write(lambda tx: tx.put(_PRUNE, self._store, before))

    def _hold(self, key: tuple[str, str, Path], found: Discovered) -> None:
        with self._lock:
            self._held[key] = found
            self._held.move_to_end(key)
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)


_FIND = "SELECT * FROM discovered_tools WHERE store = ? AND project = ? AND branch = ?"
_REPLACE = """
INSERT INTO discovered_tools
(store, project, branch, config_hash, watched, facts, session_id, thought_id, discovered_at, used_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (store, project, branch) DO UPDATE SET config_hash = excluded.config_hash, watched = excluded.watched,
facts = excluded.facts, session_id = excluded.session_id, thought_id = excluded.thought_id,
discovered_at = excluded.discovered_at, used_at = excluded.used_at
"""
_BOUND = """
DELETE FROM discovered_tools WHERE store = ? AND used_at < (SELECT COALESCE(MIN(used_at), 0) FROM
(SELECT used_at FROM discovered_tools WHERE store = ? ORDER BY used_at DESC LIMIT ?) AS newest)
"""
_PRUNE = "DELETE FROM discovered_tools WHERE store = ? AND used_at < ?"
