"""Messages against a model: one taker at a time, order within a correlation, every message settled once, none lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.post_office import PostOffice, by

RECEIVERS = ("bob", "cat")


class MessageMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.office = PostOffice(self.folder)
        self.sent: dict[str, dict[str, Any]] = {}  # the model: id → receiver, correlation, state, token, until
        self.now = 0.0

    def teardown(self) -> None:
        self.office.close()
        shutil.rmtree(self.folder)

    @rule(receiver=st.sampled_from(RECEIVERS), follows=st.booleans(), priority=st.sampled_from([0, 50, 75]))
    def send(self, receiver: str, follows: bool, priority: int) -> None:
        earlier = [each for each in self.sent.values() if each["target"] == receiver] if follows else []
        correlation = earlier[-1]["correlation"] if earlier else None
        answer = self.office.send("ann", receiver, correlation_id=correlation, priority=priority, max_attempts=50)
        self.sent[answer["message_id"]] = {
            "target": receiver,
            "correlation": answer["correlation_id"],
            "state": "queued",
            "tokens": [],
            "until": 0.0,
        }

    @rule(receiver=st.sampled_from(RECEIVERS), limit=st.integers(1, 4), seconds=st.sampled_from([10, 100]))
    def take(self, receiver: str, limit: int, seconds: int) -> None:
        for each in self.office.take(receiver, limit, seconds):
            message = self.sent[each["message"]["id"]]
            assert message["target"] == receiver
            assert message["state"] == "queued", "a message was handed out twice"
            earlier = [
                other
                for key, other in self.sent.items()
                if other["correlation"] == message["correlation"] and key < each["message"]["id"]
            ]
            assert all(other["state"] == "settled" for other in earlier), "handed out before its predecessor is settled"
            message |= {"state": "held", "until": self.now + seconds}
            message["tokens"].append(each["token"])

    def _tokens(self) -> list[str]:
        return [key for key, each in self.sent.items() if each["tokens"]]

    @precondition(lambda self: self._tokens())
    @rule(data=st.data(), ack=st.booleans())
    def settle(self, data: st.DataObject, ack: bool) -> None:
        """With any token that a message ever had."""
        key = data.draw(st.sampled_from(self._tokens()))
        message = self.sent[key]
        caller, token = by(message["target"]), data.draw(st.sampled_from(message["tokens"]))
        alive = message["state"] == "held" and self.now <= message["until"] and token == message["tokens"][-1]
        if ack:
            answer = self.office.messages.ack(caller, key, token)
        else:
            answer = self.office.messages.fail(caller, key, token, "not now", retry=True)
        assert answer["success"] is alive, answer
        if alive:
            message["state"] = "settled" if ack else "queued"

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.sent)))
        answer = self.office.messages.cancel(by("ann"), key)
        assert answer["success"] is (self.sent[key]["state"] == "queued")
        if answer["success"]:
            self.sent[key]["state"] = "settled"

    @rule(seconds=st.sampled_from([1, 15, 200]))
    def advance(self, seconds: int) -> None:
        self.now += seconds
        self.office.advance(seconds)
        for message in self.sent.values():
            if message["state"] == "held" and self.now > message["until"]:
                message["state"] = "queued"

    @rule()
    def restart(self) -> None:
        self.office.reopen()

    @invariant()
    def nothing_is_lost_and_counts_are_right(self) -> None:
        rows = self.office.database.read(lambda tx: tx.all("SELECT * FROM messages"))
        states = {"queued": "queued", "processing": "held", "completed": "settled", "cancelled": "settled"}
        assert {row["id"]: states[row["status"]] for row in rows} == {k: v["state"] for k, v in self.sent.items()}
        lanes = self.office.database.read(lambda tx: tx.all("SELECT * FROM message_lanes"))
        for lane in lanes:
            own = [row for row in rows if (row["target"], row["lane"]) == (lane["target"], lane["lane"])]
            assert lane["waiting"] == sum(row["status"] == "queued" for row in own)
            assert lane["ready"] == sum(row["ready"] for row in own)


TestMessageMachine = MessageMachine.TestCase
TestMessageMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
