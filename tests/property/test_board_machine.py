"""The board against a model that knows nothing of tables: random tasks, claims, tokens, clocks and reboots."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from lithos.board import Page, TaskEdit, TaskFilter, check_token
from lithos.errors import ClaimLost, Conflict, Forbidden, InvalidInput
from tests.support.board_desk import Desk, call

AGENTS = st.sampled_from(["ann", "bob", "eve"])
ASPECTS = st.sampled_from(["code", "docs"])
GRACE = 120.0
INVENTED = 10**6  # no claim ever had this token
# Quarters of a second are exact in binary, so that the model can ask for the very moment of an end.
MINUTES = st.sampled_from([0.25, 1, 5])


@dataclass
class Held:
    agent: str
    token: int
    until: float
    grace: bool = False


@dataclass
class ModelTask:
    number: int
    priority: int
    status: str = "open"
    needs: set[str] = field(default_factory=set)
    claims: dict[str, Held] = field(default_factory=dict)


class BoardMachine(RuleBasedStateMachine):
    tasks = Bundle("tasks")
    tokens = Bundle("tokens")

    @initialize()
    def open_board(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="board-"))
        self.desk = Desk(self.folder)
        self.now = 1000.0
        self.seen = 1000.0  # the last reading that a change has written down
        self.boots = 1
        self.newest_token = 0
        self.model: dict[str, ModelTask] = {}

    def teardown(self) -> None:
        if hasattr(self, "desk"):
            self.desk.close()
            shutil.rmtree(self.folder)

    # What the model knows

    def live(self, task: str, aspect: str) -> Held | None:
        held = self.model[task].claims.get(aspect)
        return held if held and held.until >= self.now else None

    def blocked(self, task: str) -> bool:
        return any(self.model[need].status == "open" for need in self.model[task].needs)

    def reaches(self, start: str, goal: str) -> bool:
        return start == goal or any(self.reaches(need, goal) for need in self.model[start].needs)

    def why_not_open(self, task: str) -> str | None:
        status = self.model[task].status
        return None if status == "open" else f"task_{status}"

    def why_not_held(self, task: str, aspect: str, agent: str, token: tuple[int, str, str] | None) -> str | None:
        held = self.live(task, aspect)
        if held is not None and (token is None or held.token == token[0]):
            return None if held.agent == agent else "wrong_agent"
        if token is None:
            return "claim_lost" if aspect in self.model[task].claims else "not_claimed"
        elsewhere = self.is_known(token) and token[1:] != (task, aspect)
        return "wrong_token" if elsewhere or token[0] == INVENTED else "claim_lost"

    def is_known(self, token: tuple[int, str, str]) -> bool:
        """Whether the aspect that the token was given for has a claim, the token's own or a later one."""
        return token[0] != INVENTED and token[2] in self.model[token[1]].claims

    def why_token_fails(self, token: tuple[int, str, str] | None, agent: str, task: str | None) -> str | None:
        if token is None:
            return None
        _, its_task, aspect = token
        if task is not None and its_task != task:
            return "wrong_token" if self.is_known(token) or token[0] == INVENTED else "claim_lost"
        return self.why_not_held(its_task, aspect, agent, token)

    def agree(self, answer: Any, refusal: str | None) -> bool:
        assert answer.get("reason") == refusal, (answer, refusal)
        assert answer["success"] is (refusal is None)
        return refusal is None

    # What agents do

    @precondition(lambda self: len(self.model) < 5)  # few tasks, so that agents meet
    @rule(target=tasks, priority=st.integers(0, 4), agent=AGENTS, data=st.data())
    def create(self, priority: int, agent: str, data: Any) -> str:
        needs = data.draw(st.sets(st.sampled_from(sorted(self.model)), max_size=3)) if self.model else set()
        task = self.desk.task(f"task {len(self.model)}", agent, priority=priority, depends_on=sorted(needs))
        self.model[task] = ModelTask(len(self.model), priority, needs=set(needs))
        self.seen = self.now
        return task

    @rule(target=tokens, task=tasks, aspect=ASPECTS, agent=AGENTS, minutes=MINUTES)
    def claim(self, task: str, aspect: str, agent: str, minutes: float) -> tuple[int, str, str]:
        held = self.live(task, aspect)
        taken = "claim_held" if held and held.agent != agent else None
        answer = self.desk.claim(task, agent, aspect, minutes)
        if not self.agree(answer, self.why_not_open(task) or taken):
            return (held.token if held else INVENTED, task, aspect)
        assert answer["renewed"] is bool(held)
        if held:
            assert answer["token"] == held.token
        else:
            assert answer["token"] > self.newest_token
            self.newest_token = answer["token"]
            self.seen = self.now
        self.model[task].claims[aspect] = Held(agent, answer["token"], self.now + minutes * 60)
        assert set(answer.get("blocked_by", ())) == {n for n in self.needs(task) if self.model[n].status == "open"}
        return (answer["token"], task, aspect)

    def needs(self, task: str) -> set[str]:
        return self.model[task].needs

    @rule(task=tasks, aspect=ASPECTS, agent=AGENTS, minutes=MINUTES, token=st.none() | tokens)
    def renew(self, task: str, aspect: str, agent: str, minutes: float, token: tuple[int, str, str] | None) -> None:
        number = token[0] if token else None
        answer = self.desk.board.renew(call("renew", agent), task, aspect, agent, minutes, number)
        if self.agree(answer, self.why_not_open(task) or self.why_not_held(task, aspect, agent, token)):
            held = self.model[task].claims[aspect]
            held.until, held.grace = self.now + minutes * 60, False

    @rule(token=tokens, agent=AGENTS, minutes=MINUTES)
    def renew_by_token(self, token: tuple[int, str, str], agent: str, minutes: float) -> None:
        self.renew(token[1], token[2], agent, minutes, token)

    @rule(task=tasks, aspect=ASPECTS, agent=AGENTS, token=st.none() | tokens)
    def release(self, task: str, aspect: str, agent: str, token: tuple[int, str, str] | None) -> None:
        number = token[0] if token else None
        answer = self.desk.board.release(call("release", agent), task, aspect, agent, number)
        if self.agree(answer, self.why_not_open(task) or self.why_not_held(task, aspect, agent, token)):
            del self.model[task].claims[aspect]
            self.seen = self.now

    @rule(task=tasks, agent=AGENTS, token=st.none() | tokens)
    def complete(self, task: str, agent: str, token: tuple[int, str, str] | None) -> None:
        refusal = self.why_not_open(task) or self.why_token_fails(token, agent, task)
        answer = self.desk.board.complete(call("complete", agent), task, agent, token[0] if token else None)
        if self.agree(answer, refusal):
            self.close(task, "completed")

    @rule(token=tokens, agent=AGENTS)
    def complete_by_token(self, token: tuple[int, str, str], agent: str) -> None:
        self.complete(token[1], agent, token)

    @rule(task=tasks, agent=AGENTS)
    def cancel(self, task: str, agent: str) -> None:
        if self.agree(self.desk.board.cancel(call("cancel", agent), task, agent), self.why_not_open(task)):
            self.close(task, "cancelled")

    def close(self, task: str, status: str) -> None:
        self.model[task].status = status
        self.model[task].claims.clear()
        self.seen = self.now

    @rule(task=tasks)
    def reopen(self, task: str) -> None:
        assert self.desk.board.update(call("update", "ann"), task, "ann", TaskEdit(status="open"))["success"]
        self.model[task].status = "open"
        self.seen = self.now

    @rule(task=tasks, needs=st.sets(tasks, max_size=3))
    def depend(self, task: str, needs: set[str]) -> None:
        edit = TaskEdit(depends_on=sorted(needs))
        if any(self.reaches(need, task) for need in needs):
            with pytest.raises(InvalidInput):
                self.desk.board.update(call("update", "ann"), task, "ann", edit)
            return
        assert self.desk.board.update(call("update", "ann"), task, "ann", edit)["success"]
        self.model[task].needs = set(needs)
        self.seen = self.now

    @rule(token=tokens, agent=AGENTS)
    def check_token(self, token: tuple[int, str, str], agent: str) -> None:
        refusal = self.why_token_fails(token, agent, None)
        expected = {"claim_lost": ClaimLost, "wrong_agent": Forbidden, "wrong_token": InvalidInput}
        if refusal is None:
            self.desk.database.write(lambda tx: check_token(tx, token[0], agent))
            return
        with pytest.raises(expected[refusal]):
            self.desk.database.write(lambda tx: check_token(tx, token[0], agent))

    @rule(task=tasks, agent=AGENTS, token=st.none() | tokens)
    def post_finding(self, task: str, agent: str, token: tuple[int, str, str] | None) -> None:
        number = token[0] if token else None
        cancelled = self.model[task].status == "cancelled"
        if not cancelled and self.why_token_fails(token, agent, task) is None:
            self.desk.board.post_finding(call("finding", agent), task, agent, "seen", token=number)
            self.seen = self.now
            return
        with pytest.raises((Conflict, Forbidden, InvalidInput)):
            self.desk.board.post_finding(call("finding", agent), task, agent, "seen", token=number)

    # What happens to them

    @rule(seconds=st.sampled_from([0.25, 15.0, 60.0, 300.0]))
    def pass_time(self, seconds: float) -> None:
        self.desk.clock.advance(seconds)
        self.now += seconds

    @precondition(lambda self: any(held.until >= self.now for held in self.all_claims()))
    @rule(beyond=st.sampled_from([0.0, 0.25]))
    def pass_to_the_next_end(self, beyond: float) -> None:
        self.pass_time(min(held.until for held in self.all_claims() if held.until >= self.now) - self.now + beyond)

    @rule(target=tokens, token=tokens, agent=AGENTS, beyond=st.sampled_from([0.0, 0.25]))
    def overtake(self, token: tuple[int, str, str], agent: str, beyond: float) -> tuple[int, str, str]:
        """Somebody claims at the end of a lease, or just after: the case that fencing is for."""
        held = self.live(token[1], token[2])
        if held:
            self.pass_time(held.until - self.now + beyond)
        return self.claim(token[1], token[2], agent, 5)

    def all_claims(self) -> list[Held]:
        return [held for task in self.model.values() for held in task.claims.values()]

    @rule(hours=st.sampled_from([-24, -1, 1, 24]))
    def set_the_wall_clock(self, hours: int) -> None:
        self.desk.clock.set_wall(self.desk.clock.now() + timedelta(hours=hours))

    @rule()
    def restart(self) -> None:
        self.desk.reopen()

    @rule(times=st.integers(1, 2))
    def reboot(self, times: int) -> None:
        for _ in range(times):
            self.reboot_once()

    def reboot_once(self) -> None:
        self.boots += 1
        for held in self.all_claims():
            left = held.until - self.seen
            gone = left < 0 or held.grace
            held.until, held.grace = (-1.0, True) if gone else (10.0 + min(left, GRACE), True)
        self.desk.reboot(f"boot-{self.boots}")
        self.now = self.seen = 10.0

    # What must always be true

    @invariant()
    def lists_show_what_the_model_knows(self) -> None:
        if not hasattr(self, "model"):
            return
        shown = {task["id"]: task for status in ("all",) for task in self.listed(status)}
        assert set(shown) == set(self.model)
        for task, known in self.model.items():
            held = {(aspect, h.agent) for aspect, h in known.claims.items() if h.until >= self.now}
            assert {(claim["aspect"], claim["agent"]) for claim in shown[task]["claims"]} == held
            assert shown[task]["status"] == known.status
            assert shown[task]["blocked"] == (known.status == "open" and self.blocked(task))

    def listed(self, status: Any) -> list[Any]:
        return list(self.desk.board.list(TaskFilter(status=status), Page(500))["tasks"])

    @invariant()
    def ready_is_what_can_be_taken_in_order(self) -> None:
        if not hasattr(self, "model"):
            return
        takeable = [
            (known.priority, known.number, task)
            for task, known in self.model.items()
            if known.status == "open"
            and not self.blocked(task)
            and not any(held.until >= self.now for held in known.claims.values())
        ]
        assert [task["id"] for task in self.desk.board.ready(Page(500))["tasks"]] == [t for *_, t in sorted(takeable)]


BoardMachine.TestCase.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class TestBoard(BoardMachine.TestCase):  # type: ignore[name-defined,misc]
    """`make test` form; `make torture` runs far more."""


@pytest.mark.torture
def test_the_board_agrees_with_the_model_for_long() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        BoardMachine,
        settings=settings(
            max_examples=2000, stateful_step_count=80, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
