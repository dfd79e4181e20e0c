"""Pairs of rows written by a process that is killed inside a commit."""

from __future__ import annotations

import sys
from pathlib import Path

from lithos.storage import Database, Migration, open_database
from tests.support import fork_server

PAIRS = (Migration(1, "pairs", "CREATE TABLE pairs (id {text} NOT NULL, side {text} NOT NULL, note {text}) {strict};"),)


PROJECT = Path(__file__).parents[2]


STEPS = ("commit.begin", "commit.work", "commit.send", "commit.done")


def add_pair(database: Database, name: str, note: str = "", *, reserve: bool = False) -> None:
    """Two rows in one work: never is one there without the other."""
    rows = [(name, side, note) for side in ("left", "right")]
    database.write(lambda tx: tx.many("INSERT INTO pairs (id, side, note) VALUES (?, ?, ?)", rows), reserve=reserve)


def whole_pairs(path: Path) -> set[str]:
    """The pairs that are there, after checking that no half of one is, and none twice."""
    database = open_database(path, PAIRS)
    rows = database.read(lambda tx: tx.all("SELECT id, count(*) AS sides FROM pairs GROUP BY id"))
    database.close()
    assert all(row["sides"] == 2 for row in rows)
    return {row["id"] for row in rows}


CHILD = """
import os, sys, threading
from pathlib import Path
from lithos.storage import PlannedFaults, open_database
from tests.support.commit_kills import PAIRS, add_pair
from tests.support.small_disk import fill_the_disk
path, point, visit, callers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
faults = PlannedFaults()
database = open_database(path, PAIRS, faults=faults)
faults.plan(point, "kill", visit)
def work(caller):
    for number in range(10_000):
        name = f"{caller}-{number}"
        add_pair(database, name)
        os.write(1, f"{name}\\n".encode())
for caller in range(callers):
    threading.Thread(target=work, args=(caller,)).start()
"""


def acknowledged_until_killed(path: Path, point: str, visit: int, callers: int) -> set[str]:
    """Names that a process full of callers acknowledged before it died at the point."""
    command = [sys.executable, "-c", CHILD, str(path), point, str(visit), str(callers)]
    ended = fork_server.run(command, cwd=PROJECT, timeout=60)
    assert ended.returncode == 137, ended.stderr
    return set(ended.stdout.split())
