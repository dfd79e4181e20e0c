"""Names in messages: who may speak, read, take and settle under which one, for every kind of caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.canonical import canonical_hash, canonical_json
from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound
from lithos.messages import TYPES
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.shell import Shell

ANN, BOB = Caller(agent="ann"), Caller(agent="bob")
EVE = Caller(agent="eve", bound=True)
OPERATOR = Caller(operator=True)
PAUL, MARY = Caller(user="paul", user_bound=True), Caller(user="mary", user_bound=True)
HELPER = Caller(agent="helper", bound=True, user="paul", user_bound=True)  # of a user and an agent: the agent's
CALLERS = {"unbound": ANN, "bound": EVE, "helper": HELPER, "user": PAUL, "operator": OPERATOR}
PERSONS = ("user", "operator")
Ask = Callable[..., Any]


@pytest.fixture
def ask(lithos: Lithos) -> Ask:
    def call(caller: Caller, tool: str, **arguments: Any) -> Any:
        answer = catalogue().ready(tool, arguments, caller).run(lithos)
        return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer

    for caller in (ANN, BOB, EVE, HELPER):
        call(caller, "lithos_inbox_list")
    for name in ("paul", "mary"):
        lithos.tokens.new(Call("lithos_token_new"), name, user=name)
    return call


def _code(work: Callable[[], Any]) -> str:
    try:
        work()
    except LithosError as error:
        return error.code
    return ""


@pytest.mark.parametrize("who", CALLERS)
def test_each_caller_does_what_its_kind_may_and_nothing_else(ask: Ask, who: str) -> None:
    caller, person = CALLERS[who], who in PERSONS
    dead = [ask(ANN, "lithos_message_send", body=str(n), target="bob")["message_id"] for n in range(2)]
    for each in ask(BOB, "lithos_inbox_take", limit=2)["messages"]:
        of = {"message_id": each["message"]["id"], "token": each["token"]}
        ask(BOB, "lithos_inbox_fail", **of, error="no", retry=False)
    refused = "forbidden" if not person else "" if who == "operator" else "not_found"  # paul is no party
    assert _code(lambda: ask(caller, "lithos_dead_letter_replay", message_id=dead[0])) == refused
    assert _code(lambda: ask(caller, "lithos_dead_letter_drop", message_id=dead[1])) == refused
    not_operator = "" if who == "operator" else "forbidden"
    assert _code(lambda: ask(caller, "lithos_message_forget", message_id=dead[1])) == not_operator
    assert _code(lambda: ask(caller, "lithos_inbox_overview")) == not_operator
    sent = ask(caller, "lithos_message_send", body="now", target="bob", priority="critical")
    assert sent["priority"] == (100 if person else 75)
    shown = ask(BOB, "lithos_message_get", message_id=sent["message_id"])["message"]
    assert shown["source"] == {"unbound": "ann", "bound": "eve", "user": "paul"}.get(who, who)
    assert shown.get("person", False) is person
    assert shown["bound"] is (who != "unbound")
    for name, kind in TYPES.items():
        allowed = kind.senders == "agents" or (person and kind.senders == "persons")
        if kind.senders != "agents":
            answer = ask(caller, "lithos_message_send", type=name, payload=_payload(name), target="bob")
            assert answer["success"] is allowed, name


def _payload(name: str) -> dict[str, Any]:
    fields = TYPES[name].payload.model_fields
    return {each: {} if each == "state" else "x" for each, field in fields.items() if field.is_required()}


@pytest.mark.parametrize("who", ["unbound", "bound", "helper", "user"])
def test_only_the_person_and_the_operator_reach_a_persons_inbox(ask: Ask, who: str) -> None:
    caller = CALLERS[who]
    ask(BOB, "lithos_message_send", body="quokka for mary", target="mary")
    for tool in ("lithos_inbox_list", "lithos_inbox_take", "lithos_message_status"):
        try:
            answer = ask(caller, tool, agent="mary")
        except LithosError as error:
            assert error.code == "forbidden", tool
        else:
            assert who == "user" and not answer.get("messages") and not answer.get("waiting"), tool  # his own
    [taken] = ask(MARY, "lithos_inbox_take")["messages"]
    of = {"message_id": taken["message"]["id"], "token": taken["token"]}
    for tool, more in (("ack", {}), ("renew", {}), ("reply", {"body": "x"}), ("fail", {"error": "x"})):
        assert _code(lambda tool=tool, more=more: ask(caller, f"lithos_inbox_{tool}", **of, **more)) == "not_found"
    assert ask(MARY, "lithos_inbox_reply", **of, body="thanks")["success"]
    [reply] = ask(BOB, "lithos_inbox_take")["messages"]
    assert (reply["message"]["source"], reply["message"]["bound"], reply["message"]["person"]) == ("mary", True, True)


def test_no_agent_speaks_under_the_name_of_a_person_or_of_lithos(ask: Ask) -> None:
    for name in ("operator", "paul", "lithos", "PAUL", "op\u200berator"):
        for caller in (Caller(agent=name), Caller(agent=name, bound=True)):
            with pytest.raises(Forbidden, match="not an agent's name"):
                ask(caller, "lithos_message_send", body="I am the boss", target="bob")
            with pytest.raises(Forbidden, match="not an agent's name"):
                ask(caller, "lithos_message_request", body="x", target="bob", timeout=0)
    assert ask(BOB, "lithos_inbox_list")["messages"] == []


@pytest.mark.parametrize(
    "caller",
    [
        Caller(agent="paul"),
        Caller(agent="paul", bound=True),
        Caller(agent="paul", bound=True, user="paul", user_bound=True),
        Caller(agent="eve"),
        MARY,
    ],
    ids=["named so", "bound to the name", "user and agent", "argument", "another person"],
)
def test_a_persons_name_opens_none_of_that_persons_mail(ask: Ask, caller: Caller) -> None:
    named = {} if caller.agent == "paul" else {"agent": "paul"}
    to = ask(BOB, "lithos_message_send", body="quokka to paul", target="paul")
    of = ask(PAUL, "lithos_message_send", body="quokka of paul", target="bob")
    for message in (to, of):
        for tool in ("get", "status", "trace", "cancel"):
            work = lambda t=tool, m=message: ask(caller, f"lithos_message_{t}", message_id=m["message_id"], **named)  # noqa: E731
            assert _code(work) in ("not_found", "forbidden", "invalid_input"), tool
        with pytest.raises(NotFound):
            ask(caller, "lithos_message_thread", correlation_id=message["correlation_id"], **named)
    assert ask(caller, "lithos_thread_list", **named)["threads"] == []
    assert ask(caller, "lithos_dead_letter_list", **named)["dead_letters"] == []
    assert ask(caller, "lithos_topic_follow", pattern="*.requests", since=0, timeout=0, **named)["entries"] == []
    assert ask(caller, "lithos_recall", query="quokka", **named)["results"] == []
    briefing = ask(caller, "lithos_get_briefing", **named)
    assert "waits" not in briefing["briefing"] and "inbox" not in briefing
    changes = ask(caller, "lithos_changes", since="1d", **named)
    assert "inbox" not in changes
    assert [each["status"] for each in ask(BOB, "lithos_inbox_list")["messages"]] == ["queued"]
    assert "1 message waits: bob 1" in ask(PAUL, "lithos_get_briefing")["briefing"]


def test_a_new_person_is_known_and_protected_at_once(lithos: Lithos, ask: Ask) -> None:
    ask(BOB, "lithos_message_send", body="x", target="paul")  # the names of persons are remembered now
    lithos.tokens.new(Call("lithos_token_new"), "phone", user="zoe")
    assert ask(BOB, "lithos_message_send", body="x", target="zoe")["success"]
    with pytest.raises(Forbidden):
        ask(ANN, "lithos_inbox_take", agent="zoe")
    with pytest.raises(Forbidden):
        ask(Caller(agent="zoe"), "lithos_message_send", body="x", target="bob")


def test_a_person_whom_another_host_made_known_is_found_before_the_names_are_read_again(
    lithos: Lithos, ask: Ask
) -> None:
    ask(BOB, "lithos_message_send", body="x", target="paul")
    sql = "UPDATE tokens SET user_id = 'yan' WHERE user_id = 'mary'"  # no notice of it comes here
    lithos.storage.database.write(lambda tx: tx.run(sql))
    assert ask(BOB, "lithos_message_send", body="x", target="yan")["success"]


def test_an_unbound_name_learns_no_count_of_what_came_for_its_tokens_session(ask: Ask) -> None:
    name = Caller(agent="eve")
    ask(name, "lithos_stats")
    session = ask(EVE, "lithos_session_create", name="s")["session_id"]
    ask(EVE, "lithos_session_activate", session_id=session)
    ask(EVE, "lithos_message_send", body="note to myself", target="eve", session_id=session)
    assert "inbox" not in ask(name, "lithos_stats")
    assert ask(name, "lithos_inbox_list")["waiting"] == 0  # nor does its look hide the mail from the token
    ask(ANN, "lithos_message_send", body="open", target="eve")
    assert ask(name, "lithos_stats")["inbox"] == 1
    assert ask(EVE, "lithos_stats")["inbox"] == 1
    assert "inbox" not in ask(EVE, "lithos_stats")


def test_mail_that_waits_for_its_time_is_noticed_when_it_can_be_taken(lithos: Lithos, ask: Ask, clock: Any) -> None:
    ask(BOB, "lithos_stats")
    ask(ANN, "lithos_message_send", body="later", target="bob", delay_seconds=60)
    assert "inbox" not in ask(BOB, "lithos_stats")
    clock.advance(61)
    lithos.messages.tick()
    assert ask(BOB, "lithos_stats")["inbox"] == 1
    assert "inbox" not in ask(BOB, "lithos_stats")


def test_a_list_of_conversations_counts_and_names_only_what_its_reader_may_see(ask: Ask) -> None:
    sent = ask(ANN, "lithos_message_send", body="all of you", targets=["bob", "eve"])
    for caller, names in ((ANN, ["ann", "bob", "eve"]), (BOB, ["ann", "bob"]), (EVE, ["ann", "eve"])):
        [thread] = ask(caller, "lithos_thread_list")["threads"]
        assert thread["correlation_id"] == sent["correlation_id"]
        assert (thread["names"], thread["messages"]) == (names, len(names) - 1)


def test_only_the_one_who_was_asked_answers_a_request(lithos: Lithos, ask: Ask) -> None:
    session = ask(ANN, "lithos_session_create", name="s")["session_id"]
    ask(ANN, "lithos_session_activate", session_id=session)
    ask(BOB, "lithos_session_join", session_id=session)
    mallory = Caller(agent="mallory")
    ask(mallory, "lithos_session_join", session_id=session)

    async def converse() -> dict[str, Any]:
        def ready(caller: Caller, tool: str, **arguments: Any) -> Any:
            return catalogue().ready(tool, arguments, caller)

        request = asyncio.create_task(
            ready(ANN, "lithos_message_request", target="bob", body="the word?", timeout=20).run(lithos)
        )
        taken = await ready(BOB, "lithos_inbox_take", timeout=20).run(lithos)
        [one] = taken["messages"]
        of = one["message"]["id"]
        forged = ready(mallory, "lithos_message_send", body="forged", target="ann", parent_id=of)
        assert (await asyncio.to_thread(forged.run, lithos))["success"]
        assert "reply_id" not in ready(ANN, "lithos_message_status", message_id=of).run(lithos)
        reply = ready(BOB, "lithos_inbox_reply", message_id=of, token=one["token"], body="swordfish")
        await asyncio.to_thread(reply.run, lithos)
        return dict(await request)

    assert asyncio.run(converse())["reply"]["payload"] == {"body": "swordfish"}


def test_a_forgotten_message_shows_its_way_to_no_follower(ask: Ask) -> None:
    sent = ask(ANN, "lithos_message_send", body="x", target="bob")
    ask(OPERATOR, "lithos_message_forget", message_id=sent["message_id"])
    for caller in (EVE, OPERATOR):
        assert ask(caller, "lithos_topic_follow", pattern="*.requests", since=0, timeout=0)["entries"] == []


@pytest.mark.parametrize("letter", ["漢", '"', "\U0001f600", "x"])
def test_each_page_of_a_long_payload_keeps_to_four_thousand_tokens(ask: Ask, letter: str) -> None:
    sent = ask(ANN, "lithos_message_send", body=letter * 20_000, target="bob")
    text, offset = "", 0
    while True:
        page = ask(BOB, "lithos_message_get", message_id=sent["message_id"], offset=offset)
        assert len(json.dumps(page, ensure_ascii=False).encode()) / 4 <= 4_000
        text += page["payload_text"]
        if "next_offset" not in page:
            break
        offset = page["next_offset"]
    assert json.loads(text) == {"body": letter * 20_000}


def test_a_person_reads_a_long_message_whole_at_the_keyboard(shell: Shell) -> None:
    text = "".join(f"line {number} of a long letter\n" for number in range(1_500))
    message = shell("message", "send", "operator", text)
    taken = shell("inbox", "--take")
    assert taken.endswith(f"bytes: lithos message show {message}")
    assert shell("message", "show", message).endswith("  | line 1499 of a long letter")
    assert shell.json("message", "show", message)["message"]["payload"] == {"body": text}


def test_a_person_lists_the_conversations_at_the_keyboard(shell: Shell) -> None:
    assert shell("message", "list") == "No messages."
    first = shell("message", "send", "operator", "the parser")
    shell("message", "send", "operator", "more of it", "--reply-to", first)
    other = shell("message", "send", "news", "green", "--topic")
    lines = shell("message", "list").splitlines()
    assert [line.split()[0] for line in lines] == [other, first]
    assert "2, 2 waiting" in lines[1] and "the parser" in lines[1]


def test_a_late_reply_with_control_characters_is_refused_and_not_kept(ask: Ask) -> None:
    sent = ask(ANN, "lithos_message_send", body="x", target="bob")
    [taken] = ask(BOB, "lithos_inbox_take")["messages"]
    of = {"message_id": sent["message_id"], "token": taken["token"]}
    ask(BOB, "lithos_inbox_ack", **of)
    with pytest.raises(InvalidInput):
        ask(BOB, "lithos_inbox_reply", **of, body="\x9b2J")
    assert [each["what"] for each in ask(ANN, "lithos_message_trace", message_id=of["message_id"])["hops"]] == ["taken"]


def test_a_dead_letter_of_an_ended_session_is_not_replayed_into_it(lithos: Lithos, ask: Ask) -> None:
    session = ask(ANN, "lithos_session_create", name="s")["session_id"]
    ask(ANN, "lithos_session_activate", session_id=session)
    sent = ask(ANN, "lithos_message_send", body="x", target="bob", session_id=session)
    ask(ANN, "lithos_session_complete", session_id=session)
    lithos.messages.tick()
    answer = ask(OPERATOR, "lithos_dead_letter_replay", message_id=sent["message_id"])
    assert answer["reason"] == "session_not_active"
    assert ask(OPERATOR, "lithos_dead_letter_list")["total"] == 1
    assert ask(BOB, "lithos_inbox_list")["waiting"] == 0


def _snapshot(ask: Ask, **changed: Any) -> str:
    """Of a session in which bob's message to eve waits; a forger changes the message and computes the hash again."""
    session = ask(ANN, "lithos_session_create", name="move")["session_id"]
    ask(ANN, "lithos_session_activate", session_id=session)
    ask(BOB, "lithos_session_join", session_id=session)
    ask(BOB, "lithos_message_send", body="pending", target="eve", session_id=session)
    whole = json.loads(ask(ANN, "lithos_session_snapshot", session_id=session)["snapshot"])
    whole["snapshot"]["pending_messages"][0] |= changed
    whole["hash"] = canonical_hash(whole["snapshot"])
    ask(ANN, "lithos_session_suspend", session_id=session)
    return canonical_json(whole).decode()


@pytest.mark.parametrize(
    ("changed", "source", "priority"),
    [
        ({}, "bob", 50),
        ({"priority": 100}, "bob", 75),
        ({"source": "eve"}, "ann", 50),
        ({"payload": {"body": "changed"}}, "ann", 50),
        ({"source": "operator"}, None, 0),
        ({"source": "lithos"}, None, 0),
    ],
    ids=["unchanged", "critical", "of another", "another text", "of a person", "of lithos"],
)
def test_a_snapshot_written_by_hand_sets_no_source_and_no_right(
    ask: Ask, changed: dict[str, Any], source: str | None, priority: int
) -> None:
    new = ask(ANN, "lithos_session_restore", snapshot=_snapshot(ask, **changed), as_new=True)["session_id"]
    ask(ANN, "lithos_session_switch", session_id=new)
    taken = [each["message"] for each in ask(EVE, "lithos_inbox_take", limit=5)["messages"]]
    assert [(each["source"], each["priority"], each["bound"]) for each in taken] == (
        [(source, priority, False)] if source else []
    )


def test_a_snapshot_with_wrong_messages_is_a_clear_error_and_restores_nothing(ask: Ask) -> None:
    for changed in (
        {"max_attempts": 10**6},
        {"max_attempts": -5},
        {"ttl": -1},
        {"ttl": 1e300},
        {"ttl": "nan"},
        {"correlation_id": "\x1b[2J"},
        {"id": "\x1b[2J"},
        {"payload": {"body": "\x1b[2J"}},
        {"target": None},
    ):
        snapshot = _snapshot(ask, **changed)
        before = ask(OPERATOR, "lithos_session_list")["sessions"]
        with pytest.raises(InvalidInput):
            ask(ANN, "lithos_session_restore", snapshot=snapshot, as_new=True)
        assert len(ask(OPERATOR, "lithos_session_list")["sessions"]) == len(before), changed
