"""Agents in processes that fight for claims while the host is killed, and the judgement of their history."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tests.support import fork_server
from tests.support.guests import light_lithos
from tests.support.hammer_worker import ASPECTS, Http
from tests.support.lease_history import Op, possible
from tests.support.waiting import until

LEASE_S = 0.4


TASKS = 2


DEADLINE_S = 600  # of a wait, not a measure: a busy machine is slow, not wrong


LITHOS = [sys.executable, "-m", "lithos.cli.entry"]


class Memory:
    """A data directory, served over HTTP by a process that can be killed; `port_file` says where it listens now."""

    def __init__(self, data_dir: Path, database_url: str | None = None, lease: float = LEASE_S) -> None:
        self.data_dir, self.port_file = data_dir, data_dir.with_suffix(".port")
        data_dir.mkdir()
        minutes = lease / 60
        terms = {"claim_max_ttl_minutes": minutes, "claim_default_ttl_minutes": minutes}
        shared = {"storage": {"database_url": database_url}} if database_url else {}
        (data_dir / "config.yaml").write_text(json.dumps({"coordination": terms, **shared}))
        self.start()

    def start(self) -> None:
        command = [*LITHOS, "serve", "--transport", "http", "--port", "0", "--data-dir", str(self.data_dir)]
        self._server = fork_server.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._server.stderr
        listens = next(filter(None, map(re.compile(r"http://127\.0\.0\.1:(\d+)").search, self._server.stderr)))
        new = self.port_file.with_suffix(".new")
        new.write_text(listens[1])
        new.replace(self.port_file)
        threading.Thread(target=self._server.stderr.read, daemon=True).start()

    def kill(self) -> None:
        self._server.kill()
        self._server.wait()

    def stop(self) -> None:
        self._server.terminate()
        self._server.wait(DEADLINE_S)
        fork_server.run([*LITHOS, "stop", "--data-dir", str(self.data_dir)], timeout=DEADLINE_S)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        line = Http(self.port_file)
        line.send(tool, arguments)
        answer: dict[str, Any] = line.receive()["result"]["structuredContent"]
        return answer


@contextmanager
def agents(
    memories: Sequence[Memory], tasks: list[str], folder: Path, turns: int, lease: float
) -> Iterator[list[subprocess.Popen[bytes]]]:
    started = []
    for number in range(8):
        memory = memories[number // 2 % len(memories)]
        wish = {
            "agent": f"agent-{number}",
            "seed": number,
            "turns": turns,
            "lease": lease,
            "cuts": 0.03,
            "tasks": tasks,
            "data_dir": str(memory.data_dir),
            "port_file": str(memory.port_file) if number % 2 else None,
            "journal": str(folder / f"{number}.jsonl"),
            "lithos": light_lithos(),
        }
        started.append(fork_server.Popen([sys.executable, "-m", "tests.support.hammer_worker", json.dumps(wish)]))
    try:
        yield started
    finally:
        for each in started:
            each.kill()
            each.wait()


def hammer(
    tmp_path: Path,
    turns: int,
    kills: int,
    urls: Sequence[str | None] = (None,),
    disturbed: AbstractContextManager[object] | None = None,
    lease: float = LEASE_S,
) -> None:
    memories = [Memory(tmp_path / f"data-{number}", url, lease) for number, url in enumerate(urls)]
    first = memories[0]
    try:
        tasks = [first.call("lithos_task_create", title=f"t{n}", agent="h")["task_id"] for n in range(TASKS)]
        with agents(memories, tasks, tmp_path, turns, lease) as started, disturbed or nullcontext():
            for kill in range(kills):
                until_journaled(tmp_path, 8 * turns * (kill + 1) // (kills + 1))
                victim = memories[kill % len(memories)]
                victim.kill()
                victim.start()
            started[-1].kill()  # dies with whatever it held
            for each in started[:-1]:
                assert each.wait(DEADLINE_S) == 0
        journals = [read_journal(path) for path in sorted(tmp_path.glob("*.jsonl"))]
        ops = [op for journal in journals for op in journal]
        check_histories(ops, tasks, lease)
        check_findings(ops, [first.call("lithos_finding_list", task_id=task, limit=500) for task in tasks])
        check_completions(ops, tasks)
    finally:
        for memory in memories:
            memory.stop()


def until_journaled(folder: Path, calls: int) -> None:
    def journaled() -> int:
        return sum(len(path.read_bytes().splitlines()) // 2 for path in folder.glob("*.jsonl"))

    until(lambda: journaled() >= calls, f"{calls} calls", DEADLINE_S)


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Calls with their answers, where one came. An agent that was killed may have left half a line."""
    calls: dict[int, dict[str, Any]] = {}
    for line in path.read_text().split("\n")[:-1]:
        entry = json.loads(line)
        calls.setdefault(entry["number"], {}).update(entry)
    return list(calls.values())


def check_histories(ops: list[dict[str, Any]], tasks: list[str], lease: float) -> None:
    """Each aspect by itself, up to the first call that may have completed its task."""
    # How much happens in the time is the machine's: that anything was granted at all is what it must show.
    assert any(op["kind"] == "claim" and op.get("answer", {}).get("success") for op in ops)
    for task in tasks:
        end = min(op["called"] for op in ops if op["kind"] == "complete" and op["task"] == task)
        for aspect in ASPECTS:
            mine = [op for op in ops if op["task"] == task and op["aspect"] == aspect and op["called"] < end]
            history = [as_op(op, end) for op in mine]
            assert possible(history, lease), (task, aspect, history)


def as_op(entry: dict[str, Any], end: float) -> Op:
    known = {name: entry[name] for name in ("kind", "agent", "called", "shown")}
    if entry.get("answered", end) < end:
        known |= {"answered": entry["answered"], "answer": entry["answer"]}
    return Op(**known)


def check_findings(ops: list[dict[str, Any]], pages: list[dict[str, Any]]) -> None:
    """What was accepted is there once, what was refused is not; of what was never answered, at most one."""
    assert all(page.get("next_cursor") is None for page in pages)
    kept = Counter(finding["summary"] for page in pages for finding in page["findings"])
    assert set(kept.values()) <= {1}
    for op in ops:
        if op["kind"] == "write" and "answer" in op:
            assert kept[op["summary"]] == int(op["answer"]["success"]), op


def check_completions(ops: list[dict[str, Any]], tasks: list[str]) -> None:
    """Each task is completed once; by the agent that was killed, where nobody else was told that they did it."""
    for task in tasks:
        ends = [op for op in ops if op["kind"] == "complete" and op["task"] == task]
        told = sum(op["answer"]["success"] for op in ends if "answer" in op)
        assert told == 1 or (told == 0 and any("answer" not in op for op in ends)), ends
