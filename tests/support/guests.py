"""Real processes for tests of host and guest: a guest with its client's ends of the pipes, and what is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from lithos.host.host_lock import HostLock
from tests.support import fork_server
from tests.support.waiting import PATIENCE, until

LITHOS = [sys.executable, "-m", "lithos.cli.entry"]
# The same, and a host that it starts is a fork of the fork server.
_LIGHT = "import sys; sys.executable = {!r}; from lithos.cli.entry import main; raise SystemExit(main())"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test-client", "version": "1"},
}


class GuestProcess:
    """A `lithos serve` and the client's ends of its pipes. Speaks raw JSON-RPC, one line each."""

    def __init__(
        self,
        data_dir: Path | str,
        *flags: str,
        command: list[str] | None = None,
        start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
        **popen: Any,
    ) -> None:
        arguments = ["serve", "--transport", "stdio", "--data-dir", str(data_dir), *flags]
        self.process = start(
            [*(command or light_lithos()), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            **popen,
        )
        self._buffer = b""
        self._next = 0
        self.answers: dict[Any, dict[str, Any]] = {}
        self.notifications: list[dict[str, Any]] = []

    def send(self, method: str, params: dict[str, Any] | None = None, *, key: int | str | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if key is not None:
            message["id"] = key
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and do not wait for its answer."""
        self._next += 1
        self.send(method, params, key=self._next)
        return self._next

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.ask(method, params))

    def initialize(self) -> dict[str, Any]:
        answer = self.request("initialize", INITIALIZE)
        self.send("notifications/initialized")
        return answer

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool."""
        return structured(self.request("tools/call", {"name": tool, "arguments": arguments}))

    def answer(self, key: int | str, seconds: float = PATIENCE) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while key not in self.answers:
            self._read(deadline - time.monotonic())
        return self.answers.pop(key)

    def _read(self, seconds: float) -> None:
        assert self.process.stdout is not None
        waiting = select.poll()  # select.select ends at descriptor 1024, which a long run of tests reaches
        waiting.register(self.process.stdout, select.POLLIN)
        ready = waiting.poll(max(0.0, seconds) * 1000)
        data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
        if not data:
            raise AssertionError(f"no answer; the guest's exit code is {self.process.poll()}")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message.get("method"):
                self.notifications.append(message)
            else:
                self.answers[message["id"]] = message

    def close(self, seconds: float = PATIENCE) -> int:
        """End as a client does: close stdin and wait."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        code = self.process.wait(seconds)
        self.process.stdout.close()
        return code

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


def light_lithos() -> list[str]:
    return [sys.executable, "-c", _LIGHT.format(fork_server.python())]


def structured(answer: dict[str, Any]) -> dict[str, Any]:
    assert "result" in answer, answer
    content: dict[str, Any] = answer["result"]["structuredContent"]
    return content


class Household:
    """All guests of one data directory, and its host; `check_out` leaves nothing behind, or tells what was left."""

    def __init__(self, data_dir: Path, command: list[str] | None = None) -> None:
        self.data_dir = data_dir
        self._command = command
        self.host_lock = HostLock(str(data_dir))
        self.guests: list[GuestProcess] = []

    def guest(self, *flags: str, **popen: Any) -> GuestProcess:
        guest = GuestProcess(self.data_dir, *flags, **{"command": self._command, **popen})
        self.guests.append(guest)
        return guest

    def host_pid(self) -> int:
        return int(until(lambda: self.host_lock.read_holder().get("pid"), "a host"))

    def hosts(self) -> list[int]:
        """Every process that is a background host of this directory."""
        found = []
        for process in psutil.process_iter(["pid", "cmdline", "status"]):
            words = process.info["cmdline"] or []
            if "lithos.host" in words and self.host_lock.data_dir in words and process.info["status"] != "zombie":
                found.append(process.info["pid"])
        return found

    def has_host(self) -> bool:
        held = self.host_lock.try_lock()
        if held is not None:
            os.close(held)
        return held is None

    def kill_host(self, number: int = signal.SIGKILL) -> int:
        pid = self.host_pid()
        os.kill(pid, number)
        return pid

    def kill_pid(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def lithos(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [*LITHOS, *arguments, "--data-dir", str(self.data_dir)]
        return fork_server.run(command, check=check, timeout=PATIENCE * 2)

    def check_out(self) -> None:
        hosts, holder = self._end_all()
        if not hosts or (holder.get("ready") and holder["pid"] in hosts):  # one that still started leaves its socket
            assert not Path(self.host_lock.socket_path).exists()

    def _end_all(self) -> tuple[list[int], dict[str, Any]]:
        """End guests and hosts; the hosts that were there, and what the last one wrote in its lock."""
        for guest in self.guests:
            if guest.process.poll() is None:
                guest.close()
            assert guest.process.stderr is not None
            guest.process.stderr.close()
        hosts, holder = self.hosts(), self.host_lock.read_holder()
        for pid in hosts:
            with contextlib.suppress(psutil.NoSuchProcess):
                host = psutil.Process(pid)
                host.terminate()
                until(lambda host=host: host.status() == psutil.STATUS_ZOMBIE, "the end of a host")
        until(lambda: not self.hosts(), "the end of all hosts")
        return hosts, holder


@contextlib.contextmanager
def household(data_dir: Path, command: list[str] | None = None) -> Iterator[Household]:
    everybody = Household(data_dir, command)
    try:
        yield everybody
    finally:
        everybody.check_out()
