"""What a guest remembers of its client, so that a new host can go on where the old one ended."""

from __future__ import annotations

import json
from typing import Any

from lithos.host.guest.handshake_replay import Dialogue
from lithos.host.wire import LONGEST_LINE, MODERN_MARK


def text(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def messages(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def answer(key: int | str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": key, "result": {}}, separators=(",", ":")).encode() + b"\n"


def begun(once: bool = True) -> Dialogue:
    """A legacy client that has shaken hands with its host."""
    dialogue = Dialogue()
    dialogue.once = once
    dialogue.from_client(text(id=0, method="initialize", params={"clientInfo": {"name": "x"}}), True)
    dialogue.from_host(answer(0))
    dialogue.from_client(text(method="notifications/initialized"), True)
    return dialogue


def call(key: int | str, tool: str = "lithos_write") -> bytes:
    return text(id=key, method="tools/call", params={"name": tool})


def test_a_line_for_a_linked_host_is_passed_on_unchanged() -> None:
    line = call(1)
    assert Dialogue().from_client(line, True) == (line, b"")


def test_a_line_without_a_host_waits_and_is_not_counted_as_sent() -> None:
    dialogue = Dialogue()
    assert dialogue.from_client(call(1), False) == (b"", b"")
    assert dialogue.resent() == []
    assert dialogue.replay() == call(1)


def test_the_handshake_is_replayed_under_our_own_ids_and_its_answer_swallowed() -> None:
    dialogue = begun()
    dialogue.lost(clean=False)
    replayed = messages(dialogue.replay())
    assert [each["method"] for each in replayed] == ["initialize", "notifications/initialized"]
    assert replayed[0]["id"] == "lithos-replay-0"
    assert replayed[0]["params"] == {"clientInfo": {"name": "x"}}
    assert dialogue.from_host(answer("lithos-replay-0")) is False
    assert dialogue.from_host(answer("lithos-replay-0")) is True


def test_an_unanswered_handshake_is_resent_as_the_clients_own() -> None:
    dialogue = Dialogue()
    dialogue.from_client(text(id=0, method="initialize"), True)
    assert dialogue.lost(clean=False) == b""
    assert [each["id"] for each in messages(dialogue.replay())] == [0]


def test_log_level_and_live_subscriptions_are_replayed() -> None:
    dialogue = begun()
    for method, params in (
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "a"}),
        ("resources/subscribe", {"uri": "b"}),
        ("resources/unsubscribe", {"uri": "a"}),
    ):
        dialogue.from_client(text(id=9, method=method, params=params), True)
        dialogue.from_host(answer(9))
    dialogue.lost(clean=False)
    methods = [(each["method"], each.get("params", {}).get("uri")) for each in messages(dialogue.replay())]
    assert methods[2:] == [("logging/setLevel", None), ("resources/subscribe", "b")]


def test_a_call_in_flight_is_resent_once_and_told_to_the_next_host() -> None:
    dialogue = begun()
    dialogue.from_client(call(7), True)
    assert dialogue.lost(clean=False) == b""
    assert dialogue.resent() == [7]
    assert messages(dialogue.replay())[-1]["id"] == 7


def test_a_call_that_kills_its_host_twice_gets_a_retryable_tool_error() -> None:
    dialogue = begun()
    dialogue.from_client(call("seven"), True)
    dialogue.lost(clean=False)
    dialogue.replay()
    [told] = messages(dialogue.lost(clean=False))
    assert told["id"] == "seven"
    assert told["result"]["isError"] is True
    assert told["result"]["structuredContent"]["error"]["code"] == "host_restarted"
    assert told["result"]["structuredContent"]["error"]["retryable"] is True
    assert dialogue.open == {}


def test_without_a_record_of_deliveries_only_reads_are_resent() -> None:
    dialogue = begun(once=False)
    dialogue.from_client(call(1), True)
    dialogue.from_client(text(id=2, method="tools/list"), True)
    assert [each["id"] for each in messages(dialogue.lost(clean=False))] == [1]
    assert dialogue.resent() == [2]


def test_after_a_goodbye_nothing_counts_as_a_second_attempt() -> None:
    dialogue = begun()
    dialogue.from_client(call(1), True)
    for _ in range(5):
        assert dialogue.lost(clean=True) == b""
        assert dialogue.resent() == []
        dialogue.replay()
    assert dialogue.lost(clean=False) == b""
    assert dialogue.resent() == [1]


def test_a_subscription_ends_with_its_host_and_is_never_resent() -> None:
    dialogue = begun()
    dialogue.from_client(text(id=3, method="subscriptions/listen"), True)
    [told] = messages(dialogue.lost(clean=True))
    assert told["id"] == 3 and "listen again" in told["error"]["message"]


def test_a_subscription_that_no_host_has_seen_waits_for_one() -> None:
    dialogue = begun()
    dialogue.from_client(text(id=3, method="subscriptions/listen"), False)
    assert dialogue.lost(clean=False) == b""
    assert messages(dialogue.replay())[-1]["id"] == 3


def test_a_cancelled_call_is_not_resent() -> None:
    dialogue = begun()
    dialogue.from_client(call(1), True)
    dialogue.from_client(text(method="notifications/cancelled", params={"requestId": 1}), True)
    dialogue.lost(clean=False)
    assert dialogue.resent() == []


def test_ids_of_both_types_are_told_apart() -> None:
    dialogue = begun()
    dialogue.from_client(call(1), True)
    dialogue.from_client(call("1"), True)
    dialogue.from_host(answer("1"))
    dialogue.lost(clean=False)
    assert dialogue.resent() == [1]


def test_an_answer_to_a_question_of_a_dead_host_is_dropped() -> None:
    dialogue = begun()
    reply = text(id=1, result={"action": "accept"})
    assert dialogue.from_client(reply, True) == (b"", b"")
    dialogue.from_host(text(id=1, method="elicitation/create"))
    assert dialogue.from_client(reply, True) == (reply, b"")
    dialogue.lost(clean=False)
    assert dialogue.from_client(reply, True) == (b"", b"")


def test_a_malformed_line_is_answered_and_never_reaches_the_host() -> None:
    for line, code in ((b"{nonsense\n", -32700), (b"[1, 2]\n", -32600), (b'"word"\n', -32600)):
        to_host, told = Dialogue().from_client(line, True)
        assert to_host == b""
        assert messages(told)[0]["error"]["code"] == code


def test_a_request_with_a_strange_id_is_refused_instead_of_never_answered() -> None:
    dialogue = Dialogue()
    for key in ([1], {"a": 1}, None, True, 1.5, "\ud83d"):
        to_host, told = dialogue.from_client(text(id=key, method="tools/list"), True)
        assert to_host == b""
        assert messages(told)[0]["error"]["code"] == -32600
    assert dialogue.open == {}


def test_a_request_that_no_host_could_take_is_refused_by_its_id() -> None:
    deep = b'{"jsonrpc": "2.0", "id": 41, "method": "tools/call", "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for line in (deep, text(id=41, method=5)):
        to_host, told = Dialogue().from_client(line, True)
        assert to_host == b""
        assert (messages(told)[0]["id"], messages(told)[0]["error"]["code"]) == (41, -32600)


def test_half_a_character_in_the_handshake_is_replayed() -> None:
    dialogue = Dialogue()
    dialogue.from_client(text(id=0, method="initialize", params={"clientInfo": {"name": "\ud83d"}}), True)
    dialogue.from_host(text(id=0, result={}))
    assert messages(dialogue.replay())[0]["params"]["clientInfo"]["name"] == "\ud83d"


def test_a_message_that_is_too_long_is_refused_by_its_id() -> None:
    line = text(id=41, method="tools/call", params={"text": "x" * LONGEST_LINE})
    to_host, told = Dialogue().from_client(line, True)
    assert to_host == b""
    assert messages(told)[0]["id"] == 41
    assert messages(told)[0]["error"]["data"]["code"] == "too_large"


def test_a_lost_call_of_the_newest_era_is_marked_complete() -> None:
    dialogue = Dialogue()
    line = text(id=1, method="tools/call", params={"_meta": {MODERN_MARK.decode(): "2026-07-28"}})
    dialogue.from_client(line, True)
    [told] = messages(dialogue.lost(clean=False))
    assert told["result"]["resultType"] == "complete"


def test_answers_in_any_shape_close_their_request() -> None:
    dialogue = begun()
    for key in (1, 'a\\b"c', -5):
        dialogue.from_client(call(key), True)
    dialogue.from_host(answer(1))
    dialogue.from_host(answer('a\\b"c'))
    dialogue.from_host(json.dumps({"id": -5, "error": {"code": 1}, "jsonrpc": "2.0"}).encode() + b"\n")
    assert dialogue.open == {}
