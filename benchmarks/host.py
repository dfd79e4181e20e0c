"""Host and guests: what a start, a call and a crowd cost, beside the bare socket and the limits of the design."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.report import line, milliseconds, percentile
from lithos.host import wire
from lithos.host.client import describe_host
from lithos.host.host_lock import HostLock

STARTS, CALLS = 10, 1000
GUESTS_IN_MEMORY, CLIENTS, CALLS_PER_SECOND = 16, 50, 10
SOAK_SECONDS = 60.0
NOTES = 10_000
INDEX_SECONDS = 300.0
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def message(key: int, method: str, params: dict[str, Any] | None = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": key, "method": method, "params": params or {}}).encode() + b"\n"


def call(key: int, tool: str, **arguments: Any) -> bytes:
    return message(key, "tools/call", {"name": tool, "arguments": arguments})


class Client:
    """One guest and its client's ends of the pipes."""

    def __init__(self, data_dir: Path) -> None:
        command = [sys.executable, "-m", "lithos.cli.entry", "serve", "--transport", "stdio", "--data-dir"]
        self.process = subprocess.Popen(
            [*command, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._lines = os.fdopen(os.dup(self.stdout.fileno()), "rb")

    def ask(self, line: bytes) -> bytes:
        self.stdin.write(line)
        return self._lines.readline()

    def begin(self) -> Client:
        self.ask(message(0, "initialize", INITIALIZE))
        self.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def end(self) -> float:
        """The CPU that it used in its whole life."""
        self.stdin.close()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        self._lines.close()
        self.stdout.close()
        return usage.ru_utime + usage.ru_stime


def host_of(data_dir: Path) -> psutil.Process:
    return psutil.Process(int(HostLock(str(data_dir)).read_holder()["pid"]))


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def end_host(data_dir: Path, number: int = signal.SIGTERM) -> None:
    host = host_of(data_dir)
    host.send_signal(number)
    place = HostLock(str(data_dir))
    while (lock := place.try_lock()) is None:
        time.sleep(0.01)
    os.close(lock)


def bare_import() -> float:
    """CPU of importing the SDK's server and nothing else: no host that speaks MCP can start for less."""
    code = "import gc, time; gc.disable(); import mcp.server.lowlevel; print(time.process_time())"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return statistics.median(float(run.stdout) for run in runs)


def measure_cold_start(data_dir: Path, what: str) -> None:
    """From nothing to the first answer of a tool: CPU of guest and host, and wall."""
    started = time.perf_counter()
    client = Client(data_dir).begin()
    client.ask(call(1, "lithos_stats"))
    wall = time.perf_counter() - started
    used = cpu(host_of(data_dir))
    used += client.end()
    line(f"cold host, {what}: CPU to the first answer", used, 1.5, "s ")
    line(f"cold host, {what}: CPU / import of the SDK alone", used / bare_import(), 2.0, "x ")
    line(f"cold host, {what}: wall", wall, 1.5, "s ")


def fill(data_dir: Path) -> None:
    """Notes of one short sentence each: what a start costs does not depend on their length, indexing them does."""
    folder = data_dir / "knowledge"
    folder.mkdir(parents=True)
    for number in range(NOTES):
        text = f"# Note {number}\n\nNumber {number} follows [[note-{number - 1}]].\n"
        (folder / f"note-{number}.md").write_text(text, encoding="utf-8")


def index_all(data_dir: Path) -> None:
    """Until the host has nothing left to do."""
    client = Client(data_dir).begin()
    started = time.perf_counter()
    while b'"documents":%d' % NOTES not in client.ask(call(1, "lithos_stats")) or working(data_dir):
        time.sleep(0.5)
        if time.perf_counter() - started > INDEX_SECONDS:
            print(f"  {NOTES} notes are not indexed after {INDEX_SECONDS:.0f} s: what follows is measured meanwhile")
            break
    client.end()


def working(data_dir: Path) -> bool:
    shown = describe_host(HostLock(str(data_dir)))
    return shown is not None and bool(shown["working"])


def measure_warm_start(data_dir: Path) -> None:
    walls, used, sizes = [], [], []
    for _ in range(STARTS):
        started = time.perf_counter()
        client = Client(data_dir)
        client.ask(message(0, "initialize", INITIALIZE))
        walls.append(time.perf_counter() - started)
        sizes.append(psutil.Process(client.process.pid).memory_info().rss / 1e6)
        used.append(client.end())
    line("guest to the first answer, host up: wall (median)", statistics.median(walls) * 1e3, 150, "ms")
    line("guest to the first answer, host up: CPU (median)", statistics.median(used) * 1e3, 150, "ms")
    line("guest's memory", max(sizes), 25, "MB")


def measure_pipe(data_dir: Path) -> None:
    """The same calls over the bare socket and through a guest, taken in turns so that noise meets both."""
    guest = Client(data_dir).begin()
    connection = HostLock(str(data_dir)).connect()
    connection.setblocking(True)
    stream = connection.makefile("rwb", buffering=0)
    identity = {"pipe": wire.PIPE, "version": "0.1.0", "id": "b" * 32, "pid": os.getpid()}
    ask_bare(stream, wire.line({"lithos": "guest", **identity}))
    ask_bare(stream, message(0, "initialize", INITIALIZE))
    stream.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    bare, piped = [], []
    for number in range(1, CALLS + 1):
        text = call(number, "lithos_agent_list")
        bare.append(milliseconds(ask_bare, stream, text))
        piped.append(milliseconds(guest.ask, text))
    connection.shutdown(socket.SHUT_RDWR)
    guest.end()
    direct = percentile(bare, 0.5)
    print(f"  bare socket {direct:.3f} ms, through a guest {percentile(piped, 0.5):.3f} ms (p50)")
    line("what the pipe adds to a call, p50", percentile(piped, 0.5) - direct, 0.3, "ms")


def ask_bare(stream: Any, text: bytes) -> bytes:
    stream.write(text)
    found = bytearray()
    while not found.endswith(b"\n"):
        found += stream.read(1 << 16)
    return bytes(found)


def measure_memory(data_dir: Path) -> None:
    clients = [Client(data_dir).begin() for _ in range(GUESTS_IN_MEMORY)]
    for number, client in enumerate(clients):
        client.ask(call(1, "lithos_task_create", title=f"task {number}", agent="bench"))
    host = host_of(data_dir)
    total = host.memory_info().rss + sum(psutil.Process(each.process.pid).memory_info().rss for each in clients)
    line("host's memory", host.memory_info().rss / 1e6, 90, "MB")
    line(f"{GUESTS_IN_MEMORY} guests and the host, memory", total / 1e6, 600, "MB")
    for client in clients:
        client.end()


def measure_crowd(data_dir: Path, seconds: float) -> None:
    """50 clients, each ten calls a second, one of ten a durable write; one thread drives them all."""
    clients = [Client(data_dir).begin() for _ in range(CLIENTS)]
    host = host_of(data_dir)
    waits, errors = drive(clients, 2.0)
    before = host.memory_info().rss
    waits, errors = drive(clients, seconds)
    after = host.memory_info().rss
    p50, p99 = percentile(waits, 0.5) * 1e3, percentile(waits, 0.99) * 1e3
    print(f"  {len(waits)} calls in {seconds:.0f} s, p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    line(f"{CLIENTS} clients: p99 / p50", p99 / p50, 20, "x ")
    line(f"{CLIENTS} clients: errors, and one", errors + 1, 1, "  ")
    line(f"{CLIENTS} clients: host's memory after / before", after / before, 1.1, "x ")
    for client in clients:
        client.end()


def drive(clients: list[Client], seconds: float) -> tuple[list[float], int]:
    ready = selectors.DefaultSelector()
    due = {client: time.perf_counter() + number / CLIENTS / CALLS_PER_SECOND for number, client in enumerate(clients)}
    asked: dict[Client, float] = {}
    for client in clients:
        ready.register(client.stdout, selectors.EVENT_READ, client)
    waits: list[float] = []
    errors = 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or asked:
        now = time.perf_counter()
        for client, when in due.items():
            if when <= now < end and client not in asked:
                client.stdin.write(next_call(len(waits)))
                asked[client] = now
                due[client] = when + 1 / CALLS_PER_SECOND
        for key, _ in ready.select(0.001):
            client = key.data
            answer = os.read(client.stdout.fileno(), 1 << 20)
            if answer.endswith(b"\n"):
                waits.append(time.perf_counter() - asked.pop(client))
                errors += b'"isError":true' in answer or b'"error":{' in answer[:80]
    ready.close()
    return waits, errors


def next_call(number: int) -> bytes:
    if number % 10 == 0:
        return call(number + 1, "lithos_task_create", title=f"crowd {number}", agent="bench")
    return call(number + 1, "lithos_agent_list")


def measure_full(data_dir: Path) -> None:
    fill(data_dir)
    index_all(data_dir)
    for number in (signal.SIGTERM, signal.SIGKILL):
        end_host(data_dir, number)
        measure_cold_start(data_dir, f"{NOTES} notes, after {number.name}")
    line(f"host's memory, {NOTES} notes", host_of(data_dir).memory_info().rss / 1e6, 90, "MB")
    end_host(data_dir)


def main(seconds: float = SOAK_SECONDS) -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-host-"))
    data_dir = folder / "data"
    try:
        measure_cold_start(data_dir, "empty")
        measure_warm_start(data_dir)
        measure_pipe(data_dir)
        measure_memory(data_dir)
        measure_crowd(data_dir, seconds)
        end_host(data_dir)
        measure_full(folder / "full")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SOAK_SECONDS)
