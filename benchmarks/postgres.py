"""The board and the audit on PostgreSQL, beside a bare commit on the same server in the same run."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.report import line, percentile
from benchmarks.storage import fill_events
from lithos.app import Lithos, open_lithos
from lithos.core.clock import SystemClock
from lithos.core.ids import RandomIds
from lithos.settings import LithosConfig
from lithos.storage import EventFilter, Events, Keyring, coordination_migrations, open_postgres

CLIENTS = 16
ROUNDS = 150
SECONDS = 5.0
EVENTS = 1_000_000


def bare_commit(url: str) -> float:
    """p50 of one durable row, milliseconds: nothing that commits can be quicker."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY, note text)")
        return _p50(lambda: connection.execute("INSERT INTO bare (note) VALUES (%s)", ("x",)))


def _p50(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


async def _served(lithos: Lithos) -> None:
    """The board's verbs over MCP, in memory: protocol and all, without a network."""
    import mcp

    from lithos.mcp import build_server
    from lithos.tools.caller import Caller

    async with mcp.Client(build_server(lithos, default=Caller())) as client:
        task = (await client.call_tool("lithos_task_create", {"title": "t", "agent": "a"})).structured_content
        assert task is not None
        names = {
            "claim": ("lithos_task_claim", {"task_id": task["task_id"], "aspect": "x", "agent": "a"}),
            "renew": ("lithos_task_renew", {"task_id": task["task_id"], "aspect": "x", "agent": "a"}),
            "finding": ("lithos_finding_post", {"task_id": task["task_id"], "agent": "a", "summary": "s"}),
            "status": ("lithos_task_status", {"task_id": task["task_id"]}),
        }
        for verb, (tool, arguments) in names.items():
            times = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                await client.call_tool(tool, arguments)
                times.append((time.perf_counter() - started) * 1000)
            RESULTS[verb] = statistics.median(times)


RESULTS: dict[str, float] = {}


def measure_board(url: str, folder: Path) -> None:
    import anyio

    bare = bare_commit(url)
    config = LithosConfig.model_validate({"storage": {"data_dir": str(folder / "data"), "database_url": url}})
    with closing(open_lithos(config)) as lithos:
        anyio.run(_served, lithos)
        for verb, value in RESULTS.items():
            line(f"board {verb} over MCP, p50 (≤ bare commit {bare:.2f} + 3 ms)", value, bare + 3, "ms")
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


def measure_events(url: str, folder: Path, count: int = EVENTS) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_commit = off")  # filling only; queries do not care
        connection.execute("SELECT pg_reload_conf()")
    events = Events("bench", Keyring(folder / "keys"), clock=SystemClock(), ids=RandomIds())
    with closing(open_postgres(url, coordination_migrations())) as database:
        fill_events(database, events, count)
        database.write(lambda tx: tx.run("ANALYZE events"))
        questions = {
            "agent": EventFilter(agent="agent-7"),
            "user": EventFilter(user_id="user-7"),
            "path": EventFilter(path="notes/77.md"),
            "type and agent": EventFilter(type="type-3", agent="agent-7"),
            "status": EventFilter(status="failed"),
            "nothing": EventFilter(),
        }
        for name, question in questions.items():
            times = []
            for _ in range(30):
                started = time.perf_counter()
                database.read(lambda tx, question=question: events.find(tx, question))
                times.append((time.perf_counter() - started) * 1000)
            line(f"events by {name} on PostgreSQL, {count:,} rows, p95", percentile(times, 0.95), 30, "ms")


def main(events: int = EVENTS) -> None:
    from tests.postgres_server import make_server, remove

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
