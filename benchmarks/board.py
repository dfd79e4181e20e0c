"""The board over MCP and in process: claims, what is ready, and what 200 waiting clients cost the others."""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.report import line, milliseconds, percentile
from lithos.board import Board, NewTask, Page
from lithos.core.call import Call
from lithos.core.clock import SystemClock
from lithos.core.ids import RandomIds
from lithos.storage import (
    Database,
    Effects,
    Events,
    Idempotency,
    Keyring,
    coordination_migrations,
    open_database,
)

CLIENTS = 16
CALLS = 300
WAITERS = 200
TASKS, DEPENDENCIES = 10_000, 30_000
VERSION = "2026-07-28"


class Client:
    """MCP by hand over one kept connection: the client's own cost stays small beside the server's."""

    _ids = count(1)

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=90)

    def send(self, tool: str, **arguments: Any) -> None:
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": VERSION,
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }
        self._connection.request("POST", "/mcp", json.dumps(message).encode(), headers)

    def receive(self) -> dict[str, Any]:
        body = json.loads(self._connection.getresponse().read())
        result: dict[str, Any] = body["result"]
        assert not result.get("isError"), result
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.send(tool, **arguments)
        return self.receive()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def served() -> Iterator[int]:
    """A real server in a separate process; its port."""
    folder = tempfile.mkdtemp(prefix="bench-board-")
    command = [sys.executable, "-m", "lithos.cli.entry", "serve", "--transport", "http", "--port", "0"]
    process = subprocess.Popen([*command, "--data-dir", folder], stderr=subprocess.PIPE, text=True)
    try:
        yield _port(process)
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    for text in process.stderr:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", text)
        if found:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return int(found[1])
    raise RuntimeError("the server did not start")


def measure_verbs(port: int) -> None:
    client = Client(port)
    spent: dict[str, list[float]] = {"claim": [], "renew": [], "complete": []}
    for _ in range(CALLS):
        task = client.call("lithos_task_create", title="x", agent="bench")["task_id"]
        one: dict[str, Any] = {"task_id": task, "agent": "bench"}
        spent["claim"].append(milliseconds(lambda one=one: client.call("lithos_task_claim", aspect="a", **one)))
        spent["renew"].append(milliseconds(lambda one=one: client.call("lithos_task_renew", aspect="a", **one)))
        spent["complete"].append(milliseconds(lambda one=one: client.call("lithos_task_complete", **one)))
    for verb, times in spent.items():
        line(f"{verb} over MCP, durable, p50", percentile(times, 0.5), 5, "ms")
    client.close()


def measure_rate(port: int, seconds: float = 4.0) -> None:
    """16 clients, each claims separate aspects of one task."""
    task = Client(port).call("lithos_task_create", title="shared", agent="bench")["task_id"]
    counts = [0] * CLIENTS
    deadline = time.monotonic() + seconds

    def run(number: int) -> None:
        client = Client(port)
        while time.monotonic() < deadline:
            aspect = f"{number}-{counts[number]}"
            assert client.call("lithos_task_claim", task_id=task, aspect=aspect, agent="bench")["success"]
            counts[number] += 1

    _together(run, CLIENTS)
    line("claims with 16 clients, distinct aspects", sum(counts) / seconds, 500, "/s", more_is_better=True)


def measure_waiters(port: int) -> None:
    """A call beside 200 open waits, against the same call without them; the calls change nothing, so no one wakes."""
    client = Client(port)
    for _ in range(100):
        client.call("lithos_task_status", task_id="nowhere")
    alone = [milliseconds(lambda: client.call("lithos_task_status", task_id="nowhere")) for _ in range(CALLS)]
    cursor = client.call("lithos_board_wait", timeout=0)["cursor"]
    waiters = [Client(port) for _ in range(WAITERS)]
    for waiter in waiters:
        waiter.send("lithos_board_wait", since=cursor, timeout=50)
    time.sleep(2)  # until all of them wait; there is no tool that counts them
    beside = [milliseconds(lambda: client.call("lithos_task_status", task_id="nowhere")) for _ in range(CALLS)]
    line(
        "a call beside 200 waiters, p50 (≤ 1.2x of alone)", percentile(beside, 0.5), percentile(alone, 0.5) * 1.2, "ms"
    )
    woken = milliseconds(lambda: client.call("lithos_task_create", title="wake up", agent="bench"))
    assert all(waiter.receive()["changes"] for waiter in waiters)
    line("the call that wakes 200 waiters", woken, 50, "ms")
    for each in (client, *waiters):
        each.close()


def measure_ready(folder: Path) -> None:
    database, board = _filled(folder)
    for _ in range(20):
        board.ready(Page(100))
    times = [milliseconds(lambda: board.ready(Page(100))) for _ in range(200)]
    line(f"ready: {TASKS:,} tasks, {DEPENDENCIES:,} dependencies, p50", percentile(times, 0.5), 10, "ms")
    times = [milliseconds(lambda: board.status(page=Page(100))) for _ in range(200)]
    line(f"status: a page of {TASKS:,} open tasks, p50", percentile(times, 0.5), 10, "ms")
    database.close()


def _filled(folder: Path) -> tuple[Database, Board]:
    clock, ids = SystemClock(), RandomIds()
    database = open_database(folder / "state.db", coordination_migrations(), synchronous="NORMAL")
    events = Events("bench", Keyring(folder / "keys"), clock=clock, ids=ids)
    effects = Effects(database, events, Idempotency(clock), clock=clock)
    board = Board(database, effects, ids)
    board.open()
    chance, made = random.Random(5), list[str]()
    call = Call("bench", agent="bench")
    for number in range(TASKS):
        wanted = DEPENDENCIES * (number + 1) // TASKS - DEPENDENCIES * number // TASKS
        needs = chance.sample(made, min(wanted, len(made))) if chance.random() < 0.9 else []
        new = NewTask(f"task {number}", "bench", priority=chance.randrange(5), depends_on=needs)
        made.append(board.create(call, new)["task_id"])
    for task in chance.sample(made, TASKS // 4):
        board.complete(call, task, "bench")
    for task in chance.sample(made, TASKS // 20):
        board.claim(call, task, "a", "bench", 60)
    return database, board


def _together(run: Callable[[int], None], number: int) -> None:
    threads = [threading.Thread(target=run, args=(each,)) for each in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-board-"))
    try:
        measure_ready(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    with served() as port:
        measure_verbs(port)
        measure_rate(port)
        measure_waiters(port)


if __name__ == "__main__":
    main()
