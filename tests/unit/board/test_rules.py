"""The board's decisions, case by case."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithos.board.rules import Refusal, clamp, decide_claim, decide_hold, decide_status, is_near, need_open
from lithos.board.values import Claim, Task, TaskStatus
from lithos.core.clock import parse_time
from lithos.storage import Moment
from lithos.storage.leases import Lease, lease_from

NOW = Moment(parse_time("2026-01-01T12:00:00Z"), 1000.0, "boot-1")
TASK = Task("t", "Title", "open", "ann", "2026-01-01", "2026-01-01", 1)
HELD = Claim(7, "t", "tests", "ann", lease_from(NOW, 60))
AFTER = replace(NOW, steady=NOW.steady + 61, wall=NOW.wall + timedelta(seconds=61))


def reason(decision: object) -> str:
    return decision.reason if isinstance(decision, Refusal) else "granted"


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (None, "unknown_task"),
        (replace(TASK, status="completed"), "task_completed"),
        (replace(TASK, status="cancelled"), "task_cancelled"),
        (TASK, "granted"),
        (replace(TASK, open_blockers=1), "granted"),
    ],
)
def test_work_needs_an_open_task(task: Task | None, expected: str) -> None:
    assert reason(need_open(task)) == expected


@pytest.mark.parametrize(
    ("held", "agent", "now", "expected"),
    [
        (None, "ann", NOW, "granted"),
        (HELD, "ann", NOW, "granted"),
        (HELD, "bob", NOW, "claim_held"),
        (HELD, "bob", AFTER, "granted"),
        (HELD, "ann", AFTER, "granted"),
    ],
)
def test_claims_are_granted_or_refused(held: Claim | None, agent: str, now: Moment, expected: str) -> None:
    assert reason(decide_claim(held, agent, 60, now)) == expected


def test_a_refused_claim_names_the_holder_and_until_when() -> None:
    refusal = decide_claim(HELD, "bob", 60, NOW)
    assert isinstance(refusal, Refusal)
    answer = refusal.as_answer()
    assert (answer["success"], answer["holder"], answer["until"]) == (False, "ann", "2026-01-01T12:01:00Z")


def test_a_lease_counts_from_now_not_from_what_was_left() -> None:
    lease = decide_claim(HELD, "ann", 10, NOW)
    assert isinstance(lease, Lease) and lease.until == 1010.0


@pytest.mark.parametrize(
    ("held", "agent", "token", "now", "expected"),
    [
        (None, "ann", None, NOW, "not_claimed"),
        (None, "ann", 7, NOW, "claim_lost"),
        (HELD, "ann", None, NOW, "granted"),
        (HELD, "ann", 7, NOW, "granted"),
        (HELD, "ann", 6, NOW, "claim_lost"),
        (HELD, "ann", 8, NOW, "claim_lost"),
        (HELD, "bob", None, NOW, "wrong_agent"),
        (HELD, "bob", 7, NOW, "wrong_agent"),
        (HELD, None, 7, NOW, "granted"),
        (HELD, "ann", 7, AFTER, "claim_lost"),
    ],
)
def test_holding_needs_a_live_lease_the_right_agent_and_the_current_token(
    held: Claim | None, agent: str | None, token: int | None, now: Moment, expected: str
) -> None:
    assert reason(decide_hold(held, agent, token, now)) == expected


@pytest.mark.parametrize(
    ("status", "wanted", "expected"),
    [
        ("open", "completed", "granted"),
        ("open", "cancelled", "granted"),
        ("completed", "open", "granted"),
        ("cancelled", "open", "granted"),
        ("completed", "cancelled", "task_completed"),
        ("cancelled", "completed", "task_cancelled"),
    ],
)
def test_statuses_follow_the_table(status: TaskStatus, wanted: TaskStatus, expected: str) -> None:
    assert reason(decide_status(replace(TASK, status=status), wanted)) == expected


def test_a_wish_above_the_most_is_clamped_and_says_so() -> None:
    assert clamp(480, 480) == clamp(480.0, 480) and not clamp(480, 480).clamped
    assert (clamp(481, 480).seconds, clamp(481, 480).clamped) == (480 * 60, True)


def test_only_an_open_task_is_ready_or_blocked() -> None:
    waiting = replace(TASK, open_blockers=2)
    assert (TASK.ready, TASK.blocked, waiting.ready, waiting.blocked) == (True, False, False, True)
    done = replace(waiting, status="completed")
    assert (done.ready, done.blocked) == (False, False)


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("reveiw", "review", True),  # 0.83 alike
        ("frontend", "backend", False),  # 0.53
        ("charter", "chapter", True),  # 0.86
        ("stage", "state", True),  # 0.80, the least
        ("docker", "tooker", False),  # 0.67
    ],
)
def test_aspects_are_one_when_four_fifths_of_a_word_agree(one: str, other: str, near: bool) -> None:
    assert is_near(one, other) is near
