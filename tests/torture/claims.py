"""Claims: eight client processes on one board, hosts and clients killed, the clock of leases thirty times as fast.

The histories are checked for linearizability: one holder at a time, fencing tokens rise.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.support.hammer import check_completions, check_findings, check_histories, read_journal
from tests.support.waiting import until
from tests.torture.crash import Killer, WarmHousehold

AGENTS = 8
SPEED = 30.0
LEASE_S = 1.0  # of real time: thirty seconds by the clock of the hosts
TASKS = 2
PATIENCE_S = 600.0


class Workers:
    """Client processes; one that is killed is replaced by another agent."""

    def __init__(self, home: WarmHousehold, folder: Path, tasks: list[str], seed: int, turns: int) -> None:
        self._home, self._folder, self._tasks, self._seed, self._turns = home, folder, tasks, seed, turns
        self._started: list[subprocess.Popen[bytes]] = []
        self.killed = 0

    def start(self) -> None:
        number = len(self._started)
        wish = {
            "agent": f"agent-{number}",
            "seed": self._seed * 100 + number,
            "turns": self._turns,
            "lease": LEASE_S,  # how long it may fall asleep
            "cuts": 0.03,
            "tasks": self._tasks,
            "data_dir": str(self._home.data_dir),
            "port_file": None,
            "journal": str(self._folder / f"{number}.jsonl"),
            "lithos": self._home.command,
        }
        command = [sys.executable, "-m", "tests.support.hammer_worker", json.dumps(wish)]
        self._started.append(subprocess.Popen(command))

    def kill_one(self, dice: random.Random) -> None:
        alive = [each for each in self._started if each.poll() is None]
        if alive:
            victim = dice.choice(alive)
            victim.kill()
            victim.wait()
            self.killed += 1
            self.start()

    def answers(self) -> int:
        return sum(len(path.read_bytes().splitlines()) // 2 for path in self._folder.glob("*.jsonl"))

    def done(self) -> bool:
        return all(each.poll() is not None for each in self._started)

    def close(self) -> None:
        for each in self._started:
            each.kill()
            each.wait()


def campaign(
    folder: Path, seed: int, kills: int, turns: int, clients_killed: int, lease: float = LEASE_S, bug: str = ""
) -> dict[str, Any]:
    """Kills of hosts and of clients while eight agents take their turns; counts. Raises AssertionError."""
    (folder / "data").mkdir()
    terms = dict.fromkeys(("claim_max_ttl_minutes", "claim_default_ttl_minutes"), lease * SPEED / 60)
    (folder / "data" / "config.yaml").write_text(json.dumps({"coordination": terms}))
    journals = folder / "journals"
    journals.mkdir()
    dice = random.Random(seed)
    with ExitStack() as closing:
        home = WarmHousehold(folder, seed, armed=False, speed=SPEED, bug=bug)
        closing.callback(home.check_out)
        guest = home.guest("--toolsets", "all")
        guest.initialize()
        tasks = [guest.call("lithos_task_create", title=f"t{n}", agent="h")["task_id"] for n in range(TASKS)]
        workers = Workers(home, journals, tasks, seed, turns)
        closing.callback(workers.close)
        for _ in range(AGENTS):
            workers.start()
        with Killer(home, seed, kills, workers.answers) as killer:
            for part in range(clients_killed):
                share = AGENTS * turns * (part + 1) // (clients_killed + 1)
                until(lambda share=share: workers.answers() >= share, "some turns", PATIENCE_S)  # type: ignore[misc]
                workers.kill_one(dice)
            until(workers.done, "the end of all turns", PATIENCE_S)
        ops = [op for path in sorted(journals.glob("*.jsonl")) for op in read_journal(path)]
        pages = [guest.call("lithos_finding_list", task_id=task, limit=500) for task in tasks]
        check_histories(ops, tasks, lease)
        check_findings(ops, pages)
        check_completions(ops, tasks)
    granted = sum(op["kind"] == "claim" and bool(op.get("answer", {}).get("success")) for op in ops)
    return {"kills": killer.kills, "clients killed": workers.killed, "calls": len(ops), "claims granted": granted}
