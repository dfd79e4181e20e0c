"""A host in a process of its own, over HTTP, and raw requests to it: for faults that only a real process shows."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.support import fork_server

LITHOS = [sys.executable, "-m", "lithos.cli.entry"]
PATIENCE = 60.0
_LISTENS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "faults", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Served:
    """`lithos serve --transport http` on a free port."""

    def __init__(self, data_dir: Path, *flags: str, open_files: int = 0) -> None:
        command = [*LITHOS, "serve", "--transport", "http", "--port", "0", "--data-dir", str(data_dir), *flags]
        self.data_dir = data_dir
        self.process = fork_server.Popen(command, stderr=subprocess.PIPE, text=True, open_files=open_files)
        self.lines: list[str] = []
        self.port = self._listening()
        self.url = f"http://127.0.0.1:{self.port}"
        self._reader = threading.Thread(target=self._read_on, daemon=True)
        self._reader.start()
        self.http = httpx.Client(base_url=self.url, headers=_HEADERS, timeout=PATIENCE, verify=False)

    def _listening(self) -> int:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)
            if found := _LISTENS.search(line):
                return int(found[1])
        raise AssertionError(f"the host did not start: {''.join(self.lines)}")

    def _read_on(self) -> None:
        assert self.process.stderr
        with contextlib.suppress(ValueError):
            for line in self.process.stderr:
                self.lines.append(line)

    def log(self) -> str:
        return "".join(self.lines)

    def request(self, tool: str, arguments: dict[str, Any], **options: Any) -> httpx.Response:
        params = {"name": tool, "arguments": arguments, "_meta": _META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**_MODERN, "mcp-name": tool, **options.pop("headers", {})}
        return self.http.post("/mcp", json=body, headers=headers, **options)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured answer, an error's included."""
        answer = self.request(tool, arguments)
        assert answer.status_code == 200, answer.text
        content: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return content

    def health(self) -> dict[str, Any]:
        answer = self.http.get("/health")
        return {**answer.json(), "http": answer.status_code}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    @property
    def memory_mb(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    @property
    def descriptors(self) -> int:
        return int(psutil.Process(self.process.pid).num_fds())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self._close()

    def _close(self) -> None:
        self.http.close()
        self._reader.join()
        assert self.process.stderr
        self.process.stderr.close()


@contextlib.contextmanager
def served(data_dir: Path, *flags: str, **options: Any) -> Iterator[Served]:
    host = Served(data_dir, *flags, **options)
    try:
        yield host
    finally:
        if host.process.poll() is None:
            host.stop()


def lithos(
    data_dir: Path, *arguments: str, seconds: float = PATIENCE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """One verb of the command line."""
    command = [*LITHOS, *arguments, "--data-dir", str(data_dir)]
    return fork_server.run(command, timeout=seconds, env={**os.environ, **environment})
