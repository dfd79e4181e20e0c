"""Two hosts with one database: the board stays one board, whatever dies."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lithos.board import Board, NewTask, Page, Terms
from lithos.core.call import Call
from lithos.core.clock import SystemClock
from lithos.core.ids import RandomIds
from lithos.errors import ClaimLost
from lithos.storage import Effects, Events, Idempotency, Keyring, coordination_migrations, open_postgres
from tests.support.hammer import hammer
from tests.support.hammer_worker import now
from tests.support.lease_history import Op, possible
from tests.support.postgres_server import Server, make_server, remove
from tests.support.states import PostgresStates

SHORT_LEASE_S = 0.3
LEASE_S = 1.5  # an operation takes a few trips to the server, on a busy machine a tenth of a second


class Host:
    """A host's board, in this process: what another machine would run."""

    def __init__(self, url: str, folder: Path) -> None:
        self.database = open_postgres(url, coordination_migrations())
        clock, ids = SystemClock(), RandomIds()
        self.events = Events(f"store-{folder.name}", Keyring(folder / "keys"), clock=clock, ids=ids)
        effects = Effects(self.database, self.events, Idempotency(clock), clock=clock)
        terms = Terms(default_minutes=SHORT_LEASE_S / 60, max_minutes=SHORT_LEASE_S / 60)
        self.board = Board(self.database, effects, ids, terms=terms)
        self.board.open()

    def close(self) -> None:
        self.board.close()
        self.database.close()


class Agent:
    """Claims, renews, writes and releases on one aspect, sleeps too long now and then, and notes every answer."""

    def __init__(self, host: Host, name: str, task: str) -> None:
        self._board, self._name, self._task = host.board, name, task
        self._chance = random.Random(name)
        self._token: int | None = None
        self.history: list[Op] = []

    def run(self, turns: int) -> None:
        for turn in range(turns):
            if self._token is not None and self._chance.random() < 0.3:
                time.sleep(SHORT_LEASE_S * self._chance.uniform(0.5, 1.5))
            kinds = ["claim"] if self._token is None else ["claim", "renew", "release", "write", "write"]
            self._act(self._chance.choice(kinds), turn)
            time.sleep(self._chance.uniform(0, 0.02))

    def _act(self, kind: str, turn: int) -> None:
        shown = None if kind == "claim" else self._token
        called = now()
        answer = self._answer(kind, shown, turn)
        self.history.append(Op(kind, self._name, called, now(), shown, answer))  # type: ignore[arg-type]
        if kind == "claim" and answer["success"]:
            self._token = answer["token"]
        elif kind == "release" or not answer["success"]:
            self._token = None

    def _answer(self, kind: str, shown: int | None, turn: int) -> dict[str, Any]:
        call = Call(kind, self._name, idempotency_key=f"{self._name}-{turn}")
        claim = (call, self._task, "code", self._name)
        try:
            if kind == "write":
                summary = f"{self._name}-{turn}"
                return {"success": True, **self._board.post_finding(call, self._task, self._name, summary, token=shown)}
            verbs = {"claim": self._board.claim, "renew": self._board.renew, "release": self._board.release}
            return dict(verbs[kind](*claim, **({} if kind == "claim" else {"token": shown})))
        except ClaimLost:
            return {"success": False, "reason": "claim_lost"}


def test_two_hosts_on_one_database_give_no_impossible_history(tmp_path: Path, postgres: PostgresStates) -> None:
    hosts = [Host(postgres.url(tmp_path), tmp_path / str(number)) for number in range(2)]
    task = hosts[0].board.create(Call("create", "h"), NewTask("t", "h"))["task_id"]
    agents = [Agent(hosts[number % 2], f"agent-{number}", task) for number in range(6)]
    threads = [threading.Thread(target=agent.run, args=(25,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    history = [op for agent in agents for op in agent.history]
    # How much happens in the time is the machine's: on a slow one few calls are granted, and none may clash.
    assert any(op.granted for op in history)
    assert possible(history, SHORT_LEASE_S), history
    kept = Counter(each["summary"] for each in hosts[1].board.findings(task, page=Page(500))["findings"])
    assert set(kept.values()) <= {1}
    assert sum(kept.values()) == sum(op.granted for op in history if op.kind == "write")
    for host in hosts:
        assert host.database.read(host.events.verify)["ok"]
        host.close()


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_two_hosts_hammer_one_database_and_no_history_is_impossible(tmp_path: Path, postgres: PostgresStates) -> None:
    url = postgres.url(tmp_path)
    hammer(tmp_path, turns=100, kills=3, urls=(url, url), lease=LEASE_S)


@contextmanager
def restarted_again_and_again(server: Server, pause_s: float = 4.0) -> Iterator[list[float]]:
    """The server, now shut down fast, now crashed, every few seconds; when that was."""
    ended = threading.Event()
    restarts: list[float] = []

    def restart() -> None:
        while not ended.wait(pause_s):
            server.restart(mode="immediate" if len(restarts) % 2 else "fast")
            restarts.append(time.monotonic())

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        yield restarts
    finally:
        ended.set()
        thread.join(60)


@pytest.fixture
def durable() -> Iterator[Server]:
    made = make_server()
    yield made
    remove(made)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_doubled_while_the_server_restarts_every_few_seconds(
    tmp_path: Path, durable: Server
) -> None:
    url = PostgresStates(durable.url).url(tmp_path)
    chaos = restarted_again_and_again(durable)
    hammer(tmp_path, turns=200, kills=2, urls=(url, url), disturbed=chaos, lease=LEASE_S)
