"""Kill the host again and again under mixed load, at random moments and inside its own system calls."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.guests import GuestProcess, Household
from tests.support.waiting import PATIENCE, until
from tests.torture import warm_start
from tests.torture.load import Agent, Told
from tests.torture.system_calls import library, preloaded

GUESTS = 3
TRIES = 10
UNSAID = 60  # answers of a host that could not write into its lock file that it is ready
AS_GUEST = "import sys; sys.executable = sys.argv.pop(1); from lithos.cli.entry import main; raise SystemExit(main())"


class WarmHousehold(Household):
    """Guests whose hosts are forked from one process that has imported everything."""

    def __init__(self, folder: Path, seed: int, **options: Any) -> None:
        super().__init__(folder / "data")
        self._log = folder / "hosts"
        socket, self._stand_in = folder / "warm.sock", folder / "python"
        warm_start.write_stand_in(str(self._stand_in), str(socket))
        wish = json.dumps({"seed": seed, **options})
        command = [sys.executable, "-m", "tests.torture.warm_start", str(socket), str(self._log), wish]
        self._warm = subprocess.Popen(command, env=preloaded() if library() else None)
        until(socket.exists, "a warm process")

    @property
    def command(self) -> list[str]:
        """`lithos`, for guests."""
        return [sys.executable, "-c", AS_GUEST, str(self._stand_in)]

    def guest(self, *flags: str, **popen: Any) -> GuestProcess:
        return super().guest(*flags, command=self.command, **popen)

    def started(self) -> list[int]:
        return [int(line) for line in _lines(self._log.with_suffix(".started"))]

    def faults(self) -> list[tuple[int, str, str]]:
        """(host, kind, where) of every fault at a change of a file."""
        lines = (line.split(" ", 2) for line in _lines(self._log.with_suffix(".faults")))
        return [(int(pid), kind, where) for pid, kind, where in lines]

    def killed_inside(self) -> dict[int, str]:
        """Hosts that died at a change of a file, and at which."""
        return {pid: where for pid, kind, where in self.faults() if kind in ("kill", "torn")}

    def hosts(self) -> list[int]:
        return [pid for pid in self.started() if _lives(pid)]

    def check_out(self) -> None:
        """The last host may have been killed, at a change of a file or from outside: then its socket is still there."""
        try:
            self._end_all()
        finally:
            self._warm.kill()
            self._warm.wait()


class Killer:
    """Ends every host: while it starts, or some time after it is ready, unless it has died at a change by then."""

    def __init__(self, home: WarmHousehold, seed: int, most: int, answers: Callable[[], int]) -> None:
        self._home, self._dice, self._most, self._answers = home, random.Random(seed), most, answers
        self._from_outside: set[int] = set()
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._kill_again_and_again)

    @property
    def kills(self) -> int:
        return len(self._from_outside | set(self._home.killed_inside()))

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()

    def _kill_again_and_again(self) -> None:
        while self.kills < self._most and not self._enough.wait(0.005):
            for pid in self._home.hosts():
                if self._is_time(pid) and self.kills < self._most:
                    self._kill(pid)

    def _is_time(self, pid: int) -> bool:
        """False: it has died by itself, or there have been enough."""
        if self._dice.random() < 0.15:
            return not self._enough.wait(self._dice.random() * 0.2)
        answers = self._answers()
        while not self._enough.wait(0.005):
            holder = self._home.host_lock.read_holder()
            if not _lives(pid):
                return False
            if holder.get("pid") == pid and holder.get("ready"):
                return self._is_busy(pid)
            if self._answers() > answers + UNSAID:
                return True
        return False

    def _is_busy(self, pid: int) -> bool:
        """After some answers, not after some time: how fast anything is plays no part."""
        enough = self._answers() + int(self._dice.random() ** 3 * 40)
        while self._answers() < enough:
            if self._enough.wait(0.002) or not _lives(pid):
                return False
        return not self._enough.wait(self._dice.random() * 0.03)

    def _kill(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self._from_outside.add(pid)

    def unexplained(self) -> set[int]:
        """Hosts that ended and that nothing killed. One whose start met a fault of the disk may refuse to start."""
        met = {pid for pid, _, _ in self._home.faults()}
        return set(self._home.started()) - set(self._home.hosts()) - self._from_outside - met


class Client:
    """A guest for one agent; a new one takes the place of a guest that has given up."""

    def __init__(self, home: WarmHousehold) -> None:
        self._home = home
        self._guest = self._new()

    def _new(self) -> GuestProcess:
        """A guest gives up when the start of its host meets a fault of the disk; the next one starts another host."""
        for _ in range(TRIES):
            guest = self._home.guest("--toolsets", "all")
            try:
                guest.initialize()
                return guest
            except (AssertionError, OSError):
                guest.process.wait(PATIENCE)  # raises if it still runs
        raise AssertionError(f"{TRIES} guests one after the other have given up")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        try:
            answer = self._guest.request("tools/call", {"name": tool, "arguments": arguments})
        except (AssertionError, OSError):
            self._guest.process.wait(PATIENCE)  # raises if it still runs: then it has not given up, it hangs
            self._guest = self._new()
            return None
        if "result" not in answer or answer["result"]["isError"]:
            return None
        content: dict[str, Any] = answer["result"]["structuredContent"]
        return content


def campaign(folder: Path, seed: int, kills: int) -> tuple[Told, dict[str, Any]]:
    """So many kills; what the clients were told, and counts. Judge `folder / "data"` afterwards."""
    told, home = Told(), WarmHousehold(folder, seed)
    try:
        clients = [Client(home) for _ in range(GUESTS)]
        agents = [Agent(client.call, told, str(who), seed) for who, client in enumerate(clients)]
        failed: list[BaseException] = []
        with Killer(home, seed, kills, lambda: told.answers) as killer:

            def work(agent: Agent) -> None:
                try:
                    while killer.kills < kills and not failed:
                        agent.act()
                except BaseException as error:
                    failed.append(error)

            threads = [threading.Thread(target=work, args=(agent,)) for agent in agents]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        unexplained = killer.unexplained()
        failed_changes = Counter(kind for _, kind, _ in home.faults() if kind not in ("kill", "torn"))
        inside = Counter(_kind(where) for where in home.killed_inside().values())
        home.lithos("stop", check=False)
    finally:
        home.check_out()
    assert not failed, failed
    assert not unexplained, f"hosts ended that nothing killed: {unexplained}; see {home.host_lock.log_path}"
    counts = {"kills": killer.kills, "kills inside calls": sum(inside.values()), "calls": told.calls}
    counts |= {"failed changes": failed_changes.total(), "unsure": told.errors}
    return told, {**counts, "faults": dict(failed_changes), "where": dict(inside), **told.counts()}


def _kind(where: str) -> str:
    for part in (".tantivy", ".vectors", ".catalogue", "coordination.db", "ledger", "knowledge", "garden"):
        if part in where:
            return part
    return "other"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except FileNotFoundError:
        return []
