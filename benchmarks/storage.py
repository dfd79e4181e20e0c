"""Durable writes beside a hand-written group-commit loop, the saga, and the audit at a million rows."""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from benchmarks.report import line, percentile
from lithos.core.call import Call
from lithos.core.clock import SystemClock
from lithos.core.ids import RandomIds
from lithos.storage import (
    Database,
    Effects,
    EventDraft,
    EventFilter,
    Events,
    FileChange,
    Idempotency,
    Keyring,
    Outcome,
    Plan,
    Root,
    Tx,
    coordination_migrations,
    open_database,
)

CALLERS = 16
SECONDS = 3.0
EVENTS = 1_000_000
INSERT = "INSERT INTO meta (name, value) VALUES (?, ?)"


def rate(write: Callable[[str], object], callers: int = CALLERS, seconds: float = SECONDS) -> float:
    """Durable writes per second with so many callers, each of which waits for its own."""
    counts = [0] * callers
    deadline = time.monotonic() + seconds

    def call(caller: int) -> None:
        while time.monotonic() < deadline:
            write(f"{caller}-{counts[caller]}-{seconds}")
            counts[caller] += 1

    threads = [threading.Thread(target=call, args=(caller,)) for caller in range(callers)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - started)


class BareLoop:
    """The least that group commit can be: one connection, one queue, one prepared INSERT, no savepoints, no errors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[tuple[str, threading.Lock] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def write(self, name: str) -> None:
        done = threading.Lock()
        done.acquire()
        self._jobs.put((name, done))
        done.acquire()

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        connection = apsw.Connection(str(self._path))
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)")
        while (job := self._jobs.get()) is not None:
            batch = [job]
            while not self._jobs.empty() and (job := self._jobs.get()) is not None:
                batch.append(job)
            connection.execute("BEGIN IMMEDIATE")
            for name, _ in batch:
                connection.execute(INSERT, (name, "value"))
            connection.execute("COMMIT")
            for _, done in batch:
                done.release()
        connection.close()


def measure_writes(folder: Path) -> None:
    bare = BareLoop(folder / "bare.db")
    limit = rate(bare.write)
    bare.close()
    database = open_database(folder / "state.db", coordination_migrations())
    ours = rate(lambda name: database.write(lambda tx: tx.run(INSERT, name, "value")))
    line("durable rows, 16 callers (≥ 50% of a bare loop)", ours, limit / 2, "/s", more_is_better=True)
    line("durable rows, 16 callers (≥ 2,000/s)", ours, 2000, "/s", more_is_better=True)
    alone = rate(lambda name: database.write(lambda tx: tx.run(INSERT, f"alone-{name}", "value")), callers=1)
    print(f"{'durable rows, one caller':58} | {alone:>12,.0f} /s")
    database.close()


def measure_effects(folder: Path) -> None:
    clock = SystemClock()
    database = open_database(folder / "state.db", coordination_migrations())
    events = Events("bench", Keyring(folder / "keys"), clock=clock, ids=RandomIds())
    (folder / "vault").mkdir()
    root = Root(folder / "vault", name="vault", keep=folder / "keep", clock=clock)
    effects = Effects(database, events, Idempotency(clock), {"vault": root}, clock=clock)

    def commit(name: str) -> None:
        effects.commit(Call("bench", "ada", idempotency_key=name), lambda tx: _outcome(tx, name))

    def apply(name: str) -> None:
        change = FileChange("vault", f"{name}.md", None, b"x" * 1000)
        effects.apply(
            Call("bench", "ada", idempotency_key=name), lambda: Plan((change,), EventDraft("note", "create"), {})
        )

    line("effects (row + event + key), 16 callers", rate(commit), 1000, "/s", more_is_better=True)
    line("sagas (row, new file, row), 16 callers", rate(apply), 150, "/s", more_is_better=True)
    database.close()


def _outcome(tx: Tx, name: str) -> Outcome:
    tx.run(INSERT, name, "value")
    return Outcome({"name": name}, (EventDraft("bench", "add", name),))


def fill_events(database: Database, events: Events, count: int) -> None:
    """A year of twenty agents, in large transactions so that filling takes a minute."""
    call = [Call("bench", f"agent-{number}", f"user-{number % 50}") for number in range(20)]

    def batch(tx: Tx, start: int) -> None:
        for number in range(start, start + 10_000):
            status = "failed" if number % 1000 == 0 else "committed"
            draft = EventDraft(
                f"type-{number % 12}", "update", f"thing-{number % 5000}", path=f"notes/{number % 5000}.md"
            )
            events.append(tx, call[number % 20], draft, status)

    for start in range(0, count, 10_000):
        database.write(lambda tx, start=start: batch(tx, start))


def measure_queries(folder: Path, count: int = EVENTS) -> None:
    clock = SystemClock()
    database = open_database(folder / "state.db", coordination_migrations(), synchronous="NORMAL")
    events = Events("bench", Keyring(folder / "keys"), clock=clock, ids=RandomIds())
    begun = clock.now()
    started = time.monotonic()
    fill_events(database, events, count)
    print(f"{'events appended in large transactions':58} | {count / (time.monotonic() - started):>12,.0f} /s")
    questions = {
        "agent": EventFilter(agent="agent-7"),
        "user": EventFilter(user_id="user-7"),
        "path": EventFilter(path="notes/77.md"),
        "type and agent": EventFilter(type="type-3", agent="agent-7"),
        "status": EventFilter(status="failed"),
        "time": EventFilter(since=begun, until=clock.now()),
        "nothing": EventFilter(),
        "no match": EventFilter(tool_call_id="none"),
    }
    for name, question in questions.items():
        line(f"events by {name}, {count:,} rows, p95", _p95(database, events, question), 20, "ms")
    started = time.monotonic()
    assert database.read(events.verify)["ok"]
    print(f"{'events verified':58} | {count / (time.monotonic() - started):>12,.0f} /s")
    database.close()


def _p95(database: Database, events: Events, question: EventFilter) -> float:
    times = []
    for _ in range(30):
        started = time.perf_counter()
        database.read(lambda tx: events.find(tx, question))
        times.append((time.perf_counter() - started) * 1000)
    return percentile(times, 0.95)


def main() -> None:
    for measure in (measure_writes, measure_effects, measure_queries):
        folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
        try:
            measure(folder)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
