"""What a guest remembers of its client, so that a new host can go on where the old one ended."""

from __future__ import annotations

import json
from typing import Any

from lithos.host.guest.handshake_replay import HandshakeReplay
from lithos.host.wire import LONGEST_LINE, MODERN_MARK


def text(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def messages(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def answer(key: int | str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": key, "result": {}}, separators=(",", ":")).encode() + b"\n"


def begun(once: bool = True) -> HandshakeReplay:
    """A legacy client that has shaken hands with its host."""
    replay = HandshakeReplay()
    replay.once = once
    replay.from_client(text(id=0, method="initialize", params={"clientInfo": {"name": "x"}}), True)
    replay.from_host(answer(0))
    replay.from_client(text(method="notifications/initialized"), True)
    return replay


def call(key: int | str, tool: str = "lithos_write") -> bytes:
    return text(id=key, method="tools/call", params={"name": tool})


def test_a_line_for_a_linked_host_is_passed_on_unchanged() -> None:
    line = call(1)
    assert HandshakeReplay().from_client(line, True) == (line, b"")


def test_a_line_without_a_host_waits_and_is_not_counted_as_sent() -> None:
    replay = HandshakeReplay()
    assert replay.from_client(call(1), False) == (b"", b"")
    assert replay.resent() == []
    assert replay.replay() == call(1)


def test_the_handshake_is_replayed_under_our_own_ids_and_its_answer_swallowed() -> None:
    replay = begun()
    replay.lost(clean=False)
    replayed = messages(replay.replay())
    assert [each["method"] for each in replayed] == ["initialize", "notifications/initialized"]
    assert replayed[0]["id"] == "lithos-replay-0"
    assert replayed[0]["params"] == {"clientInfo": {"name": "x"}}
    assert replay.from_host(answer("lithos-replay-0")) is False
    assert replay.from_host(answer("lithos-replay-0")) is True


def test_an_unanswered_handshake_is_resent_as_the_clients_own() -> None:
    replay = HandshakeReplay()
    replay.from_client(text(id=0, method="initialize"), True)
    assert replay.lost(clean=False) == b""
    assert [each["id"] for each in messages(replay.replay())] == [0]


def test_log_level_and_live_subscriptions_are_replayed() -> None:
    replay = begun()
    for method, params in (
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "a"}),
        ("resources/subscribe", {"uri": "b"}),
        ("resources/unsubscribe", {"uri": "a"}),
    ):
        replay.from_client(text(id=9, method=method, params=params), True)
        replay.from_host(answer(9))
    replay.lost(clean=False)
    methods = [(each["method"], each.get("params", {}).get("uri")) for each in messages(replay.replay())]
    assert methods[2:] == [("logging/setLevel", None), ("resources/subscribe", "b")]


def test_a_call_in_flight_is_resent_once_and_named_to_the_next_host() -> None:
    replay = begun()
    replay.from_client(call(7), True)
    assert replay.lost(clean=False) == b""
    assert replay.resent() == [7]
    assert messages(replay.replay())[-1]["id"] == 7


def test_a_call_that_kills_its_host_twice_gets_a_retryable_tool_error() -> None:
    replay = begun()
    replay.from_client(call("seven"), True)
    replay.lost(clean=False)
    replay.replay()
    [told] = messages(replay.lost(clean=False))
    assert told["id"] == "seven"
    assert told["result"]["isError"] is True
    assert told["result"]["structuredContent"]["error"]["code"] == "host_restarted"
    assert told["result"]["structuredContent"]["error"]["retryable"] is True
    assert replay.open == {}


def test_without_a_record_of_deliveries_only_reads_are_resent() -> None:
    replay = begun(once=False)
    replay.from_client(call(1), True)
    replay.from_client(text(id=2, method="tools/list"), True)
    assert [each["id"] for each in messages(replay.lost(clean=False))] == [1]
    assert replay.resent() == [2]


def test_after_a_goodbye_nothing_counts_as_a_second_attempt() -> None:
    replay = begun()
    replay.from_client(call(1), True)
    for _ in range(5):
        assert replay.lost(clean=True) == b""
        assert replay.resent() == []
        replay.replay()
    assert replay.lost(clean=False) == b""
    assert replay.resent() == [1]


def test_a_subscription_ends_with_its_host_and_is_never_resent() -> None:
    replay = begun()
    replay.from_client(text(id=3, method="subscriptions/listen"), True)
    [told] = messages(replay.lost(clean=True))
    assert told["id"] == 3 and "listen again" in told["error"]["message"]


def test_a_subscription_that_no_host_has_seen_waits_for_one() -> None:
    replay = begun()
    replay.from_client(text(id=3, method="subscriptions/listen"), False)
    assert replay.lost(clean=False) == b""
    assert messages(replay.replay())[-1]["id"] == 3


def test_a_cancelled_call_is_not_resent() -> None:
    replay = begun()
    replay.from_client(call(1), True)
    replay.from_client(text(method="notifications/cancelled", params={"requestId": 1}), True)
    replay.lost(clean=False)
    assert replay.resent() == []


def test_ids_of_both_types_are_kept_apart() -> None:
    replay = begun()
    replay.from_client(call(1), True)
    replay.from_client(call("1"), True)
    replay.from_host(answer("1"))
    replay.lost(clean=False)
    assert replay.resent() == [1]


def test_an_answer_to_a_question_of_a_dead_host_is_dropped() -> None:
    replay = begun()
    reply = text(id=1, result={"action": "accept"})
    assert replay.from_client(reply, True) == (b"", b"")
    replay.from_host(text(id=1, method="elicitation/create"))
    assert replay.from_client(reply, True) == (reply, b"")
    replay.lost(clean=False)
    assert replay.from_client(reply, True) == (b"", b"")


def test_a_malformed_line_is_answered_and_never_reaches_the_host() -> None:
    for line, code in ((b"{nonsense\n", -32700), (b"[1, 2]\n", -32600), (b'"word"\n', -32600)):
        to_host, told = HandshakeReplay().from_client(line, True)
        assert to_host == b""
        assert messages(told)[0]["error"]["code"] == code


def test_a_request_with_a_strange_id_is_refused_instead_of_never_answered() -> None:
    replay = HandshakeReplay()
    for key in ([1], {"a": 1}, None, True, 1.5, "\ud83d"):
        to_host, told = replay.from_client(text(id=key, method="tools/list"), True)
        assert to_host == b""
        assert messages(told)[0]["error"]["code"] == -32600
    assert replay.open == {}


def test_a_request_that_no_host_could_take_is_refused_by_its_id() -> None:
    deep = b'{"jsonrpc": "2.0", "id": 41, "method": "tools/call", "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for line in (deep, text(id=41, method=5)):
        to_host, told = HandshakeReplay().from_client(line, True)
        assert to_host == b""
        assert (messages(told)[0]["id"], messages(told)[0]["error"]["code"]) == (41, -32600)


def test_half_a_character_in_the_handshake_is_replayed() -> None:
    replay = HandshakeReplay()
    replay.from_client(text(id=0, method="initialize", params={"clientInfo": {"name": "\ud83d"}}), True)
    replay.from_host(text(id=0, result={}))
    assert messages(replay.replay())[0]["params"]["clientInfo"]["name"] == "\ud83d"


def test_a_message_that_is_too_long_is_refused_by_its_id() -> None:
    line = text(id=41, method="tools/call", params={"text": "x" * LONGEST_LINE})
    to_host, told = HandshakeReplay().from_client(line, True)
    assert to_host == b""
    assert messages(told)[0]["id"] == 41
    assert messages(told)[0]["error"]["data"]["code"] == "too_large"


def test_a_lost_call_of_the_newest_era_is_marked_complete() -> None:
    replay = HandshakeReplay()
    line = text(id=1, method="tools/call", params={"_meta": {MODERN_MARK.decode(): "2026-07-28"}})
    replay.from_client(line, True)
    [told] = messages(replay.lost(clean=False))
    assert told["result"]["resultType"] == "complete"


def test_answers_in_any_shape_close_their_request() -> None:
    replay = begun()
    for key in (1, 'a\\b"c', -5):
        replay.from_client(call(key), True)
    replay.from_host(answer(1))
    replay.from_host(answer('a\\b"c'))
    replay.from_host(json.dumps({"id": -5, "error": {"code": 1}, "jsonrpc": "2.0"}).encode() + b"\n")
    assert replay.open == {}
