"""Messages attacked over HTTP: by name alone, by a bound token, by one that may only read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.messages import TYPES
from lithos.settings import ServerSettings
from tests.support.wire import Raw, serving


class Attacker:
    """One client over HTTP; the answer of a tool, or the code of its error."""

    def __init__(self, url: str, secret: str, name: str | None = None) -> None:
        headers = {"authorization": f"Bearer {secret}"} | ({"x-lithos-agent": name} if name else {})
        self._raw = Raw(url, "auto", path="/mcp?toolsets=all", headers=headers)

    def __call__(self, tool: str, **arguments: Any) -> Any:
        content = self._raw.call(tool, **arguments)["structuredContent"]
        return content["error"]["code"] if "error" in content else content

    def close(self) -> None:
        self._raw.http.close()


@pytest.fixture
def url(lithos: Lithos) -> Iterator[str]:
    with serving(lithos, ServerSettings(host="0.0.0.0")) as (address, _):
        yield address


@pytest.fixture
def client(lithos: Lithos, url: str) -> Iterator[Any]:
    made: list[Attacker] = []

    def connect(name: str | None = None, **token: Any) -> Attacker:
        secret = lithos.tokens.new(Call("lithos_token_new"), "test", **token)["token"]
        made.append(Attacker(url, secret, name))
        return made[-1]

    yield connect
    for each in made:
        each.close()


def _payload(name: str) -> dict[str, Any]:
    fields = TYPES[name].payload.model_fields
    return {each: {} if each == "state" else "x" for each, field in fields.items() if field.is_required()}


@pytest.mark.parametrize("who", ["unbound", "bound", "helper", "person"])
def test_no_sender_over_http_sends_a_type_that_is_not_its_own(client: Any, who: str) -> None:
    """The spoofing matrix on the wire: every type by each kind of sender."""
    client("bob")("lithos_inbox_list")
    both = {"agent": "ann", "user": "paul"}  # such a token is the agent's
    sender = {"unbound": {"name": "ann"}, "bound": {"agent": "ann"}, "helper": both, "person": {"user": "paul"}}[who]
    ask, source = client(**sender), "paul" if who == "person" else "ann"
    for name in sorted(TYPES):
        allowed = TYPES[name].senders == "agents" or (who == "person" and TYPES[name].senders == "persons")
        answer = ask("lithos_message_send", type=name, payload=_payload(name), target="bob")
        assert answer["success"] is allowed, (name, answer)
        assert answer.get("source") == (source if allowed else None)
        assert allowed or answer["reason"] == "type_reserved"


def test_a_source_is_never_an_argument_and_an_inbox_never_anothers(client: Any) -> None:
    ann, bob, eve = client(agent="ann"), client(agent="bob"), client("eve")
    for each in (ann, bob, eve):
        each("lithos_inbox_list")
    for wrong in ({"agent": "bob"}, {"source": "bob"}, {"bound": True}, {"person": True}):
        assert ann("lithos_message_send", body="x", target="eve", **wrong) in ("forbidden", "invalid_input")
    assert eve("lithos_message_send", body="x", target="ann", agent="bob") in ("forbidden", "invalid_input")
    assert not eve("lithos_inbox_list").get("messages")
    sent = ann("lithos_message_send", body="for bob", target="bob")
    for tool in ("lithos_inbox_take", "lithos_inbox_list"):
        assert ann(tool, agent="bob") == "forbidden"
        assert eve(tool, agent="operator") == "forbidden"
    [taken] = bob("lithos_inbox_take")["messages"]
    assert taken["message"]["source"] == "ann" and taken["message"]["bound"] is True
    held = {"message_id": sent["message_id"], "token": taken["token"]}
    assert ann("lithos_inbox_ack", **held) == "not_found"
    assert ann("lithos_inbox_reply", **held, body="mine") == "not_found"
    for wrong_token in (taken["token"] + 1, taken["token"] - 1, 0, -1, 2**62):
        refused = bob("lithos_inbox_ack", message_id=sent["message_id"], token=wrong_token)
        assert refused == "invalid_input" or refused["reason"] == "claim_lost", wrong_token
    assert bob("lithos_inbox_ack", **held)["success"]
    assert bob("lithos_inbox_ack", **held)["reason"] == "settled"


def test_a_message_of_another_session_is_unknown_in_every_tool(client: Any) -> None:
    ann, bob, eve = client(agent="ann"), client(agent="bob"), client(agent="eve")
    for each in (ann, bob, eve):
        each("lithos_inbox_list")
    session = ann("lithos_session_create", name="secret")["session_id"]
    ann("lithos_session_activate", session_id=session)
    bob("lithos_session_join", session_id=session)
    sent = ann("lithos_message_send", body="the launch code", target="bob", session_id=session)
    of = {"message_id": sent["message_id"]}
    for tool in ("lithos_message_get", "lithos_message_status", "lithos_message_cancel", "lithos_message_trace"):
        assert eve(tool, **of) == "not_found", tool
        assert eve("lithos_tool_call", name=tool, arguments=of) == "not_found", tool
    assert eve("lithos_message_thread", correlation_id=sent["correlation_id"]) == "not_found"
    assert eve("lithos_message_send", body="x", target="bob", session_id=session) == "not_found"
    for more in ({"parent_id": sent["message_id"]}, {"correlation_id": sent["correlation_id"]}):
        assert eve("lithos_message_send", body="x", target="bob", **more) == "not_found"
    assert not eve("lithos_dead_letter_list").get("dead_letters")
    assert eve("lithos_dead_letter_replay", **of) == "forbidden"
    entries = eve("lithos_topic_follow", pattern="**", since=0, timeout=0).get("entries", [])
    assert not [each for each in entries if each.get("message_id") or each.get("session_id") == session]
    assert "launch" not in str(eve("lithos_recall", query="the launch code"))
    assert bob("lithos_message_get", **of)["message"]["payload"]["body"] == "the launch code"


def test_a_token_that_only_reads_sends_takes_and_settles_nothing(client: Any) -> None:
    ann, reader = client(agent="ann"), client(agent="bob", scope="read")
    client(agent="bob")("lithos_inbox_list")
    sent = ann("lithos_message_send", body="x", target="bob")
    assert [each["id"] for each in reader("lithos_inbox_list")["messages"]] == [sent["message_id"]]
    for tool, arguments in {
        "lithos_message_send": {"body": "x", "target": "ann"},
        "lithos_message_request": {"body": "x", "target": "ann", "timeout": 0},
        "lithos_inbox_take": {},
        "lithos_inbox_ack": {"message_id": sent["message_id"], "token": 1},
        "lithos_message_cancel": {"message_id": sent["message_id"]},
    }.items():
        assert reader(tool, **arguments) in ("forbidden", "read_only"), tool
        assert reader("lithos_tool_call", name=tool, arguments=arguments) in ("forbidden", "read_only"), tool


def test_what_is_too_large_or_out_of_range_is_refused_by_code(client: Any) -> None:
    ann = client(agent="ann")
    wide = {"type": "acme.deep", "payload": {"x": {}}}
    inner = wide["payload"]["x"]  # type: ignore[index]
    for _ in range(500):
        inner["x"] = inner = {}
    for arguments, code in (
        ({"body": "x" * (257 * 1024)}, "too_large"),
        ({"body": "\x1b]0;owned\x07"}, "invalid_input"),
        ({"body": "x", "delay_seconds": 1e18}, "invalid_input"),
        ({"body": "x", "ttl_seconds": 1e18}, "invalid_input"),
        ({"body": "x", "deadline": "9999-12-31T23:59:59Z", "delay_seconds": 1e12}, "invalid_input"),
        ({"body": "x", "max_attempts": 10**9}, "invalid_input"),
        ({"body": "x", "priority": 10**9}, "invalid_input"),
        ({"body": "x", "correlation_id": "c" * 101}, "invalid_input"),
        ({"body": "x", "correlation_id": "red \x1b[31m"}, "invalid_input"),
        ({"body": "x", "correlation_id": " "}, "invalid_input"),
        (wide, "invalid_input"),
    ):
        assert ann("lithos_message_send", target="ann", **arguments) == code, arguments
    for topic in ("build.*", "**", "session.x.y", "bob.requests", "Build", "a..b", ".".join("abcdefghi"), "a" * 65):
        assert ann("lithos_message_send", topic=topic, body="x") in ("invalid_input", "forbidden"), topic
    for arguments in ({"lease_seconds": 1e9}, {"limit": 33}, {"limit": 0}, {"timeout": 56}, {"types": ["*"]}):
        assert ann("lithos_inbox_take", **arguments) == "invalid_input", arguments
    assert not ann("lithos_inbox_list").get("messages")


def test_a_session_of_others_looks_like_one_that_does_not_exist_to_a_taker(client: Any) -> None:
    ann, bob, eve = client(agent="ann"), client(agent="bob"), client(agent="eve")
    for each in (ann, bob, eve):
        each("lithos_inbox_list")
    session = ann("lithos_session_create", name="secret")["session_id"]
    unknown = eve("lithos_inbox_take", session_id="no-such-session")
    ann("lithos_session_activate", session_id=session)
    assert eve("lithos_inbox_take", session_id=session) == unknown
    ann("lithos_message_send", body="for bob, who is no member", target="bob", session_id=session)
    ann("lithos_session_suspend", session_id=session)
    assert eve("lithos_inbox_take", session_id=session) == unknown
    assert "suspended" in bob("lithos_inbox_take", session_id=session)["hint"]  # he has mail in it
    assert "suspended" in ann("lithos_inbox_take", session_id=session)["hint"]


def test_an_agent_learns_nothing_of_a_persons_inbox(client: Any) -> None:
    eve, paul = client("eve"), client(user="paul")
    paul("lithos_inbox_list")
    for person in ("operator", "paul"):
        assert eve("lithos_message_status", agent=person) == "forbidden"
    assert paul("lithos_message_status")["waiting"] == 0


def test_only_one_who_took_a_message_leaves_a_late_reply_and_not_without_end(client: Any) -> None:
    ann, bob, eve = client(agent="ann"), client("bob"), client("eve")
    for each in (ann, bob, eve):
        each("lithos_inbox_list")
    sent = ann("lithos_message_send", body="for bob", target="bob")
    [taken] = bob("lithos_inbox_take")["messages"]
    of = {"message_id": sent["message_id"]}

    def late() -> int:
        return [each["what"] for each in ann("lithos_message_trace", **of)["hops"]].count("late_reply")

    assert eve("lithos_inbox_reply", **of, token=1, body="forged") == "not_found"  # no party, no token: unknown
    assert eve("lithos_inbox_ack", **of, token=1) == "not_found"
    assert bob("lithos_inbox_reply", **of, token=taken["token"] + 1, body="guessed")["reason"] == "claim_lost"
    assert late() == 0
    assert bob("lithos_inbox_ack", **of, token=taken["token"])["success"]
    for _ in range(12):
        assert bob("lithos_inbox_reply", **of, token=taken["token"], body="too late")["reason"] == "settled"
    assert 1 <= late() < 12


def test_the_page_lets_a_signed_in_person_do_what_is_for_persons_and_no_token_of_an_agent(
    lithos: Lithos, url: str, client: Any
) -> None:
    bob, paul = client(agent="bob"), client(user="paul")
    bob("lithos_inbox_list")
    tokens = {
        "plain": {},
        "agent": {"agent": "ann"},
        "both": {"agent": "ann", "user": "paul"},
        "person": {"user": "paul"},
    }
    for who, bound in tokens.items():
        dead = [paul("lithos_message_send", body="x", target="bob")["message_id"] for _ in range(2)]
        for each in bob("lithos_inbox_take", limit=2)["messages"]:
            of = {"message_id": each["message"]["id"], "token": each["token"]}
            bob("lithos_inbox_fail", **of, error="no", retry=False)
        secret = lithos.tokens.new(Call("lithos_token_new"), "laptop", **bound)["token"]
        with httpx.Client(base_url=url, cookies={"lithos-visit": f"t.{secret}"}, headers={"origin": url}) as page:
            sent = page.post("/mail/write", data={"to": "bob", "body": "hello", "priority": "critical", "key": who})
            paths = (f"/mail/dead/{dead[0]}/replay", f"/mail/dead/{dead[1]}/drop", "/mail/read")
            found = [page.post(path, data={"key": f"{who} {path}"}).status_code for path in paths]
        assert (sent.status_code, found) == (303, [303 if who == "person" else 403] * 3), who
        waiting = bob("lithos_inbox_take", limit=5)["messages"]
        [letter] = [each["message"] for each in waiting if each["message"]["payload"]["body"] == "hello"]
        assert letter["source"] == {"plain": "laptop", "person": "paul"}.get(who, "ann")
        assert letter["priority"] == (100 if who == "person" else 75)
        for each in waiting:
            bob("lithos_inbox_ack", message_id=each["message"]["id"], token=each["token"])
