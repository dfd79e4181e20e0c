"""One agent of the hammer, in a process of its own: claims, works, sleeps too long, retries, writes down everything.

`python -m tests.support.hammer_worker '{"agent": …, "data_dir": …, "port_file": …, "tasks": […], …}'`; with a file that
names a port it speaks HTTP, without one it is a client of `lithos serve` over stdio. Every line of its journal is a
call or an answer.
"""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any, Protocol

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PATIENCE_S = 500.0
ASPECTS = ("code", "docs")
LITHOS = [sys.executable, "-m", "lithos.cli.entry"]


class Lost(Exception):
    """The answer did not come; the call may have had its effect."""


class Line(Protocol):
    def send(self, tool: str, arguments: dict[str, Any]) -> None: ...

    def receive(self) -> dict[str, Any]: ...

    def cut(self) -> None: ...


class Stdio:
    """A guest of its own; `cut` kills it."""

    def __init__(self, data_dir: str, lithos: list[str]) -> None:
        command = [*lithos, "serve", "--transport", "stdio", "--data-dir", data_dir]
        self._guest = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._ids = count(1)
        client = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "hammer", "version": "1"}}
        self._write("initialize", client)
        self.receive_raw()
        self._put({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, tool: str, arguments: dict[str, Any]) -> None:
        self._write("tools/call", {"name": tool, "arguments": arguments})

    def receive(self) -> dict[str, Any]:
        return self.receive_raw()

    def receive_raw(self) -> dict[str, Any]:
        assert self._guest.stdout
        for line in self._guest.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._last:
                return message
        raise Lost

    def cut(self) -> None:
        self._guest.kill()
        self._guest.communicate()

    def _write(self, method: str, params: dict[str, Any]) -> None:
        self._last = next(self._ids)
        self._put({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})

    def _put(self, message: dict[str, Any]) -> None:
        assert self._guest.stdin
        self._guest.stdin.write(json.dumps(message).encode() + b"\n")
        self._guest.stdin.flush()


class Http:
    """`cut` hangs up."""

    def __init__(self, port_file: Path) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", int(port_file.read_text()), timeout=60)
        self._ids = count(1)

    def send(self, tool: str, arguments: dict[str, Any]) -> None:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "hammer", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }
        self._connection.request("POST", "/mcp", json.dumps(message).encode(), headers)

    def receive(self) -> dict[str, Any]:
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise Lost
        answer: dict[str, Any] = json.loads(body)
        return answer

    def cut(self) -> None:
        self._connection.close()


class Worker:
    def __init__(self, wish: dict[str, Any]) -> None:
        self.wish = wish
        self.agent: str = wish["agent"]
        self.chance = random.Random(wish["seed"])
        self.journal = Path(wish["journal"])
        self.line: Line | None = None
        self.numbers = count(1)
        self.held: dict[tuple[str, str], int] = {}

    def run(self) -> None:
        for _ in range(self.wish["turns"]):
            task, aspect = self.chance.choice(self.wish["tasks"]), self.chance.choice(ASPECTS)
            self._act(task, aspect)
        for task in self.wish["tasks"]:
            self._call("complete", "lithos_task_complete", {"task_id": task, "agent": self.agent})
        if self.line:
            self.line.cut()

    def _act(self, task: str, aspect: str) -> None:
        token = self.held.get((task, aspect))
        work: dict[str, Any] = {"task_id": task, "aspect": aspect, "agent": self.agent}
        if token is None:
            answer = self._call("claim", "lithos_task_claim", work)
            if answer["success"]:
                self.held[task, aspect] = answer["token"]
            time.sleep(self.chance.uniform(0, 0.1))
            return
        if self.chance.random() < 0.3:
            time.sleep(self.wish["lease"] * self.chance.uniform(0.8, 1.6))  # falls asleep with the token in its hand
        kind = self.chance.choice(["renew", "write", "write", "claim", "release"])
        tools = {"renew": "lithos_task_renew", "release": "lithos_task_release", "claim": "lithos_task_claim"}
        if kind == "write":
            summary = f"{self.agent}-{next(self.numbers)}"
            work = {"task_id": task, "agent": self.agent, "summary": summary, "claim_token": token}
            answer = self._call("write", "lithos_finding_post", work, aspect=aspect)
        else:
            shown = {} if kind == "claim" else {"claim_token": token}
            answer = self._call(kind, tools[kind], {**work, **shown})
        if kind == "claim" and answer["success"]:
            self.held[task, aspect] = answer["token"]
        elif kind == "release" or not answer["success"]:
            self.held.pop((task, aspect), None)

    def _call(self, kind: str, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        number = next(self.numbers)
        wish = {**arguments, "idempotency_key": f"{self.agent}-{number}"}
        told = {"aspect": arguments.get("aspect"), "shown": arguments.get("claim_token"), **more}
        told["summary"] = arguments.get("summary")
        self._note(number=number, kind=kind, agent=self.agent, task=arguments["task_id"], called=now(), **told)
        answer = self._until_answered(tool, wish)
        self._note(number=number, answered=now(), answer=answer)
        return answer

    def _until_answered(self, tool: str, wish: dict[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                answer = self._once(tool, wish)
            except (Lost, OSError, http.client.HTTPException):
                self._hang_up()
                time.sleep(0.05)
                continue
            if "error" not in answer:
                return {"success": True, **answer}
            if not answer["error"]["retryable"]:
                return {"success": False, "reason": answer["error"]["code"]}
            time.sleep(0.05)
        raise SystemExit(f"{self.agent} got no answer for {tool}")

    def _once(self, tool: str, wish: dict[str, Any]) -> dict[str, Any]:
        if self.line is None:
            port_file, data_dir = self.wish["port_file"], self.wish["data_dir"]
            self.line = Http(Path(port_file)) if port_file else Stdio(data_dir, self.wish.get("lithos", LITHOS))
        self.line.send(tool, wish)
        if self.chance.random() < self.wish["cuts"]:
            self._hang_up()
            raise Lost
        message = self.line.receive()
        if "result" not in message:
            raise Lost
        answer: dict[str, Any] = message["result"]["structuredContent"]
        return answer

    def _hang_up(self) -> None:
        if self.line is not None:
            self.line.cut()
            self.line = None

    def _note(self, **entry: Any) -> None:
        with self.journal.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(entry) + "\n")


def now() -> float:
    """The clock by which the server measures leases."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


if __name__ == "__main__":
    Worker(json.loads(sys.argv[1])).run()
