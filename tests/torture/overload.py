"""Load: ten times as many clients as keep a host busy get at least 80% of the work done, and every renewal is served.

Work is counted per second of the host's own CPU time: how busy the machine is plays no part.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.support.hammer_worker import Http
from tests.support.served import Served, served

CLIENTS = 4
TIMES = 10
GOODPUT = 0.8


class Crowd:
    """Clients that write notes as fast as they are answered; `done` counts what was acknowledged."""

    def __init__(self, port_file: Path, clients: int, calls: int) -> None:
        self._port_file, self._clients, self._calls = port_file, clients, calls
        self.done = self.refused = 0
        self.failed: list[BaseException] = []
        self._lock = threading.Lock()

    def run(self) -> None:
        threads = [threading.Thread(target=self._work, args=(who,)) for who in range(self._clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.failed, self.failed[:3]

    def _work(self, who: int) -> None:
        try:
            line = Http(self._port_file)
            while self.done < self._calls:
                title = f"n {self._clients} {who} {self.done} {self.refused}"
                line.send("lithos_write", {"title": title, "content": title, "agent": f"a{who}"})
                answer = line.receive()["result"]
                with self._lock:
                    self.done += not answer["isError"]
                    self.refused += bool(answer["isError"])
        except BaseException as error:
            self.failed.append(error)


class Renewals:
    """An agent that renews its claim again and again."""

    def __init__(self, port_file: Path) -> None:
        self._line = Http(port_file)
        self.task: str = self._call("lithos_task_create", title="held", agent="holder")["task_id"]
        self._work = {"task_id": self.task, "aspect": "code", "agent": "holder"}
        self._call("lithos_task_claim", ttl_minutes=1, **self._work)
        self.served, self.failed = 0, list[Any]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew)

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self._line.send(tool, arguments)
        answer: dict[str, Any] = self._line.receive()["result"]["structuredContent"]
        return answer

    def _renew(self) -> None:
        while not self._over.wait(0.02) or self.served < 2:
            answer = self._call("lithos_task_renew", ttl_minutes=1, **self._work)
            if answer.get("success") is False or "error" in answer:
                self.failed.append(answer)
                return
            self.served += 1

    def __enter__(self) -> Renewals:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def campaign(
    folder: Path,
    calls: int,
    least: float = GOODPUT,
    disturb: Callable[[Served, dict[str, str]], object] = lambda host, task: None,
) -> dict[str, Any]:
    """A few clients, then a crowd; counts. Raises AssertionError. `disturb` plants a bug between the two."""
    port_file = folder / "port"
    with served(folder / "data") as host:
        port_file.write_text(str(host.port))
        Crowd(port_file, CLIENTS, calls // 4).run()  # warm
        with Renewals(port_file) as renewals:
            usual, _ = _rate(host, port_file, CLIENTS, calls)
            disturb(host, {"task_id": renewals.task, "agent": "holder"})
            crowded, refused = _rate(host, port_file, CLIENTS * TIMES, calls)
    assert not renewals.failed, renewals.failed
    check_goodput(usual, crowded, least)
    share = round(crowded / usual * 100)
    return {"loaded calls": 2 * calls, "goodput %": share, "refused": refused, "renewals": renewals.served}


def check_goodput(usual: float, crowded: float, least: float = GOODPUT) -> None:
    assert crowded >= least * usual, f"{crowded:.0f} calls per CPU second of a crowd, {usual:.0f} of a few"


def _rate(host: Served, port_file: Path, clients: int, calls: int) -> tuple[float, int]:
    """(acknowledged calls per second of the host's CPU, refused calls)"""
    process = psutil.Process(host.process.pid)
    before = sum(process.cpu_times()[:2])
    crowd = Crowd(port_file, clients, calls)
    crowd.run()
    return crowd.done / max(sum(process.cpu_times()[:2]) - before, 0.01), crowd.refused
