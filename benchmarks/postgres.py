"""The board and the audit on PostgreSQL, beside a bare commit on the same server in the same run."""

from __future__ import annotations

import re
import shutil
import statistics
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg

from benchmarks.report import line, percentile
from lithos.app import Lithos, open_lithos
from lithos.core.clock import SystemClock
from lithos.core.ids import RandomIds
from lithos.settings import LithosConfig
from lithos.storage import EventFilter, Events, Keyring, Row, Tx, coordination_migrations, open_postgres

CLIENTS = 16
ROUNDS = 150
SECONDS = 5.0
EVENTS = 1_000_000


class Bare:
    """One durable row by hand: nothing that commits can be quicker."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY, note text)")

    def commit(self) -> float:
        started = time.perf_counter()
        self._connection.execute("INSERT INTO bare (note) VALUES (%s)", ("x",))
        return (time.perf_counter() - started) * 1000

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class Timed:
    """Milliseconds: p50 of the calls, p50 of the bare commits between them, CPU of client and host per call."""

    p50: float
    bare: float
    cpu: float


async def _served(lithos: Lithos, bare: Bare) -> dict[str, Timed]:
    """Over MCP in memory: protocol and all, without a network."""
    import mcp

    from lithos.serving import build_server
    from lithos.tools.caller import Caller

    async with mcp.Client(build_server(lithos, default=Caller())) as client:
        task = (await client.call_tool("lithos_task_create", {"title": "t", "agent": "a"})).structured_content
        assert task is not None
        verbs = {
            "nothing": ("lithos_tags", {}),
            "claim": ("lithos_task_claim", {"task_id": task["task_id"], "aspect": "x", "agent": "a"}),
            "renew": ("lithos_task_renew", {"task_id": task["task_id"], "aspect": "x", "agent": "a"}),
            "finding": ("lithos_finding_post", {"task_id": task["task_id"], "agent": "a", "summary": "s"}),
            "status": ("lithos_task_status", {"task_id": task["task_id"]}),
        }
        return {verb: await _timed(client, bare, tool, arguments) for verb, (tool, arguments) in verbs.items()}


async def _timed(client: Any, bare: Bare, tool: str, arguments: dict[str, Any]) -> Timed:
    """In turn with bare commits: what a flush takes changes from one second to the next."""
    times, commits, busy = [], [], 0.0
    for _ in range(ROUNDS):
        commits.append(bare.commit())
        started, before = time.perf_counter(), time.process_time()
        await client.call_tool(tool, arguments)
        times.append((time.perf_counter() - started) * 1000)
        busy += time.process_time() - before
    return Timed(statistics.median(times), statistics.median(commits), busy * 1000 / ROUNDS)


def measure_board(url: str, folder: Path) -> None:
    import anyio

    config = LithosConfig.model_validate({"storage": {"data_dir": str(folder / "data"), "database_url": url}})
    with closing(open_lithos(config)) as lithos, closing(Bare(url)) as bare:
        served = anyio.run(_served, lithos, bare)
        none = served.pop("nothing")
        print(f"{'an MCP call that asks no PostgreSQL':58} | {none.p50:>12,.3f} ms | {none.cpu:.2f} ms CPU")
        for verb, timed in served.items():
            name = f"{verb} over MCP, p50 ({timed.cpu:.2f} ms CPU; bare commit {timed.bare:.2f})"
            line(name, timed.p50, timed.bare + 3, "ms")
        line("claims with 16 clients", claims_per_second(lithos), 300, "/s", more_is_better=True)


def claims_per_second(lithos: Lithos) -> float:
    from lithos.tools.catalogue import catalogue

    call = catalogue().call
    task = call(lithos, "lithos_task_create", {"title": "many", "agent": "a"}, None)["task_id"]
    counts = [0] * CLIENTS
    deadline = time.monotonic() + SECONDS

    def claim(client: int) -> None:
        while time.monotonic() < deadline:
            arguments: dict[str, Any] = {"task_id": task, "aspect": f"{client}-{counts[client]}", "agent": f"a{client}"}
            assert call(lithos, "lithos_task_claim", arguments, None)["success"]
            counts[client] += 1

    threads = [threading.Thread(target=claim, args=(client,)) for client in range(CLIENTS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - started)


# A year of twenty agents. Filled by the server itself: a chain is not asked for here, and would take half an hour.
FILL = """
INSERT INTO events (id, store, position, at, updated_at, tool, type, op, agent, user_id, thing, path, status, details)
SELECT 'e' || n, 'bench', n, n::bigint * 31000000, n::bigint * 31000000, 'bench', 'type-' || n %% 12, 'update',
    'agent-' || n %% 20, 'user-' || n %% 50, 'thing-' || n %% 5000, 'notes/' || n %% 5000 || '.md',
    CASE n %% 1000 WHEN 0 THEN 'failed' ELSE 'committed' END, '{}'
FROM generate_series(1, %s) AS n
"""
QUESTIONS = {
    "agent": EventFilter(agent="agent-7"),
    "user": EventFilter(user_id="user-7"),
    "path": EventFilter(path="notes/77.md"),
    "type and agent": EventFilter(type="type-3", agent="agent-7"),
    "status": EventFilter(status="failed"),
    "nothing": EventFilter(),
}


class Explained:
    """A transaction that notes by which index each question is answered."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.indexes: list[str] = []

    def all(self, sql: str, *values: Any) -> list[Row]:
        plan = " ".join(row["QUERY PLAN"] for row in self._tx.all(f"EXPLAIN {sql}", *values))
        self.indexes += re.findall(r"(?:using|on) (\w+_by_\w+|Seq Scan)", plan)
        return self._tx.all(sql, *values)


def measure_events(url: str, folder: Path, count: int = EVENTS) -> None:
    events = Events("bench", Keyring(folder / "keys"), clock=SystemClock(), ids=RandomIds())
    with closing(open_postgres(url, coordination_migrations())) as database:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(FILL, (count,))
            connection.execute("VACUUM ANALYZE events")
        for name, question in QUESTIONS.items():
            times = []
            for _ in range(30):
                started = time.perf_counter()
                database.read(lambda tx, question=question: events.find(tx, question))
                times.append((time.perf_counter() - started) * 1000)
            index = database.read(lambda tx, question=question: _index(tx, events, question))
            line(f"events by {name}, {count:,} rows, p95 ({index})", percentile(times, 0.95), 30, "ms")


def _index(tx: Tx, events: Events, question: EventFilter) -> str:
    explained = Explained(tx)
    events.find(cast("Tx", explained), question)
    return ", ".join(explained.indexes)


def main(events: int = EVENTS) -> None:
    from tests.support.postgres_server import make_server, remove

    server = make_server()
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    try:
        measure_board(server.url, folder)
        measure_events(server.url, folder, events)
    finally:
        remove(server)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
