"""The board over a real database: claims, tokens, clocks, dependencies, findings, lists."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lithos.board import Board, NewTask, Notes, Page, TaskEdit, TaskFilter, Terms, check_token
from lithos.errors import ClaimLost, Conflict, Forbidden, InvalidInput, LithosError, NotFound, TooLarge
from tests.support.board_desk import Desk, call

pytestmark = pytest.mark.both_databases


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, notes=Notes(exists=lambda note_id: note_id == "known-note"))
    yield made
    made.close()


def reason(answer: Any) -> str:
    return answer.get("reason", "granted" if answer["success"] else "refused without a reason")


def test_a_claim_names_its_end_and_a_token(desk: Desk) -> None:
    answer = desk.claim(desk.task(), minutes=60)
    assert answer == {"success": True, "expires_at": "2026-01-01T01:00:00Z", "token": 2, "renewed": False}


def test_of_two_claims_the_second_learns_who_holds_it_and_until_when(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task, "ann")
    refusal = desk.claim(task, "bob")
    assert (refusal["success"], refusal["reason"]) == (False, "claim_held")
    assert (refusal["holder"], refusal["until"]) == ("ann", "2026-01-01T00:01:00Z")
    assert desk.claim(task, "bob", aspect="docs")["success"]


def test_of_claims_at_the_same_moment_exactly_one_wins(desk: Desk) -> None:
    task = desk.task()
    start = threading.Barrier(8)
    answers: list[dict[str, Any]] = []

    def run(name: str) -> None:
        start.wait()
        answers.append(desk.claim(task, name))

    threads = [threading.Thread(target=run, args=(f"agent-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [answer for answer in answers if answer["success"]]
    assert len(won) == 1 and len(answers) == 8
    (holder,) = desk.board.status(task)["tasks"][0]["claims"]
    assert {answer["holder"] for answer in answers if not answer["success"]} == {holder["agent"]}


def test_an_expired_claim_is_gone_from_lists_and_free_for_another_at_once(desk: Desk) -> None:
    task = desk.task()
    first = desk.claim(task, "ann")
    desk.clock.advance(60)
    assert desk.claim(task, "bob")["reason"] == "claim_held"
    desk.clock.advance(0.001)
    assert desk.board.status(task)["tasks"][0]["claims"] == []
    assert desk.board.counts()["open_claims"] == 0
    second = desk.claim(task, "bob")
    assert second["success"] and second["token"] > first["token"]


def test_the_holders_own_claim_is_renewed_under_the_same_token(desk: Desk) -> None:
    task = desk.task()
    first = desk.claim(task)
    desk.clock.advance(30)
    again = desk.claim(task)
    assert (again["renewed"], again["token"]) == (True, first["token"])
    assert again["expires_at"] == "2026-01-01T00:01:30Z"


def test_after_its_end_even_the_same_agent_gets_a_new_token(desk: Desk) -> None:
    task = desk.task()
    first = desk.claim(task)
    desk.clock.advance(61)
    again = desk.claim(task)
    assert (again["renewed"], again["token"] > first["token"]) == (False, True)


def test_a_wish_above_the_most_is_clamped(desk: Desk) -> None:
    answer = desk.claim(desk.task(), minutes=10_000)
    assert answer["clamped"] and answer["expires_at"] == "2026-01-01T08:00:00Z"


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_a_lease_of_no_length_is_an_error(desk: Desk, minutes: float) -> None:
    with pytest.raises(InvalidInput):
        desk.claim(desk.task(), minutes=minutes)


def test_two_spellings_of_the_same_letters_are_one_aspect(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task, "ann", aspect="caf\u00e9")
    assert desk.claim(task, "bob", aspect=" cafe\u0301 ")["reason"] == "claim_held"


def renew(desk: Desk, task: str, agent: str, token: int | None = None) -> Any:
    return desk.board.renew(call("lithos_task_renew", agent), task, "tests", agent, 2, token)


def test_only_the_holder_renews_and_only_while_it_holds(desk: Desk) -> None:
    task = desk.task()
    assert reason(renew(desk, task, "ann")) == "not_claimed"
    token = desk.claim(task)["token"]
    assert renew(desk, task, "ann") == {"success": True, "new_expires_at": "2026-01-01T00:02:00Z", "token": token}
    assert renew(desk, task, "bob")["holder"] == "ann"
    assert reason(renew(desk, task, "bob")) == "wrong_agent"
    assert reason(renew(desk, "nowhere", "ann")) == "unknown_task"
    desk.clock.advance(121)
    assert reason(renew(desk, task, "ann", token)) == "claim_lost"


def test_a_released_aspect_is_free_and_its_token_dead(desk: Desk) -> None:
    task = desk.task()
    token = desk.claim(task)["token"]
    assert reason(desk.board.release(call("r", "bob"), task, "tests", "bob")) == "wrong_agent"
    assert desk.board.release(call("r", "ann"), task, "tests", "ann", token) == {"success": True}
    assert reason(desk.board.release(call("r", "ann"), task, "tests", "ann")) == "not_claimed"
    assert reason(desk.board.complete(call("c", "ann"), task, "ann", token)) == "claim_lost"
    assert desk.claim(task, "bob")["success"]


def test_an_agent_that_slept_past_its_lease_can_do_nothing_with_its_token(desk: Desk) -> None:
    task = desk.task()
    stale = desk.claim(task, "ann")["token"]
    desk.clock.advance(61)
    desk.claim(task, "bob")
    refusal = desk.board.complete(call("c", "ann"), task, "ann", stale)
    assert (refusal["reason"], refusal["holder"]) == ("claim_lost", "bob")
    assert reason(renew(desk, task, "ann", stale)) == "claim_lost"
    assert reason(desk.board.release(call("r", "ann"), task, "tests", "ann", stale)) == "claim_lost"
    with pytest.raises(ClaimLost) as lost:
        desk.board.post_finding(call("f", "ann"), task, "ann", "late", token=stale)
    assert lost.value.details["holder"] == "bob"
    with pytest.raises(ClaimLost):
        desk.database.write(lambda tx: check_token(tx, stale, "ann"))
    assert desk.board.status(task)["tasks"][0]["status"] == "open"


def test_an_ended_lease_is_lost_even_when_no_other_took_it(desk: Desk) -> None:
    task = desk.task()
    token = desk.claim(task)["token"]
    desk.clock.advance(61)
    assert reason(desk.board.complete(call("c", "ann"), task, "ann", token)) == "claim_lost"


def test_a_token_counts_for_its_own_task_and_agent_only(desk: Desk) -> None:
    one, two = desk.task(), desk.task()
    token = desk.claim(one)["token"]
    assert reason(desk.board.complete(call("c", "ann"), two, "ann", token)) == "wrong_token"
    assert reason(desk.board.complete(call("c", "bob"), one, "bob", token)) == "wrong_agent"
    assert reason(desk.board.complete(call("c", "ann"), one, "ann", 999)) == "wrong_token"
    with pytest.raises(Forbidden):
        desk.database.write(lambda tx: check_token(tx, token, "bob"))
    desk.database.write(lambda tx: check_token(tx, token, "ann"))
    assert desk.board.complete(call("c", "ann"), one, "ann", token) == {"success": True}


def test_completing_ends_all_claims_and_nothing_more_can_be_claimed(desk: Desk) -> None:
    task = desk.task()
    token = desk.claim(task, "ann")["token"]
    desk.claim(task, "bob", aspect="docs")
    assert desk.board.complete(call("c", "eve"), task, "eve") == {"success": True}
    assert desk.board.status(task)["tasks"][0]["claims"] == []
    assert desk.claim(task)["reason"] == "task_completed"
    assert reason(desk.board.complete(call("c", "eve"), task, "eve")) == "task_completed"
    assert reason(renew(desk, task, "ann", token)) == "task_completed"


def test_a_reopened_task_does_not_give_old_tokens_their_force_back(desk: Desk) -> None:
    task = desk.task()
    token = desk.claim(task)["token"]
    desk.board.cancel(call("x", "eve"), task, "eve")
    assert desk.claim(task)["reason"] == "task_cancelled"
    assert desk.board.update(call("u", "eve"), task, "eve", TaskEdit(status="open")) == {"success": True}
    assert reason(desk.board.complete(call("c", "ann"), task, "ann", token)) == "claim_lost"
    assert desk.claim(task)["token"] > token


def test_one_end_does_not_turn_into_the_other(desk: Desk) -> None:
    task = desk.task()
    desk.board.complete(call("c", "ann"), task, "ann")
    assert reason(desk.board.cancel(call("x", "ann"), task, "ann")) == "task_completed"
    assert reason(desk.board.update(call("u", "ann"), task, "ann", TaskEdit(status="cancelled"))) == "task_completed"
    assert reason(desk.board.update(call("u", "ann"), "nowhere", "ann", TaskEdit(title="x"))) == "unknown_task"


def test_an_update_changes_what_it_names_and_leaves_the_rest(desk: Desk) -> None:
    task = desk.task("Old", description="why", tags=["a"], priority=4)
    desk.clock.advance(5)
    desk.board.update(call("u", "bob"), task, "bob", TaskEdit(title="New", tags=["b", "b"]))
    shown = desk.board.status(task)["tasks"][0]
    assert (shown["title"], shown["tags"], shown["priority"], shown["description"]) == ("New", ["b"], 4, "why")
    assert (shown["created_at"], shown["updated_at"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")


# Clocks


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_wall_clock_set_by_an_hour_neither_ends_nor_extends_a_lease(desk: Desk, hours: int) -> None:
    task = desk.task()
    desk.claim(task, "ann")
    desk.clock.set_wall(desk.clock.now() + timedelta(hours=hours))
    assert desk.claim(task, "bob")["reason"] == "claim_held"
    desk.clock.advance(60)
    assert desk.claim(task, "bob")["reason"] == "claim_held"
    desk.clock.advance(1)
    assert desk.claim(task, "bob")["success"]


def test_the_shown_end_is_in_terms_of_the_wall_clock_of_now(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task)
    desk.clock.set_wall("2026-01-01T05:00:00Z")
    assert desk.board.status(task)["tasks"][0]["claims"][0]["expires_at"] == "2026-01-01T05:01:00Z"


def test_a_restart_without_reboot_changes_no_lease(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task)
    desk.reopen()
    desk.clock.advance(60)
    assert desk.claim(task, "bob")["reason"] == "claim_held"


def test_after_a_reboot_leases_live_for_the_grace_and_no_longer(desk: Desk) -> None:
    task = desk.task()
    token = desk.claim(task, minutes=480)["token"]
    desk.reboot("boot-2")
    assert desk.claim(task, "bob")["reason"] == "claim_held"
    desk.clock.advance(120)
    assert desk.claim(task, "bob")["reason"] == "claim_held"
    desk.clock.advance(0.5)
    assert desk.claim(task, "bob")["token"] > token


def test_a_lease_renewed_within_the_grace_is_an_ordinary_one_again(desk: Desk) -> None:
    task = desk.task()
    token = desk.claim(task, minutes=480)["token"]
    desk.reboot("boot-2")
    assert renew(desk, task, "ann", token)["success"]
    desk.reboot("boot-3")
    assert desk.claim(task, "bob")["reason"] == "claim_held"
    desk.reboot("boot-4")
    assert desk.claim(task, "bob")["success"]


def test_a_lease_that_ended_before_the_reboot_stays_ended(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task)
    desk.clock.advance(61)
    desk.task("another change, by which the board has seen the clock")
    desk.reboot("boot-2")
    assert desk.claim(task, "bob")["success"]


# Dependencies


def titles(page: Any) -> list[str]:
    return [task["title"] for task in page["tasks"]]


def test_a_task_is_ready_when_everything_it_needs_is_closed(desk: Desk) -> None:
    first, second = desk.task("first"), desk.task("second")
    third = desk.task("third", depends_on=[first, second])
    assert titles(desk.board.ready()) == ["first", "second"]
    shown = desk.board.status(third)["tasks"][0]
    assert (shown["blocked"], shown["ready"], shown["blocked_by"]) == (True, False, [first, second])
    desk.board.complete(call("c", "ann"), first, "ann")
    desk.board.cancel(call("c", "ann"), second, "ann")
    assert titles(desk.board.ready()) == ["third"]
    desk.board.update(call("u", "ann"), first, "ann", TaskEdit(status="open"))
    assert titles(desk.board.ready()) == ["first"]
    assert desk.board.status(first)["tasks"][0]["blocks"] == [third]


def test_what_can_be_taken_comes_by_priority_then_age_and_without_what_is_held(desk: Desk) -> None:
    desk.task("usual")
    desk.task("someday", priority=4)
    urgent = desk.task("urgent", priority=0)
    desk.task("usual too")
    assert titles(desk.board.ready()) == ["urgent", "usual", "usual too", "someday"]
    desk.claim(urgent)
    assert titles(desk.board.ready(Page(2))) == ["usual", "usual too"]
    assert titles(desk.board.ready(claimed=True))[0] == "urgent"
    desk.clock.advance(61)
    page = desk.board.ready(Page(2))
    assert titles(page) == ["urgent", "usual"] and page["total"] == 4
    assert titles(desk.board.ready(Page(2, page["next_cursor"]))) == ["usual too", "someday"]


def test_a_blocked_task_can_be_claimed_and_says_what_it_waits_for(desk: Desk) -> None:
    first = desk.task("first")
    assert desk.claim(desk.task("second", depends_on=[first]))["blocked_by"] == [first]


def test_cycles_are_refused_and_nothing_changes(desk: Desk) -> None:
    one = desk.task("one")
    two = desk.task("two", depends_on=[one])
    three = desk.task("three", depends_on=[two])
    for needed in ([one], [three], [two]):
        with pytest.raises(InvalidInput, match="would wait for"):
            desk.board.update(call("u", "ann"), one, "ann", TaskEdit(title="changed", depends_on=needed))
    shown = desk.board.status(one)["tasks"][0]
    assert (shown["title"], shown["depends_on"]) == ("one", [])


def test_an_unknown_dependency_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.task("x", depends_on=["nowhere"])
    with pytest.raises(NotFound):
        desk.board.update(call("u", "ann"), desk.task(), "ann", TaskEdit(depends_on=["nowhere"]))
    assert desk.board.counts()["active_tasks"] == 1


# Findings


def test_findings_are_listed_in_order_and_lead_back_from_their_note(desk: Desk) -> None:
    task = desk.task()
    first = desk.board.post_finding(call("f", "ann"), task, "ann", "one", "known-note")["finding_id"]
    desk.clock.advance(1)
    desk.board.post_finding(call("f", "bob"), task, "bob", "two")
    page = desk.board.findings(task)
    assert [(each["agent"], each["summary"], each["knowledge_id"]) for each in page["findings"]] == [
        ("ann", "one", "known-note"),
        ("bob", "two", None),
    ]
    assert [each["summary"] for each in desk.board.findings(task, since="2026-01-01T00:00:00Z")["findings"]] == ["two"]
    assert [each["id"] for each in desk.board.findings_of_note("known-note")] == [first]
    assert desk.board.findings("nowhere") == {"findings": [], "total": 0, "next_cursor": None}
    assert desk.board.status(task)["tasks"][0]["findings"] == 2


def test_findings_need_a_task_that_was_not_cancelled_and_a_note_that_exists(desk: Desk) -> None:
    task = desk.task()
    with pytest.raises(NotFound, match="no note"):
        desk.board.post_finding(call("f", "ann"), task, "ann", "x", "unknown-note")
    with pytest.raises(NotFound, match="no such task"):
        desk.board.post_finding(call("f", "ann"), "nowhere", "ann", "x")
    desk.board.complete(call("c", "ann"), task, "ann")
    assert desk.board.post_finding(call("f", "ann"), task, "ann", "late but true")["finding_id"]
    other = desk.task()
    desk.board.cancel(call("x", "ann"), other, "ann")
    with pytest.raises(Conflict, match="cancelled"):
        desk.board.post_finding(call("f", "ann"), other, "ann", "x")
    assert desk.board.counts()["findings"] == 1


# Lists


def test_lists_come_in_pages_that_together_hold_everything_once(desk: Desk) -> None:
    made = [desk.task(f"task {number}") for number in range(7)]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        page = desk.board.status(page=Page(3, cursor))
        assert page["total"] == 7
        seen += [task["id"] for task in page["tasks"]]
        cursor = page["next_cursor"]
    assert seen == made and cursor is None


def test_filters_narrow_a_list(desk: Desk) -> None:
    one = desk.task("one", "ann", tags=["red", "big"])
    two = desk.task("two", "bob", tags=["red"])
    desk.clock.advance(10)
    desk.task("three", "bob", depends_on=[one])
    desk.claim(two, "eve")
    desk.board.complete(call("c", "ann"), desk.task("done"), "ann")

    def found(**wanted: Any) -> list[str]:
        return titles(desk.board.list(TaskFilter(**wanted)))

    assert found() == ["one", "two", "three"]
    assert found(tags=("red",)) == ["one", "two"]
    assert found(tags=("red", "big")) == ["one"]
    assert found(created_by="bob") == ["two", "three"]
    assert found(claimed_by="eve") == ["two"]
    assert found(blocked=True) == ["three"]
    assert found(blocked=False) == ["one", "two"]
    assert found(since="2026-01-01T00:00:05Z") == ["three"]
    assert found(status="completed") == ["done"]
    assert found(status="all", since="2026-01-01T00:00:05Z") == ["three", "done"]


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5.2", "9" * 40, "²"])
def test_a_cursor_that_is_none_of_ours_is_refused(desk: Desk, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        desk.board.status(page=Page(3, cursor))
    with pytest.raises(InvalidInput, match="cursor"):
        desk.board.ready(Page(3, cursor))


def test_the_status_of_an_unknown_task_is_an_empty_list(desk: Desk) -> None:
    assert desk.board.status("nowhere") == {"tasks": [], "total": 0, "next_cursor": None}


def test_counts_tell_how_much_there_is(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task)
    desk.board.complete(call("c", "ann"), desk.task(), "ann")
    counts = desk.board.counts()
    assert (counts["active_tasks"], counts["open_claims"], counts["completed_tasks"]) == (1, 1, 1)


# Bad input


BAD_INPUT: dict[str, Any] = {
    "blank title": lambda b: b.create(call("c"), NewTask("  ", "ann")),
    "long title": lambda b: b.create(call("c"), NewTask("x" * 501, "ann")),
    "title of two lines": lambda b: b.create(call("c"), NewTask("a\nb", "ann")),
    "no agent": lambda b: b.create(call("c"), NewTask("x", "")),
    "agent of 10 kB": lambda b: b.create(call("c"), NewTask("x", "a" * 10_000)),
    "agent with control characters": lambda b: b.create(call("c"), NewTask("x", "a\x07b")),
    "priority 5": lambda b: b.create(call("c"), NewTask("x", "ann", priority=5)),
    "many tags": lambda b: b.create(call("c"), NewTask("x", "ann", tags=[str(n) for n in range(51)])),
    "NUL in description": lambda b: b.create(call("c"), NewTask("x", "ann", description="a\0b")),
    "many dependencies": lambda b: b.create(call("c"), NewTask("x", "ann", depends_on=[str(n) for n in range(201)])),
    "blank aspect": lambda b: b.claim(call("c"), "t", " ", "ann"),
    "long aspect": lambda b: b.claim(call("c"), "t", "x" * 201, "ann"),
    "blank summary": lambda b: b.post_finding(call("c"), "t", "ann", "\n"),
    "unknown status": lambda b: b.update(call("c"), "t", "ann", TaskEdit(status="done")),  # type: ignore[arg-type]
    "since that is no time": lambda b: b.list(TaskFilter(since="yesterday")),
}


def test_bad_input_is_an_error_and_reaches_no_table(desk: Desk) -> None:
    for what, give in BAD_INPUT.items():
        try:
            give(desk.board)
            pytest.fail(f"{what} was accepted")
        except (InvalidInput, TooLarge):
            pass
        row = desk.database.read(lambda tx: tx.one("SELECT seq AS counter FROM journal_heads WHERE topic = 'board'"))
        assert row == {"counter": 0}, what


# Repetition and change


def test_a_repeated_request_has_its_effect_once(desk: Desk) -> None:
    first = desk.board.create(call("lithos_task_create", "ann", key="k"), NewTask("Once", "ann"))
    assert desk.board.create(call("lithos_task_create", "ann", key="k"), NewTask("Once", "ann")) == first
    assert desk.board.counts()["active_tasks"] == 1


def test_a_refused_claim_leaves_its_key_free(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task, "ann")
    keyed = call("lithos_task_claim", "bob", key="k")
    assert desk.board.claim(keyed, task, "tests", "bob", 1)["success"] is False
    desk.clock.advance(61)
    assert desk.board.claim(keyed, task, "tests", "bob", 1)["success"] is True


@pytest.mark.torture_on_postgres("takes long on PostgreSQL")
def test_ten_thousand_duplicates_have_one_effect_each(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    try:
        answers = [
            desk.board.create(call("create", "ann", key=f"k{number % 100}"), NewTask("x", "ann"))["task_id"]
            for number in range(10_000)
        ]
        assert len(set(answers)) == 100 == desk.board.counts()["active_tasks"]
    finally:
        desk.close()


@pytest.mark.torture_on_postgres("takes long on PostgreSQL")
def test_a_thousand_paused_holders_wake_up_and_none_is_accepted(desk: Desk) -> None:
    tasks = [desk.task(f"task {number}") for number in range(100)]
    stale = [
        (task, f"agent-{lane}", desk.claim(task, f"agent-{lane}", f"aspect {lane}")["token"])
        for task in tasks
        for lane in range(10)
    ]
    desk.clock.advance(61)
    for task in tasks[:50]:  # half of them were overtaken, half only ended
        for lane in range(10):
            assert desk.claim(task, "heir", f"aspect {lane}", minutes=480)["success"]
    for task, agent, token in stale:
        assert reason(desk.board.complete(call("c", agent), task, agent, token)) == "claim_lost"
        with pytest.raises(ClaimLost):
            desk.database.read(lambda tx, token=token, agent=agent: check_token(tx, token, agent))
    assert desk.board.counts()["active_tasks"] == 100
    assert desk.board.counts()["open_claims"] == 500


def test_an_error_inside_the_transaction_leaves_nothing(desk: Desk) -> None:
    before = desk.board.changes()["cursor"]
    with pytest.raises(LithosError):
        desk.task("x", depends_on=["nowhere"])
    assert desk.board.changes()["cursor"] == before


def test_changes_are_numbered_and_read_from_a_cursor_on(desk: Desk) -> None:
    start = desk.board.changes()["cursor"]
    task = desk.task()
    token = desk.claim(task)["token"]
    seen = desk.board.changes(start)
    assert [(each["kind"], each["seq"]) for each in seen["changes"]] == [("created", token - 1), ("claimed", token)]
    assert seen["cursor"] == token
    assert desk.board.changes(token) == {"changes": [], "cursor": token}
    assert desk.board.changes(token + 1) == {"changes": [], "cursor": token, "missed": True}


def test_a_cursor_older_than_the_journal_says_that_something_was_missed(desk: Desk) -> None:
    desk.task()
    desk.database.write(lambda tx: tx.run("UPDATE journal_heads SET seq = 20479"))
    desk.task()  # number 20480 sweeps
    seen = desk.board.changes(1)
    assert seen["missed"] and seen["cursor"] == 20480
    assert [each["seq"] for each in desk.board.changes(20479)["changes"]] == [20480]


def test_terms_come_from_the_settings(tmp_path: Path) -> None:
    desk = Desk(tmp_path, terms=Terms(default_minutes=5, max_minutes=10))
    try:
        task = desk.task()
        assert desk.claim(task, minutes=None)["expires_at"] == "2026-01-01T00:05:00Z"
        assert desk.claim(task, minutes=11)["clamped"]
    finally:
        desk.close()


def test_every_change_leaves_an_event(desk: Desk) -> None:
    task = desk.task()
    desk.claim(task)
    desk.board.complete(call("lithos_task_complete", "ann"), task, "ann")
    rows = desk.database.read(lambda tx: tx.all("SELECT type, op, thing FROM events ORDER BY position"))
    assert [(row["type"], row["op"], row["thing"]) for row in rows] == [
        ("task", "create", task),
        ("task", "claim", task),
        ("task", "completed", task),
    ]
    assert isinstance(desk.board, Board)
