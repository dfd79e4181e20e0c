"""Rows of messages: what an earlier Lithos stored is still there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.core.clock import FakeClock
from lithos.storage import Migration, coordination_migrations
from tests.support.states import open_state

pytestmark = pytest.mark.both_databases
BEFORE = tuple(each for each in coordination_migrations() if each.number < 27)
OWN = Migration(9999, "own", "CREATE TABLE own (n {integer});")  # so that the schema is this test's alone
_MESSAGE = """
INSERT INTO messages (id, seq, correlation_id, source, target, type, payload, bytes, sent_at, ttl, status,
    max_attempts, priority, lane) VALUES (?, ?, ?, 'ann', 'bob', 'text', '{}', 2, 1, 1, ?, 3, 50, 50)
"""
_LEASE = "INSERT INTO message_leases (id, message_id, taker, expires_at, era, until) VALUES (9, 'b', 'bob', 1, 'e', 5)"


def test_messages_and_leases_of_the_first_schema_are_carried_over(tmp_path: Path) -> None:
    clock = FakeClock()
    old = open_state(tmp_path, clock, migrations=BEFORE)
    old.write(lambda tx: [tx.run(_MESSAGE, "a", 1, "a", "queued"), tx.run(_MESSAGE, "b", 2, "a", "processing")])
    old.write(lambda tx: tx.run(_LEASE))
    old.close()
    new = open_state(tmp_path, clock, migrations=(*coordination_migrations(), OWN))
    rows = new.read(lambda tx: tx.all("SELECT id, status, era, until, grace FROM messages ORDER BY seq"))
    new.close()
    assert rows == [
        {"id": "a", "status": "queued", "era": None, "until": None, "grace": 0},
        {"id": "b", "status": "processing", "era": "e", "until": 5.0, "grace": 0},
    ]
