"""The ledger's index as columns beside the same in SQLite: filtered search, append and opening, in one run.

`THOUGHTS=1000000 python -m benchmarks ledger_index`; medians of 7 interleaved rounds. The index stays in columns unless
SQLite is at most 1.3 times slower in all three.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from lithos.core.clock import from_micros, rfc3339
from lithos.ledger.chain import columns
from lithos.ledger.chain.columns import ColumnFiles, Columns
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.words import TYPE_CODES

THOUGHTS = int(os.environ.get("THOUGHTS", "100000"))
BEGINNING = 1_760_000_000_000_000
KINDS = ("Constraint", "Decision", "Mistake", "Insight", "Plan", "FactLearned")
ROUNDS = 7
_TABLES = """
CREATE TABLE thoughts (idx INTEGER PRIMARY KEY, offset INT, size INT, time INT, id INT, hash INT, importance REAL,
    agent INT, type INT);
CREATE INDEX by_id ON thoughts (id); CREATE INDEX by_hash ON thoughts (hash);
CREATE INDEX by_type ON thoughts (type, importance); CREATE INDEX by_agent ON thoughts (agent);
CREATE INDEX by_time ON thoughts (time);
CREATE TABLE terms (term INT, idx INT, PRIMARY KEY (term, idx)) WITHOUT ROWID;
"""
_INSERT = "INSERT INTO thoughts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_chance = random.Random(1)


def entry(number: int) -> ThoughtEntry:
    name = f"{_chance.getrandbits(128):032x}"
    record = {
        "index": number,
        "id": f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}",
        "timestamp": rfc3339(from_micros(BEGINNING + number * 1_000_000)),
        "importance": (number % 100) / 100,
        "agent_id": f"agent-{number % 7}",
        "thought_type": KINDS[number % 6],
        "role": "Memory",
    }
    return ThoughtEntry(
        record, {"content": "x", "tags": ["ops", f"tag-{number % 50}"]}, f"{_chance.getrandbits(256):064x}"
    )


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-ledger-index-"))
    try:
        made, files, database = _build(folder)
        _compare_search(made, database)
        _compare_append(made, files, database)
        database.close()
        _compare_open(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build(folder: Path) -> tuple[Columns, ColumnFiles, apsw.Connection]:
    made = Columns()
    files = ColumnFiles(folder, made)
    files.open()
    database = apsw.Connection(str(folder / "index.db"))
    database.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = off; PRAGMA mmap_size = 1073741824")
    database.execute(_TABLES)
    with database:
        for start in range(0, THOUGHTS, 1024):
            entries = [(entry(number), number * 900, 900) for number in range(start, min(THOUGHTS, start + 1024))]
            files.append(made.add(entries))
            _insert(database, made, [one for one, _, _ in entries])
    files.flush()
    database.execute("ANALYZE")
    return made, files, database


def _insert(database: apsw.Connection, made: Columns, entries: list[ThoughtEntry]) -> None:
    for one in entries:
        database.execute(_INSERT, _row(made, one))
        database.executemany("INSERT INTO terms VALUES (?, ?)", [(code, one.index) for code in made._terms_of(one)])


def _row(made: Columns, one: ThoughtEntry) -> tuple[Any, ...]:
    record = one.record
    small = (int(record["id"][-17:].replace("-", ""), 16) >> 1, int(one.hash[:16], 16) >> 1)
    agent, kind = made.code("agent", record["agent_id"], None, None), TYPE_CODES[record["thought_type"]]
    time_of = BEGINNING + one.index * 1_000_000
    return one.index, one.index * 900, 900, time_of, *small, record["importance"], agent, kind


def _compare_search(made: Columns, database: apsw.Connection) -> None:
    """The newest 50 that pass, and how many do: what `mentisdb_search` without text answers."""
    kind, middle = TYPE_CODES["Decision"], BEGINNING + THOUGHTS // 2 * 1_000_000
    tag, agent = made.known_code("tag", "tag-7"), made.known_code("agent", "agent-3", None, None)
    tagged = "idx IN (SELECT idx FROM terms WHERE term = ?)"
    cases: dict[str, tuple[Callable[[], Any], str, tuple[Any, ...]]] = {
        "tag (2%)": (lambda: made.with_terms("tag", ["tag-7"]), tagged, (tag,)),
        "type (17%)": (lambda: made.among("type", [kind]), "type = ?", (kind,)),
        "agent (14%)": (lambda: made.among("agent", [agent or 0]), "agent = ?", (agent,)),
        "importance (10%)": (lambda: made["importance"] >= 0.9, "importance >= 0.9", ()),
        "since (50%)": (lambda: made["time"] >= middle, "time >= ?", (middle,)),
        "type and importance": (
            lambda: made.among("type", [kind]) & (made["importance"] >= 0.8),
            "type = ? AND importance >= 0.8",
            (kind,),
        ),
        "tag, type and since": (
            lambda: made.with_terms("tag", ["tag-7"]) & made.among("type", [kind]) & (made["time"] >= middle),
            f"{tagged} AND type = ? AND time >= ?",
            (tag, kind, middle),
        ),
    }
    for name, (mask, where, values) in cases.items():

        def by_columns(mask: Callable[[], Any] = mask) -> tuple[int, list[int]]:
            found = np.flatnonzero(mask())
            return len(found), found[-50:].tolist()

        def by_sqlite(where: str = where, values: tuple[Any, ...] = values) -> tuple[int, list[int]]:
            [(count,)] = database.execute(f"SELECT count(*) FROM thoughts WHERE {where}", values).fetchall()
            sql = f"SELECT idx FROM thoughts WHERE {where} ORDER BY idx DESC LIMIT 50"
            return int(count), [idx for (idx,) in database.execute(sql, values)][::-1]

        assert by_columns() == by_sqlite()
        _show(f"filter by {name}", by_columns, by_sqlite)


def _compare_append(made: Columns, files: ColumnFiles, database: apsw.Connection) -> None:
    """The index's share of an append; SQLite inside one transaction, as between two checkpoints."""
    numbers = iter(range(THOUGHTS, THOUGHTS + 100_000))
    both = iter(range(THOUGHTS, THOUGHTS + 100_000))
    database.execute("BEGIN")
    _show(
        "append, the index's share",
        lambda: [files.append(made.add([(entry(next(numbers)), 0, 900)])) for _ in range(200)],
        lambda: [_insert(database, made, [entry(next(both))]) for _ in range(200)],
        200,
    )
    database.execute("COMMIT")


def _compare_open(folder: Path) -> None:
    def by_sqlite() -> None:
        database = apsw.Connection(str(folder / "index.db"))
        database.execute("SELECT * FROM thoughts ORDER BY idx DESC LIMIT 1").fetchall()
        database.close()

    _show("open", lambda: columns.load(folder, THOUGHTS), by_sqlite)


def _show(name: str, first: Callable[[], Any], second: Callable[[], Any], times: int = 1) -> None:
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for work, kept in zip((first, second), took, strict=True):
            started = time.perf_counter()
            work()
            kept.append((time.perf_counter() - started) * 1000 / times)
    ours, theirs = (statistics.median(kept) for kept in took)
    print(f"{name:32} columns {ours:9.3f} ms   SQLite {theirs:9.3f} ms   {theirs / ours:6.2f} x", flush=True)


if __name__ == "__main__":
    main()
