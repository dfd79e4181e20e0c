"""The cost of a call beside a bare Starlette echo in the same run; start, help and memory of a server."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from benchmarks.report import line, percentile

CALLS = 2000
WARM_UP = 300
MODERN = "2026-07-28"
LITHOS = [sys.executable, "-m", "lithos.cli.entry"]


def main() -> None:
    bare = _http_cost("bare", _bare_request())
    print(f"bare Starlette echo: {bare[0]:.3f} ms CPU, p50 {bare[1]:.3f} ms")
    for era, request in (("2026-07-28", _modern_request), ("initialize", _legacy_request)):
        floor, _ = _http_cost("sdk", request)
        cpu, p50 = _http_cost("lithos", request)
        print(
            f"  {era}: the SDK alone, with a handler that does nothing: {floor:.3f} ms, {floor / bare[0]:.1f}x the echo"
        )
        line(f"HTTP, {era}: server CPU per call, 60 tools", cpu, 0.6, "ms")
        line(f"HTTP, {era}: times a bare Starlette echo", cpu / bare[0], 15, "x ")
        line(f"HTTP, {era}: p50", p50, 2.0, "ms")
    with tempfile.TemporaryDirectory() as folder:
        line("stdio: p50 of a call through guest and host", _stdio_p50(folder), 1.0, "ms")
    line("lithos --help: CPU", _help_cpu(), 0.25, "s ")
    with tempfile.TemporaryDirectory() as folder:
        cpu, megabytes = _ready(folder)
    line("server ready: CPU", cpu, 1.5, "s ")
    line("server idle: memory", megabytes, 90, "MB")


# ---------------------------------------------------------------------- HTTP
Exchange = Callable[[socket.socket], bytes]


def _http_cost(kind: str, exchange: bytes | Callable[[int], bytes]) -> tuple[float, float]:
    """(CPU milliseconds of the server per call, p50 of the client)."""
    with _process([sys.executable, "-m", "benchmarks._echo", kind]) as (process, port):
        request = exchange if isinstance(exchange, bytes) else exchange(port)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            _times(connection, request, WARM_UP)
            before = _cpu(process)
            took = _times(connection, request, CALLS)
            return (_cpu(process) - before) * 1000 / CALLS, percentile(took, 0.5) * 1000


def _times(connection: socket.socket, request: bytes, count: int) -> list[float]:
    took = []
    for _ in range(count):
        started = time.perf_counter()
        connection.sendall(request)
        _response(connection)
        took.append(time.perf_counter() - started)
    return took


def _response(connection: socket.socket) -> tuple[str, bytes]:
    held = b""
    while b"\r\n\r\n" not in held:
        held += _some(connection)
    head, _, body = held.partition(b"\r\n\r\n")
    headers = head.decode().lower()
    assert headers.startswith("http/1.1 20"), (headers, body)
    length = next((int(row.split(":")[1]) for row in headers.split("\r\n") if row.startswith("content-length")), 0)
    while len(body) < length:
        body += _some(connection)
    return headers, body


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    assert data, "the server closed the connection"
    return data


def _post(path: str, message: object, **headers: str) -> bytes:
    body = json.dumps(message).encode()
    fixed = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
    }
    rows = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in {**fixed, **headers}.items())
    return f"POST {path} HTTP/1.1\r\n{rows}\r\n".encode() + body


def _bare_request() -> bytes:
    return _post("/", {"text": "hello"})


def _modern_request(port: int) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "bench_echo_7", "arguments": {"text": "hello"}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    names = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "bench_echo_7"}
    return _post("/mcp", message, **names)


def _legacy_request(port: int) -> bytes:
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(_post("/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info}))
        headers, _ = _response(connection)
        session = next(row.split(": ")[1] for row in headers.split("\r\n") if row.startswith("mcp-session-id"))
        names = {"mcp_protocol_version": "2025-11-25", "mcp_session_id": session}
        connection.sendall(_post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **names))
        _response(connection)
    params = {"name": "bench_echo_7", "arguments": {"text": "hello"}}
    return _post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, **names)


# ---------------------------------------------------------------------- stdio
def _stdio_p50(folder: str) -> float:
    with subprocess.Popen(
        [*LITHOS, "serve", "--data-dir", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as guest:
        assert guest.stdin and guest.stdout

        def ask(method: str, params: dict[str, object]) -> None:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            guest.stdin.write(json.dumps(message).encode() + b"\n")
            guest.stdin.flush()
            assert b"result" in guest.stdout.readline()

        try:
            info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
            ask("initialize", info)
            guest.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            ask("tools/call", {"name": "lithos_agent_register", "arguments": {"id": "bench"}})
            took = []
            for _ in range(CALLS):
                started = time.perf_counter()
                ask("tools/call", {"name": "lithos_agent_info", "arguments": {"id": "bench"}})
                took.append(time.perf_counter() - started)
        finally:
            subprocess.run([*LITHOS, "stop", "--data-dir", folder], capture_output=True, check=False)
    return percentile(took[WARM_UP:], 0.5) * 1000


# ---------------------------------------------------------------------- start
def _help_cpu() -> float:
    """The least of five: what it costs, not what else the machine does."""
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*LITHOS, "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(costs)


def _ready(folder: str) -> tuple[float, float]:
    command = [*LITHOS, "serve", "--transport", "http", "--port", "0", "--data-dir", folder]
    costs = []
    for _ in range(3):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr
            url = next(row.split()[-1] for row in server.stderr if "health" in row)
            port = int(url.rpartition(":")[2].partition("/")[0])
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                _response(connection)
            process = psutil.Process(server.pid)
            spent = _cpu(process)
            time.sleep(1)
            costs.append((spent, process.memory_info().rss / 1e6))
            server.terminate()
    return min(cost for cost, _ in costs), min(megabytes for _, megabytes in costs)


@contextmanager
def _process(command: list[str]) -> Iterator[tuple[psutil.Process, int]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout
        try:
            yield psutil.Process(process.pid), int(process.stdout.readline())
        finally:
            process.terminate()


def _cpu(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


if __name__ == "__main__":
    main()
