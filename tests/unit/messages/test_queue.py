"""The queue of an inbox: one taker per message, by lease and token; order, turns, retries, ends. On both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lithos.core.call import Delivery
from lithos.errors import Busy, InvalidInput, NotFound
from lithos.messages import MessageDraft, MessageLimits, Names
from lithos.messages.store import token_of
from lithos.storage import Crash, PlannedFaults
from tests.support.one_batch import in_one_batch
from tests.support.post_office import PERSON, PostOffice, bound, by, run

pytestmark = pytest.mark.both_databases


@pytest.fixture
def office(tmp_path: Path) -> Iterator[PostOffice]:
    made = PostOffice(tmp_path)
    yield made
    made.close()


def test_a_message_is_taken_once_and_settled_by_its_token(office: PostOffice) -> None:
    sent = office.send("ann", "bob", "please look")
    assert sent["success"]
    [taken] = office.take("bob")
    assert taken["message"]["id"] == sent["message_id"]
    assert taken["message"]["source"] == "ann"
    assert taken["message"]["bound"] is False
    assert office.take("bob") == []
    assert office.messages.ack(by("bob"), sent["message_id"], taken["token"] + 1)["reason"] == "claim_lost"
    assert office.messages.ack(by("bob"), sent["message_id"], taken["token"])["success"]
    assert office.messages.ack(by("bob"), sent["message_id"], taken["token"])["reason"] == "settled"
    assert office.status(sent["message_id"]) == "completed"


def test_a_reply_goes_to_the_sender_with_the_correlation(office: PostOffice) -> None:
    sent = office.send("ann", "bob", "how many?")
    [taken] = office.take("bob")
    answer = office.messages.reply(by("bob"), sent["message_id"], taken["token"], {"body": "three"})
    [reply] = office.take("ann")
    assert reply["message"]["id"] == answer["reply_id"]
    assert reply["message"]["payload"] == {"body": "three"}
    assert reply["message"]["correlation_id"] == sent["correlation_id"]
    assert reply["message"]["parent_id"] == sent["message_id"]
    assert reply["message"]["source"] == "bob"


def test_a_lease_that_ends_brings_the_message_back_until_its_attempts_are_used(office: PostOffice) -> None:
    sent = office.send("ann", "bob")
    for attempt in (1, 2, 3):
        [taken] = office.take("bob", lease_seconds=60)
        assert taken["message"]["attempt"] == attempt
        office.advance(61)
        assert office.messages.ack(by("bob"), sent["message_id"], taken["token"])["success"] is False
        office.advance(15)
    assert office.status(sent["message_id"]) == "failed"
    [dead] = office.messages.dead_letters.list(PERSON, limit=10, cursor=None)["dead_letters"]
    assert (dead["message_id"], dead["reason"]) == (sent["message_id"], "retry_exhausted")
    assert office.messages.status(by("bob"), None)["health"] == "unhealthy"


def test_a_late_reply_is_refused_and_kept_in_the_trace(office: PostOffice) -> None:
    sent = office.send("ann", "bob")
    [taken] = office.take("bob", lease_seconds=5)
    office.advance(6)
    late = office.messages.reply(by("bob"), sent["message_id"], taken["token"], {"body": "too late"})
    assert late["reason"] == "claim_lost"
    hops = office.messages.trace(by("ann"), sent["message_id"])["hops"]
    assert [hop["what"] for hop in hops] == ["taken", "lease_ended", "late_reply"]
    assert "too late" in hops[-1]["payload"]
    assert office.take("ann") == []


def test_two_takers_that_slept_past_their_leases_are_both_refused(office: PostOffice) -> None:
    sent = office.send("ann", "bob", max_attempts=5)
    [first] = office.take("bob", lease_seconds=5)
    _let_it_come_back(office)
    [second] = office.take("bob", lease_seconds=5)
    assert office.messages.ack(by("bob"), sent["message_id"], first["token"])["reason"] == "claim_lost"
    _let_it_come_back(office)
    for stale in (first, second):
        assert office.messages.ack(by("bob"), sent["message_id"], stale["token"])["reason"] == "claim_lost"
    [third] = office.take("bob")
    assert office.messages.ack(by("bob"), sent["message_id"], third["token"])["success"]


def test_messages_of_one_correlation_come_in_order_one_at_a_time(office: PostOffice) -> None:
    first = office.send("ann", "bob", "1")
    office.send("ann", "bob", "2", correlation_id=first["correlation_id"])
    office.send("ann", "bob", "other")
    assert office.bodies("bob") == ["1", "other"]
    assert office.bodies("bob") == []
    office.messages.fail(by("bob"), first["message_id"], _token(office, first["message_id"]), "busy", retry=True)
    assert office.bodies("bob") == []  # the first stays ahead while it waits for its retry
    office.advance(20)
    [again] = office.take("bob", limit=5)
    assert again["message"]["payload"]["body"] == "1"
    office.messages.ack(by("bob"), first["message_id"], again["token"])
    assert office.bodies("bob") == ["2"]


def _let_it_come_back(office: PostOffice) -> None:
    office.advance(6)  # the lease ends
    office.advance(15)  # the pause before the next attempt too


def _token(office: PostOffice, message_id: str) -> int:
    row = office.database.read(lambda tx: tx.one("SELECT seq, attempt FROM messages WHERE id = ?", message_id))
    assert row is not None
    return token_of(row)


def test_higher_lanes_come_first_and_every_eighth_pick_serves_the_lowest(office: PostOffice) -> None:
    for number in range(10):
        office.send("ann", "bob", f"normal {number}")
    office.send("ann", "bob", "background", priority="background")
    office.send("ann", "bob", "urgent", priority=80)
    bodies = office.bodies("bob", limit=9)
    assert bodies[0] == "urgent"
    assert bodies[7] == "background"
    assert [each for each in bodies if each.startswith("normal")] == [f"normal {n}" for n in range(7)]


def test_sessions_take_turns_by_their_weight(office: PostOffice) -> None:
    heavy = office.session("heavy", "ann", message_weight=2)
    light = office.session("light", "cat")
    for number in range(6):
        office.send("ann", "bob", f"h{number}", session_id=heavy)
    for number in range(3):
        office.send("cat", "bob", f"l{number}", session_id=light)
    assert office.bodies("bob", limit=6) == ["h0", "h1", "l0", "h2", "h3", "l1"]


def test_critical_from_an_agent_becomes_high_and_a_person_may_send_it(office: PostOffice) -> None:
    sent = office.send("ann", "bob", priority="critical")
    assert (sent["priority"], bool(sent["notes"])) == (75, True)
    assert office.send("", "bob", priority="critical", by=PERSON)["priority"] == 100


def test_a_delayed_message_waits_and_a_deadline_ends_one(office: PostOffice) -> None:
    office.send("ann", "bob", "later", delay_seconds=30)
    ending = office.send("ann", "bob", "soon over", deadline=office.clock.now().replace(second=20))
    assert office.bodies("bob") == ["soon over"]
    office.messages.fail(by("bob"), ending["message_id"], _token(office, ending["message_id"]), "not now", retry=True)
    office.advance(31)
    assert office.bodies("bob") == ["later"]
    assert office.status(ending["message_id"]) == "expired"
    assert office.messages.status(by("ann"), ending["message_id"])["dead_letter"] == "timeout"


def test_a_breaker_opens_after_five_failures_probes_and_closes(office: PostOffice) -> None:
    for _ in range(5):
        sent = office.send("ann", "bob", max_attempts=1)
        [taken] = office.take("bob")
        office.messages.fail(by("bob"), sent["message_id"], taken["token"], "no", retry=False)
    for number in range(4):
        office.send("ann", "bob", f"{number}")
    office.send("", "bob", "critical", priority="critical", by=PERSON)
    assert office.bodies("bob") == ["critical"]
    assert office.messages.status(by("bob"), None)["breaker"] == "open"
    office.advance(31)
    probes = office.take("bob", limit=10)
    assert len(probes) == 3
    for probe in probes[:2]:
        office.messages.ack(by("bob"), probe["message"]["id"], probe["token"])
    assert office.messages.status(by("bob"), None)["breaker"] == "closed"
    assert office.bodies("bob") == ["3"]


def test_a_full_inbox_is_busy_and_keeps_a_reserve_for_critical(tmp_path: Path) -> None:
    office = PostOffice(tmp_path, limits=MessageLimits(per_target=20, per_minute=1000))
    try:
        for _ in range(20):
            office.send("ann", "bob")
        with pytest.raises(Busy) as busy:
            office.send("ann", "bob")
        assert busy.value.details["retry_after_ms"] > 0
        assert office.send("", "bob", priority="critical", by=PERSON)["success"]
        with pytest.raises(Busy):
            office.send("", "bob", priority="critical", by=PERSON)
    finally:
        office.close()


def test_a_limit_holds_for_senders_whose_messages_are_committed_together(tmp_path: Path) -> None:
    office = PostOffice(tmp_path, limits=MessageLimits(per_target=5))
    senders = [f"ann{number}" for number in range(8)]
    for each in senders:
        office.take(each)  # known from here on: its send is one write
    sends = [lambda each=each: office.send(each, "bob", each) for each in senders]
    results = in_one_batch(office.database, sends, calls=True)
    assert [isinstance(each, Busy) for each in results] == [False] * 5 + [True] * 3
    assert office.bodies("bob") == senders[:5]
    office.close()


def test_calls_committed_together_keep_their_keys_refusals_and_conversations_apart(office: PostOffice) -> None:
    first = office.send("ann", "bob", "one")["correlation_id"]
    office.take("eve")
    sends = [
        lambda: office.send("ann", "bob", "two", correlation_id=first),
        lambda: office.send("ann", "bob", "three", correlation_id=first),
        lambda: office.send("ann", "bob", "keyed", key="k"),
        lambda: office.send("ann", "bob", "unknown parent", parent_id="no-such-message"),
        lambda: office.send("eve", "bob", "late", deadline=office.clock.now()),
    ]
    results = in_one_batch(office.database, sends, calls=True)
    assert isinstance(results[3], NotFound) and isinstance(results[4], InvalidInput)
    assert office.send("ann", "bob", "keyed", key="k") == results[2]
    assert [each["message"]["payload"]["body"] for each in office.take("bob", 32)] == ["one", "keyed"]
    rows = office.database.read(lambda tx: tx.all("SELECT payload, ready FROM messages ORDER BY seq"))
    assert [row["ready"] for row in rows if "two" in row["payload"] or "three" in row["payload"]] == [0, 0]


def test_one_sender_is_held_to_its_number_a_minute(tmp_path: Path) -> None:
    office = PostOffice(tmp_path, limits=MessageLimits(per_minute=3))
    try:
        for _ in range(3):
            office.send("ann", "bob")
        with pytest.raises(Busy):
            office.send("ann", "bob")
        assert office.send("cat", "bob")["success"]
        office.advance(75)
        assert office.send("ann", "bob")["success"]
        assert office.send("ann", "bob")["success"] and office.send("ann", "bob")["success"]
        for seconds in (30, 29):  # the clock begins another minute meanwhile
            office.advance(seconds)
            with pytest.raises(Busy) as refused:
                office.send("ann", "bob")
        assert refused.value.as_dict()["retry_after_ms"] <= 1001
        office.advance(1)
        assert office.send("ann", "bob")["success"]
    finally:
        office.close()


def test_two_agents_that_answer_each_other_stop_at_the_limit(office: PostOffice) -> None:
    office.send("ann", "bob", "ping")
    here, there, answered = "bob", "ann", 0
    while True:
        [taken] = office.take(here)
        answer = office.messages.reply(by(here), taken["message"]["id"], taken["token"], {"body": "again"})
        if not answer["success"]:
            break
        answered, (here, there) = answered + 1, (there, here)
    assert answer["reason"] == "loop_limit"
    assert answered == 32


def test_a_broadcast_is_one_conversation_and_each_reply_goes_to_its_sender_alone(office: PostOffice) -> None:
    draft = MessageDraft("text", {"body": "who is free?"}, ("bob", "cat", "dan"))
    sent = office.messages.send(by("ann"), draft)
    for name in ("bob", "cat"):
        [taken] = office.take(name)
        assert taken["message"]["correlation_id"] == sent["correlation_id"]
        office.messages.reply(by(name), taken["message"]["id"], taken["token"], {"body": f"{name} is"})
    assert office.bodies("dan") == ["who is free?"]
    assert office.bodies("cat") == []
    assert office.bodies("ann") == ["bob is"]  # one conversation comes in order, one at a time
    page = office.messages.thread(by("ann"), sent["correlation_id"], limit=10, cursor=None)
    assert len(page["messages"]) == 5


def test_limits_of_a_conversation_and_of_a_session_count_every_receiver(tmp_path: Path) -> None:
    office = PostOffice(tmp_path, limits=MessageLimits(correlation=4, per_session=4))
    try:
        everyone = MessageDraft("text", {"body": "x"}, ("bob", "cat", "dan"))
        sent = office.messages.send(by("ann"), everyone)
        again = replace(everyone, correlation_id=sent["correlation_id"])
        assert office.messages.send(by("ann"), again)["reason"] == "loop_limit"
        session = office.session("s", "ann")
        office.messages.send(by("ann"), replace(everyone, session_id=session))
        with pytest.raises(Busy):
            office.messages.send(by("ann"), replace(everyone, session_id=session))
    finally:
        office.close()


def test_one_that_sent_or_took_is_known_after_the_host_was_killed(tmp_path: Path) -> None:
    """The registry of agents is written behind the answers, so a killed host forgets what it had not written."""
    office = PostOffice(tmp_path, names=Names(knows=lambda name: False))
    with pytest.raises(NotFound):
        office.send("ann", "bob", "bob never called")
    office.take("bob")
    office.reopen()
    assert office.send("cat", "bob")["success"] and office.send("bob", "ann")["success"]
    office.close()


def test_a_repeated_send_with_its_key_is_one_message(office: PostOffice) -> None:
    first = office.send("ann", "bob", "once", key="k1")
    assert office.send("ann", "bob", "once", key="k1") == first
    assert office.bodies("bob") == ["once"]


@pytest.mark.parametrize("point", ["commit.send", "commit.done"])
def test_a_host_killed_between_a_send_and_its_answer_leaves_one_message(office: PostOffice, point: str) -> None:
    """The guest sends again what was in flight, as it does after every host that died."""
    office.close()
    faults = PlannedFaults()
    office.open(faults)
    faults.plan(point, "crash", visit=faults.seen.count(point) + 1)
    call = replace(by("ann"), delivery=Delivery("guest", "7"))
    with pytest.raises(Crash):
        office.send("", "bob", "once", by=call)
    office.reopen()
    again = replace(by("ann"), delivery=Delivery("guest", "7", resent=True))
    assert office.send("", "bob", "once", by=again)["success"]
    assert office.bodies("bob") == ["once"]


def test_the_ttl_of_what_is_worked_on_pauses_with_its_session(office: PostOffice) -> None:
    session = office.session("work", "ann", "bob")
    sent = office.send("ann", "bob", session_id=session, ttl_seconds=100)
    assert office.take("bob", lease_seconds=60)
    office.sessions.suspend(by("ann"), session)
    office.messages.tick()
    office.advance(61)  # the lease ends, the session is still suspended
    office.advance(1000)
    assert office.status(sent["message_id"]) == "queued"
    office.sessions.resume(by("ann"), session)
    office.messages.tick()
    assert len(office.take("bob")) == 1


def test_a_suspended_session_hands_nothing_out_and_its_ttl_pauses(office: PostOffice) -> None:
    session = office.session("work", "ann", "bob")
    sent = office.send("ann", "bob", "in the session", session_id=session, ttl_seconds=100)
    office.advance(50)
    office.sessions.suspend(by("ann"), session)
    office.messages.tick()
    assert office.take("bob") == []
    assert office.send("ann", "bob", session_id=session)["reason"] == "session_not_active"
    office.advance(1000)
    assert office.status(sent["message_id"]) == "queued"
    office.sessions.resume(by("ann"), session)
    office.messages.tick()
    office.advance(40)
    assert office.status(sent["message_id"]) == "queued"
    office.advance(20)
    assert office.status(sent["message_id"]) == "expired"


def test_what_waits_in_a_session_that_ends_becomes_a_dead_letter_that_a_person_replays(office: PostOffice) -> None:
    session = office.session("work", "ann", "bob")
    sent = office.send("ann", "bob", "unread", session_id=session)
    office.sessions.complete(by("ann"), session, None)
    office.messages.tick()
    assert office.messages.status(by("ann"), sent["message_id"])["dead_letter"] == "unroutable"
    with pytest.raises(NotFound):
        office.messages.get(by("eve"), sent["message_id"])


def test_a_change_of_a_session_is_on_its_topic_with_the_transaction_that_made_it(office: PostOffice) -> None:
    session = office.session("work", "ann", "bob")
    office.sessions.suspend(by("ann"), session)
    office.sessions.resume(by("bob"), session)
    office.sessions.complete(by("ann"), session, None)

    def types(who: str) -> list[str | None]:
        page = run(office.messages.follow(by(who), "session.*.state", 0, 50, 0))
        return [each.get("type") for each in page["entries"]]

    steps = ("create", "switch", "switch", "suspend", "resume", "complete")
    assert types("bob") == [f"session_{each}" for each in steps]  # no timer has run since
    assert types("eve") == []
    office.messages.tick()
    assert len(types("bob")) == len(steps)


def test_dead_letters_replays_and_drops_are_audited_and_sends_are_not(office: PostOffice) -> None:
    def events() -> list[tuple[str, str]]:
        rows = office.database.read(
            lambda tx: tx.all("SELECT op, thing FROM events WHERE type = 'message' ORDER BY sequence")
        )
        return [(row["op"], row["thing"]) for row in rows]

    rejected, expired = (
        office.send("ann", "bob", "no")["message_id"],
        office.send("ann", "cat", ttl_seconds=5)["message_id"],
    )
    [taken] = office.take("bob")
    assert events() == []
    office.messages.fail(by("bob"), rejected, taken["token"], "never", retry=False)
    office.advance(6)
    assert events() == [("dead_letter", rejected), ("dead_letter", expired)]
    office.messages.dead_letters.replay(PERSON, rejected)
    office.messages.dead_letters.drop(PERSON, expired)
    assert events()[2:] == [("replay", rejected), ("drop", expired)]


def test_a_dead_host_returns_its_leases_and_a_message_that_kills_twice_is_set_aside(office: PostOffice) -> None:
    from lithos.messages import TakeRequest, upkeep

    sent = office.send("ann", "bob", max_attempts=9)
    for death in (1, 2):
        request = TakeRequest("bob", host=f"host {death}")
        office.database.write(lambda tx, name=request.host: upkeep.beat(tx, name))  # type: ignore[misc]
        assert office.messages.take_now(by("bob"), request)["messages"]
        office.advance(61)
        office.advance(30)
    shown = office.messages.get(by("ann"), sent["message_id"])["message"]
    assert shown["status"] == "failed"
    assert shown["metadata"] == {"poison": True}


def test_the_timer_looks_when_the_next_host_would_be_dead(office: PostOffice) -> None:
    from lithos.messages import upkeep

    office.database.write(lambda tx: upkeep.beat(tx, "another host"))
    office.clock.advance(57)
    assert office.messages.tick() == pytest.approx(3.01)  # not at the next regular look, up to ten seconds later
    office.messages.beat()
    office.advance(4)
    assert office.messages.tick() > 10  # the dead one is gone, and this host does not wait for its own death


def test_a_bound_token_settles_only_what_its_own_agent_took(office: PostOffice) -> None:
    sent = office.send("ann", "bob")
    [taken] = office.take("bob")
    with pytest.raises(NotFound):
        office.messages.ack(bound("eve"), sent["message_id"], taken["token"])
    assert office.messages.ack(bound("bob"), sent["message_id"], taken["token"])["success"]


def test_leases_outlive_a_restart_and_a_reboot_gives_them_grace(office: PostOffice) -> None:
    sent = office.send("ann", "bob")
    [taken] = office.take("bob", lease_seconds=600)
    office.reopen()
    assert office.take("bob") == []
    assert office.messages.ack(by("bob"), sent["message_id"], taken["token"])["success"]


def test_old_rows_are_pruned_by_age_and_number(tmp_path: Path) -> None:
    office = PostOffice(tmp_path, limits=MessageLimits(settled_rows=2, hop_days=1, settled_days=30))
    try:
        for number in range(5):
            sent = office.send("ann", "bob", str(number))
            [taken] = office.take("bob")
            office.messages.ack(by("bob"), sent["message_id"], taken["token"])
            office.advance(1)
        office.messages.prune()
        left = office.messages.inbox(by("bob"), unread=False, limit=10, cursor=None)["messages"]
        assert [each["subject"] for each in left] == ["4", "3"]
        office.clock.advance(31 * 86_400)
        office.messages.prune()
        assert office.messages.inbox(by("bob"), unread=False, limit=10, cursor=None)["messages"] == []
    finally:
        office.close()


def test_one_pruning_drops_all_that_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.messages.upkeep.PRUNED_AT_ONCE", 2)
    office = PostOffice(tmp_path, limits=MessageLimits(settled_rows=1))
    try:
        for number in range(6):
            sent = office.send("ann", "bob", str(number))
            office.messages.ack(by("bob"), sent["message_id"], office.take("bob")[0]["token"])
            office.advance(1)
        office.messages.prune()
        assert office.messages.counts()["settled"] == 1
    finally:
        office.close()


def test_hops_go_after_seven_days_and_dead_letters_after_thirty_or_beyond_their_number(tmp_path: Path) -> None:
    office = PostOffice(tmp_path, limits=MessageLimits(dead_rows=3))
    try:
        first = office.send("ann", "bob", "0", max_attempts=9)
        office.take("bob", lease_seconds=5)
        office.advance(6)  # its lease ends: a hop
        office.advance(1)
        office.messages.ack(by("bob"), first["message_id"], office.take("bob")[0]["token"])
        for number in range(1, 6):
            _rejected(office, str(number))
        assert _hops(office, first["message_id"]) == ["taken", "lease_ended", "taken"]
        office.messages.prune()
        assert _dead(office) == ["5", "4", "3"]
        office.clock.advance(6.9 * 86_400)
        office.messages.prune()
        assert _hops(office, first["message_id"]) == ["taken", "lease_ended", "taken"]
        office.clock.advance(0.2 * 86_400)
        office.messages.prune()
        assert _hops(office, first["message_id"]) == []
        office.clock.advance(22.8 * 86_400)
        _rejected(office, "new")
        office.messages.prune()
        assert _dead(office) == ["new", "5", "4"]
        office.clock.advance(0.2 * 86_400)  # 30.1 days
        office.messages.prune()
        assert _dead(office) == ["new"]
    finally:
        office.close()


def _rejected(office: PostOffice, body: str) -> None:
    office.advance(1)
    sent = office.send("ann", "cat", body)
    [taken] = office.take("cat")
    office.messages.fail(by("cat"), sent["message_id"], taken["token"], body, retry=False)
    office.messages.ack(by("cat"), office.send("ann", "cat")["message_id"], office.take("cat")[0]["token"])


def _hops(office: PostOffice, message_id: str) -> list[str]:
    return [each["what"] for each in office.messages.trace(PERSON, message_id)["hops"]]


def _dead(office: PostOffice) -> list[str]:
    page = office.messages.dead_letters.list(PERSON, limit=20, cursor=None)
    return [str(each["error"]) for each in page["dead_letters"]]


def test_names_beyond_their_number_go_even_where_they_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.messages.upkeep.MOST_NAMES", 3)
    office = PostOffice(tmp_path)
    sql = "INSERT INTO message_agents (name, failures, ended_leases, breaker) VALUES (?, ?, 0, ?)"
    rows = [("a", 0, "closed"), ("b", 1, "closed"), ("c", 2, "closed"), ("d", 5, "open"), ("e", 1, "closed")]
    try:
        office.database.write(lambda tx: tx.many(sql, rows))
        office.messages.prune()
        left = office.database.read(lambda tx: tx.all("SELECT name FROM message_agents ORDER BY name"))
        assert [row["name"] for row in left] == ["b", "c", "d"]
    finally:
        office.close()
