"""Working in a session: briefing, file locks, limits of claims, time-outs."""

from __future__ import annotations

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from lithos.errors import Forbidden, InvalidInput
from tests.conftest import CallTool
from tests.flows.test_session_isolation import decide
from tests.flows.test_sessions import made, started

pytestmark = pytest.mark.both_databases


def test_a_briefing_names_what_an_agent_needs_to_take_a_session_up(call: CallTool) -> None:
    session = started(call)
    call(
        "lithos_session_context_update",
        agent="ann",
        changes={
            "current_objective": "limit requests",
            "current_step": "write tests",
            "next_steps": ["benchmark", "document"],
            "blockers": ["no staging server"],
            "modified_files": {"add": {"src/limit.py": {}}},
        },
    )
    decide(call, "ann", "use a token bucket")
    text = call("lithos_get_briefing", agent="ann", tier="full")["briefing"]
    for part in (
        "Rate limiter",
        "limit requests",
        "write tests",
        "benchmark",
        "no staging",
        "src/limit.py",
        "token bucket",
    ):
        assert part in text
    assert "ann" in text
    with pytest.raises(Forbidden):
        call("lithos_get_briefing", session_id=session, agent="eve")


@pytest.mark.parametrize(("tier", "tokens"), [("micro", 150), ("standard", 600), ("full", 2000)])
def test_a_briefing_stays_within_its_tier(call: CallTool, tier: str, tokens: int) -> None:
    started(call)
    changes = {
        name: [f"{name} {number} " + "words " * 20 for number in range(60)]
        for name in ("next_steps", "blockers", "completed_steps")
    }
    call("lithos_session_context_update", agent="ann", changes={**changes, "current_objective": "o " * 500})
    answer = call("lithos_get_briefing", agent="ann", tier=tier)
    assert answer["tokens"] <= tokens
    assert "objective" in answer["briefing"]


def test_what_changed_outside_is_in_the_briefing(call: CallTool, clock: FakeClock) -> None:
    session = started(call)
    call("lithos_session_suspend", agent="ann")
    clock.advance(3600)
    call("lithos_task_create", title="Elsewhere", agent="bob")
    call("lithos_session_resume", session_id=session, agent="ann")
    assert "Elsewhere" in call("lithos_get_briefing", agent="ann", tier="full")["briefing"]


def lock(call: CallTool, path: str, agent: str, mode: str = "write", **more: object) -> dict[str, object]:
    return call("lithos_file_lock", path=path, agent=agent, mode=mode, **more)


def test_many_readers_or_one_writer(call: CallTool) -> None:
    assert lock(call, "src/a.py", "ann", "read")["success"]
    assert lock(call, "src/a.py", "bob", "read")["success"]
    refused = lock(call, "src/a.py", "carl")
    assert (refused["success"], refused["reason"], refused["holder"]) == (False, "locked", "ann")
    assert call("lithos_file_unlock", path="src/a.py", agent="ann")["success"]
    assert not lock(call, "src/a.py", "carl")["success"]
    assert lock(call, "./src//a.py", "bob", "write")["success"]  # the only reader becomes the writer
    assert not lock(call, "src/a.py", "ann", "read")["success"]


@pytest.mark.parametrize(
    ("held", "wanted", "free"),
    [
        ("src", "src/a.py", False),
        ("src/deep", "src", False),
        ("src/a.py", "src", False),
        ("src", "src2/a.py", True),
        ("src/a", "src/a.py", True),
        (".", "anything/at/all", False),
        ("anything/at/all", ".", False),
        ("/abs/x", "/abs", False),
        ("/abs", "abs", True),
    ],
)
def test_a_folder_covers_everything_beneath_it(call: CallTool, held: str, wanted: str, free: bool) -> None:
    assert lock(call, held, "ann")["success"]
    assert lock(call, wanted, "bob")["success"] is free
    assert lock(call, wanted, "ann")["success"] is not free  # one's own locks are no obstacle, bob's is


def test_a_lock_ends_by_itself_and_its_token_with_it(call: CallTool, clock: FakeClock) -> None:
    first = lock(call, "a", "ann", ttl_minutes=5)
    again = lock(call, "a", "ann", ttl_minutes=10)
    assert (again["token"], again["renewed"]) == (first["token"], True)
    clock.advance(601)
    second = lock(call, "a", "bob")
    assert second["success"] and int(str(second["token"])) > int(str(first["token"]))
    lost = call("lithos_file_unlock", path="a", agent="ann", token=first["token"])
    assert (lost["success"], lost["reason"]) == (False, "lock_lost")
    assert call("lithos_file_unlock", path="a", agent="ann")["reason"] == "not_locked"
    assert lock(call, "a", "bob", ttl_minutes=100_000)["clamped"]


def test_paths_that_name_nothing_are_refused(call: CallTool) -> None:
    for path in ("", "../x", "a/../b", "a\nb"):
        with pytest.raises(InvalidInput):
            lock(call, path, "ann")


def test_an_ended_session_leaves_no_lock(call: CallTool) -> None:
    session = started(call)
    lock(call, "a", "ann", session_id=session)
    with pytest.raises(Forbidden):
        lock(call, "b", "eve", session_id=session)
    call("lithos_session_complete", agent="ann")
    assert lock(call, "a", "bob")["success"]


def tasks(call: CallTool, count: int) -> list[str]:
    return [call("lithos_task_create", title=f"t{n}", agent="ann")["task_id"] for n in range(count)]


def claim(call: CallTool, task: str, agent: str, aspect: str = "all", **more: object) -> dict[str, object]:
    return call("lithos_task_claim", task_id=task, aspect=aspect, agent=agent, **more)


def test_a_session_holds_so_many_tasks_at_once_and_no_more(call: CallTool) -> None:
    started(call, config={"max_concurrent_tasks": 2})
    first, second, third = tasks(call, 3)
    assert claim(call, first, "ann")["success"]
    assert claim(call, second, "ann")["success"]
    assert claim(call, second, "ann", "another aspect")["success"]
    refused = claim(call, third, "ann")
    assert (refused["success"], refused["reason"]) == (False, "session_full")
    assert claim(call, third, "bob")["success"]  # in no session
    call("lithos_task_complete", task_id=first, agent="ann")
    assert claim(call, third, "ann", "other")["success"]


def test_so_many_agents_of_a_session_hold_claims(call: CallTool) -> None:
    session = started(call, config={"max_engineers": 2})
    for agent in ("bob", "carl"):
        call("lithos_session_join", session_id=session, agent=agent)
    one, two, three = tasks(call, 3)
    assert claim(call, one, "ann")["success"]
    assert claim(call, two, "bob")["success"]
    assert claim(call, three, "carl")["reason"] == "session_full"
    call("lithos_task_release", task_id=two, aspect="all", agent="bob")
    assert claim(call, three, "carl")["success"]


def test_a_claim_lasts_no_longer_than_the_task_timeout_of_its_session(call: CallTool, clock: FakeClock) -> None:
    started(call, config={"task_timeout": 10})
    (task,) = tasks(call, 1)
    held = claim(call, task, "ann", ttl_minutes=60)
    assert (held["expires_at"], held["clamped"]) == ("2026-01-01T00:10:00Z", True)
    clock.advance(480)
    renewed = call("lithos_task_renew", task_id=task, aspect="all", agent="ann", ttl_minutes=60)
    assert renewed["new_expires_at"] == "2026-01-01T00:10:00Z"
    assert claim(call, task, "ann")["expires_at"] == "2026-01-01T00:10:00Z"
    clock.advance(121)
    assert call("lithos_task_renew", task_id=task, aspect="all", agent="ann")["reason"] == "claim_lost"
    assert claim(call, task, "bob")["success"]


def test_an_idle_session_is_suspended_on_the_lease_clock(call: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    idle, busy = started(call, "idle"), started(call, "busy", "bob")
    never = started(call, "never", "carl", config={"auto_suspend_after": None})
    clock.set_wall("2030-01-01T00:00:00Z")  # the wall clock ends nothing
    assert lithos.sessions.expire() == []
    clock.advance(3000)
    call("lithos_session_context_update", agent="bob", changes={"current_step": "x"})
    clock.advance(601)
    assert lithos.sessions.expire() == [idle]
    assert call("lithos_session_get", session_id=idle, agent="ann")["state"] == "suspended"
    decide(call, "bob", "an entry is activity")
    clock.advance(3001)
    assert lithos.sessions.expire() == []
    clock.advance(3601)
    assert lithos.sessions.expire() == [busy]
    assert call("lithos_session_get", session_id=never, agent="carl")["state"] == "active"
    assert call("lithos_session_resume", session_id=idle, agent="ann")["state"] == "active"
    assert lithos.sessions.expire() == []


def test_a_session_above_its_timeout_fails(call: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    session = started(call, config={"session_timeout": 90, "auto_suspend_after": None})
    made(call, "created sessions have no time-out", config={"session_timeout": 1})
    clock.advance(5399)
    assert lithos.sessions.expire() == []
    clock.advance(2)
    assert lithos.sessions.expire() == [session]
    shown = call("lithos_session_get", session_id=session, agent="ann")
    assert (shown["state"], shown["reason"]) == ("failed", "session_timeout has passed")
