"""Takers that are stopped at a named step of a take or a reply, or that fall asleep with a message in their hands.

Each crash is a new start on the same rows. In the end every message that was sent has been answered exactly once, and
no taker that lost its lease was ever believed.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

from lithos.messages import MOST_TRIES, MessageLimits
from lithos.storage import Crash
from tests.support.post_office import PostOffice, by

RECEIVERS = ("bob", "cat")
POINTS = ("commit.begin", "commit.work", "commit.send", "commit.done")
LEASE_S = 60.0
LIMITS = MessageLimits(per_minute=10**6, ttl_seconds=10**9)
ATTEMPTS = MOST_TRIES  # a taker is stopped often, but never so often at one message


class StopAt:
    """The process "dies" at the armed point."""

    def __init__(self) -> None:
        self.armed = ""

    def at(self, point: str) -> None:
        if point == self.armed:
            self.armed = ""
            raise Crash(point)


class Takers:
    def __init__(self, folder: Path, seed: int) -> None:
        self._dice = random.Random(seed)
        self._faults = StopAt()
        self._office = PostOffice(folder, limits=LIMITS)
        self._sent: dict[str, str] = {}  # id of each message → body
        self._newest: dict[str, int] = {}  # its newest token
        self._answered: set[str] = set()  # by a reply that was acknowledged
        self._asleep: list[tuple[str, str, int]] = []  # receiver, message, token
        self.counts: Counter[str] = Counter()
        self._restart()

    def _restart(self) -> None:
        self._office.close()
        self._office.open(self._faults)

    def _stopped_at(self, point: str, work: Any) -> Any:
        """The result of `work`; None: it was stopped, and the next process has started."""
        self._faults.armed = point
        try:
            return work()
        except Crash:
            self.counts["stopped takers"] += 1
            self._restart()
            return None
        finally:
            self._faults.armed = ""

    def send(self) -> None:
        """Stopped too, now and then; sent again with its key, it is one message."""
        body, receiver = f"message {len(self._sent)}", self._dice.choice(RECEIVERS)
        earlier = self._dice.choice(list(self._sent)) if self._sent and self._dice.random() < 0.2 else None
        more = {"correlation_id": earlier, "max_attempts": ATTEMPTS}
        answer = None
        while answer is None:
            point = self._dice.choice(POINTS) if self._dice.random() < 0.1 else ""
            work = lambda: self._office.send("ann", receiver, body, key=body, **more)  # noqa: E731
            answer = self._stopped_at(point, work)
        assert answer["success"], answer
        self._sent[answer["message_id"]] = body

    def take(self, stops: bool = True) -> None:
        receiver = self._dice.choice(RECEIVERS)
        stop = self._dice.choice(["take", "reply", "reply", "sleep"]) if stops else ""
        point = self._dice.choice(POINTS)
        taken = self._stopped_at(
            point if stop == "take" else "", lambda: self._office.take(receiver, lease_seconds=LEASE_S)
        )
        for each in taken or ():
            message_id, token = each["message"]["id"], each["token"]
            assert message_id not in self._answered, "an answered message was handed out again"
            assert token > self._newest.get(message_id, 0), "a token did not rise"
            self._newest[message_id] = token
            if stop == "sleep":
                self.counts["stopped takers"] += 1
                self._asleep.append((receiver, message_id, token))
            else:
                self._reply(receiver, message_id, token, point if stop == "reply" else "")

    def _reply(self, receiver: str, message_id: str, token: int, point: str) -> None:
        payload = {"body": f"answer to {self._sent[message_id]}"}
        work = lambda: self._office.messages.reply(by(receiver), message_id, token, payload)  # noqa: E731
        answer = self._stopped_at(point, work)
        if answer is not None and answer["success"]:
            assert token == self._newest[message_id], "an old token was believed"
            assert message_id not in self._answered, "a message was answered twice"
            self._answered.add(message_id)

    def time_passes(self) -> None:
        """Leases end, and messages come back."""
        self._office.advance(LEASE_S + 1)
        self._office.advance(45)  # the pause before the next attempt, and the rest of a breaker

    def wake_one(self) -> None:
        """With what it held: by now its lease may have ended, and another may hold the message."""
        if self._asleep:
            self._reply(*self._asleep.pop(self._dice.randrange(len(self._asleep))), "")
            self.counts["woken takers"] += 1

    def run(self, stops: int) -> None:
        while self.counts["stopped takers"] < stops:
            for _ in range(4):
                self.send()
            for _ in range(self._dice.randrange(2, 8)):
                self.take()
                if self._dice.random() < 0.3:
                    self.wake_one()
            if self._dice.random() < 0.5:
                self.time_passes()
        while set(self._sent) - self._answered - self._settled():
            self.time_passes()
            while self._asleep:
                self.wake_one()
            for _ in range(64):
                self.take(stops=False)

    def _settled(self) -> set[str]:
        return {row["id"] for row in self._rows() if row["status"] == "completed"}

    def _rows(self) -> list[dict[str, Any]]:
        return self._office.database.read(lambda tx: tx.all("SELECT id, parent_id, status, payload FROM messages"))

    def judge(self) -> None:
        rows = self._rows()
        first = {row["id"]: row for row in rows if row["parent_id"] is None}
        assert set(first) == set(self._sent), "a message is lost, or there twice"
        assert {row["status"] for row in first.values()} <= {"completed"}, "a message was not settled"
        answers = Counter(row["parent_id"] for row in rows if row["parent_id"] is not None)
        assert answers == Counter(dict.fromkeys(self._sent, 1)), "not every message has exactly one answer"
        self.counts["messages"] = len(self._sent)

    def close(self) -> None:
        self._office.close()


def campaign(folder: Path, seed: int, stops: int) -> dict[str, Any]:
    """So many stopped takers; counts. Raises AssertionError."""
    takers = Takers(folder, seed)
    try:
        takers.run(stops)
        takers.judge()
    finally:
        takers.close()
    return dict(takers.counts)
