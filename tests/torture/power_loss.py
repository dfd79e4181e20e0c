"""Power cuts: record every change of files under a mixed load, then open the states that a cut could have left.

One process records (`python -m tests.torture.power_loss FOLDER SEED OPERATIONS`); the cuts are replayed and judged in
this process, without starting a host, so that thousands fit into an hour.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from lithos.errors import LithosError
from tests.torture import judge
from tests.torture.load import Agent, Thing, Told
from tests.torture.replay import Disk
from tests.torture.system_calls import SystemCalls, preloaded, read_record

THREADS = 3
FULL_EVERY = 10  # cuts: each of these is also searched, examined and rebuilt


class MarkedTold(Told):
    """Writes what it is told into the record, between the changes of files."""

    def __init__(self, calls: SystemCalls) -> None:
        super().__init__()
        self._system = calls

    def begin(self, thing: Thing, value: Hashable) -> None:
        self._system.mark(json.dumps(["begin", *thing, value]))
        super().begin(thing, value)

    def acknowledge(self, thing: Thing, value: Hashable) -> None:
        super().acknowledge(thing, value)
        self._system.mark(json.dumps(["acknowledge", *thing, value]))


def record(folder: Path, seed: int, operations: int) -> None:
    """In a process on the layer: open, work, close, open again, work, and end without closing."""
    system = SystemCalls(folder / "data")
    system.record(folder / "record")
    judge.embed_cheaply()
    told = MarkedTold(system)
    for half in range(2):
        memory = judge.opened(folder / "data")

        def call(tool: str, memory: Any = memory, **arguments: Any) -> dict[str, Any] | None:
            try:
                return judge.call(memory, tool, **arguments)
            except LithosError:
                return None

        agents = [Agent(call, told, f"{half}{who}", seed) for who in range(THREADS)]
        workers = [threading.Thread(target=_act, args=(agent, operations // THREADS // 2)) for agent in agents]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if half == 0:
            memory.close()


def _act(agent: Agent, times: int) -> None:
    for _ in range(times):
        agent.act()


class Cuts:
    """States of one record, in the order of its changes, and what each of them must hold."""

    def __init__(self, folder: Path, seed: int, without_flush_of: str | None = None) -> None:
        self.changes = [
            change
            for change in read_record(folder / "record")
            if without_flush_of is None or change.kind != "sync" or not change.path.endswith(without_flush_of)
        ]
        self._disk = Disk(str(folder / "data"))
        self._dice = random.Random(seed)
        self._at = 0
        self.told = Told()

    def advance(self, to: int) -> None:
        for change in self.changes[self._at : to]:
            if change.kind == "mark":
                event, kind, name, value = json.loads(change.path)
                (self.told.begin if event == "begin" else self.told.acknowledge)((kind, name), value)
            else:
                self._disk.apply(change)
        self._at = to

    def build(self, target: Path, kind: str) -> str:
        if kind == "kill":
            self._disk.after_kill(target)
            return "kill"
        return self._disk.after_power_cut(target, self._dice)


def campaign(
    folder: Path, seed: int, cuts: int, operations: int, kind: str = "power", without_flush_of: str | None = None
) -> dict[str, Any]:
    """So many cut points of one recorded load; counts. Raises AssertionError with the seed, the point and its state.

    `without_flush_of` plants a bug: no flush of paths with this end ever happened.
    """
    judge.embed_cheaply()
    command = [sys.executable, "-m", "tests.torture.power_loss", str(folder), str(seed), str(operations)]
    subprocess.run(command, env=preloaded(), check=True, timeout=600)
    states = Cuts(folder, seed, without_flush_of)
    started = next(at for at, change in enumerate(states.changes) if change.kind == "mark")
    points = sorted(random.Random(seed).sample(range(started, len(states.changes)), cuts))
    kinds: Counter[str] = Counter()
    for number, point in enumerate(points):
        states.advance(point)
        target = folder / "cut"
        shutil.rmtree(target, ignore_errors=True)
        state = states.build(target, kind)
        kinds[state] += 1
        try:
            judge_cut(target, states.told, full=number % FULL_EVERY == 0)
        except (AssertionError, LithosError) as lost:
            where = f"seed {seed}, {operations} operations, change {point} ({state}), data in {target}"
            raise AssertionError(f"{where}: {lost}") from lost
    name = "replayed kills" if kind == "kill" else "cuts"
    return {name: cuts, "changes": len(states.changes), "calls": states.told.calls, **kinds}


def judge_cut(target: Path, told: Told, full: bool) -> None:
    if full:
        judge.judge(target, told)
        return
    memory = judge.opened(target)
    try:
        memory.notes.reindex()
        judge.compare(memory, told)
    finally:
        memory.close()


if __name__ == "__main__":
    record(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # as after a cut: nothing is closed
