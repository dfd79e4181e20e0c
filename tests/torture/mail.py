"""Messages: agents write to each other while hosts and clients are killed; each arrives once and is settled once.

Every agent has a client process; a send whose answer did not come is repeated with its key. What the agents were told
is compared with the rows afterwards.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lithos.app import open_lithos
from lithos.messages.store import token_of
from lithos.settings import LithosConfig, StorageSettings
from tests.support.guests import GuestProcess
from tests.support.waiting import PATIENCE, until
from tests.torture.crash import TRIES, Killer, WarmHousehold

AGENTS = 4
LEASE_S = 5
CLIENT_KILLS = 0.04  # of the calls
IN_HAND = 30  # messages of one agent that are not settled; beyond, it takes instead of sending
ATTEMPTS = 100
SENDS = 200  # of one message; hosts that start and clients that are killed cost a few
SETTLED_S = 300.0


class Told:
    """What the agents know, for the judge."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sent: dict[str, str] = {}  # body → id
        self.settled: dict[str, list[int]] = {}  # id → tokens that were believed
        self.counts: Counter[str] = Counter()

    def answers(self) -> int:
        return self.counts["calls"]


class Agent:
    def __init__(self, home: WarmHousehold, name: str, told: Told, seed: int) -> None:
        self._home, self._name, self._told = home, name, told
        self._dice = random.Random(f"{seed} {name}")
        self._asleep: list[tuple[float, str, int]] = []
        self._made = 0
        self._refusal: dict[str, Any] = {}  # the last one
        self._guest = self._new()

    def _new(self) -> GuestProcess:
        for _ in range(TRIES):
            guest = self._home.guest("--toolsets", "all", "--agent", self._name)
            try:
                guest.initialize()
                return guest
            except (AssertionError, OSError):
                guest.process.wait(PATIENCE)
        raise AssertionError(f"{TRIES} guests one after the other have given up")

    def _call(self, tool: str, *, safe: bool = False, **arguments: Any) -> dict[str, Any] | None:
        """None: the answer did not come. Now and then the client is killed while it waits."""
        self._told.counts["calls"] += 1
        try:
            asked = self._guest.ask("tools/call", {"name": tool, "arguments": arguments})
            if not safe and self._dice.random() < CLIENT_KILLS:
                time.sleep(self._dice.random() * 0.02)
                os.kill(self._guest.process.pid, 9)
                self._told.counts["clients killed"] += 1
            answer = self._guest.answer(asked)
        except (AssertionError, OSError):
            self._guest.process.wait(PATIENCE)  # raises if it still runs
            self._guest = self._new()
            return None
        if "result" not in answer or answer["result"]["isError"]:
            self._refusal = answer
            return None
        content: dict[str, Any] = answer["result"]["structuredContent"]
        return content

    def act(self, others: list[str]) -> None:
        if self._dice.random() < 0.45 and len(self._told.sent) - len(self._told.settled) < IN_HAND * AGENTS:
            self._send(self._dice.choice(others))
        else:
            self._take(safe=False)
        if self._asleep and self._asleep[0][0] < time.monotonic():
            self._wake()

    def _send(self, target: str) -> None:
        """Again with the same key until the answer comes."""
        self._made += 1
        body = f"{self._name} {self._made}"
        wish = {"target": target, "body": body, "max_attempts": ATTEMPTS, "idempotency_key": body}
        for _ in range(SENDS):
            if answer := self._call("lithos_message_send", **wish):
                break
        else:
            raise AssertionError(f"{SENDS} sends were refused: {self._refusal}")
        assert answer["success"], answer
        with self._told.lock:
            self._told.sent[body] = answer["message_id"]

    def _take(self, safe: bool) -> int:
        wish = {"limit": self._dice.randrange(1, 4), "lease_seconds": LEASE_S}
        answer = self._call("lithos_inbox_take", safe=safe, **wish)
        taken = answer["messages"] if answer else []
        for each in taken:
            message, token = each["message"], each["token"]
            fate = "ack" if message["parent_id"] else self._dice.choice(["reply"] * 7 + ["ack", "fail", "sleep"])
            if safe and fate in ("fail", "sleep"):
                fate = "reply"
            if fate == "sleep":
                self._asleep.append((time.monotonic() + LEASE_S + 1, message["id"], token))
            else:
                self._settle(fate, message["id"], token, safe)
        return len(taken)

    def _settle(self, how: str, message_id: str, token: int, safe: bool) -> None:
        more = {"reply": {"body": "done"}, "fail": {"error": "not now"}, "ack": {}}[how]
        answer = self._call(f"lithos_inbox_{how}", safe=safe, message_id=message_id, token=token, **more)
        if answer and answer["success"] and how != "fail":
            with self._told.lock:
                self._told.settled.setdefault(message_id, []).append(token)

    def _wake(self) -> None:
        _, message_id, token = self._asleep.pop(0)
        answer = self._call("lithos_inbox_reply", message_id=message_id, token=token, body="from one who slept")
        assert answer is None or not answer["success"], "a taker that lost its lease was believed"
        self._told.counts["woken and refused"] += answer is not None

    def drained(self) -> bool:
        """Nothing waits for it, and nothing of it is leased; what did wait is settled."""
        if self._take(safe=True):
            return False
        state = self._call("lithos_message_status", safe=True)
        return state is not None and state["waiting"] == 0 and state["leased"] == 0


def campaign(folder: Path, seed: int, kills: int) -> dict[str, Any]:
    """So many killed processes (hosts and clients); counts. Raises AssertionError."""
    told, home = Told(), WarmHousehold(folder, seed, armed=False)
    names = [f"agent-{number}" for number in range(AGENTS)]
    try:
        agents = [Agent(home, name, told, seed) for name in names]
        for agent in agents:  # each is known from its first call
            agent._call("lithos_inbox_list", safe=True)
        with Killer(home, seed, kills, told.answers) as killer:
            _together(agents, lambda agent: _work(agent, names, lambda: killer.kills + _clients(told) >= kills))
        until(lambda: not [agent for agent in agents if not agent.drained()], "empty inboxes", SETTLED_S)
        home.lithos("stop", check=False)
    finally:
        home.check_out()
    told.counts |= {"kills": killer.kills, "messages": len(told.sent)}
    judge(folder / "data", told)
    return dict(told.counts)


def _clients(told: Told) -> int:
    return told.counts["clients killed"]


def _work(agent: Agent, names: list[str], enough: Any) -> None:
    while not enough():
        agent.act([each for each in names if each != agent._name])


def _together(agents: Iterable[Agent], work: Any) -> None:
    failed: list[BaseException] = []

    def one(agent: Agent) -> None:
        try:
            work(agent)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def judge(data_dir: Path, told: Told) -> None:
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    try:
        rows = lithos.storage.database.read(lambda tx: tx.all("SELECT * FROM messages"))
    finally:
        lithos.close()
    by_id = {row["id"]: row for row in rows}
    sent = {row["id"] for row in rows if row["parent_id"] is None}
    assert sent == set(told.sent.values()), "a message is lost, or there twice"
    left = [row["id"] for row in rows if row["status"] != "completed"]
    assert not left, f"not settled: {left[:5]}"
    answers = Counter(row["parent_id"] for row in rows if row["parent_id"])
    assert all(count == 1 for count in answers.values()), "a message was answered twice"
    for message_id, tokens in told.settled.items():
        assert len(tokens) == 1, "a message was settled twice"
        assert tokens[0] == token_of(by_id[message_id]), "an old token was believed"
