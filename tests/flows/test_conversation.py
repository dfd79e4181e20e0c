"""Two clients over stdio and a person at the keyboard converse through one real host."""

from __future__ import annotations

from typing import Any

from tests.support.guests import GuestProcess, Household, structured


def _client(home: Household, name: str) -> GuestProcess:
    guest = home.guest("--toolsets", "messages", "--agent", name)
    guest.initialize()
    guest.call("lithos_inbox_list")  # an agent is known from its first call
    return guest


def _taken(guest: GuestProcess, **more: Any) -> dict[str, Any]:
    [one] = guest.call("lithos_inbox_take", **more)["messages"]
    return {"message_id": one["message"]["id"], "token": one["token"], "message": one["message"]}


def _reply(guest: GuestProcess, taken: dict[str, Any], body: str) -> dict[str, Any]:
    return guest.call("lithos_inbox_reply", message_id=taken["message_id"], token=taken["token"], body=body)


def test_two_clients_and_a_person_converse(home: Household) -> None:
    ann, bob = _client(home, "ann"), _client(home, "bob")
    question = {"target": "bob", "body": "how many?", "timeout": 50}
    asked = ann.ask("tools/call", {"name": "lithos_message_request", "arguments": question})
    taken = _taken(bob, timeout=50)
    assert (taken["message"]["source"], taken["message"]["bound"]) == ("ann", False)
    assert _reply(bob, taken, "three")["success"]
    reply = structured(ann.answer(asked))["reply"]
    assert (reply["source"], reply["payload"], reply["correlation_id"]) == (
        "bob",
        {"body": "three"},
        taken["message_id"],
    )

    written = home.lithos("message", "send", "ann", "Stop at noon, please.").stdout.strip()
    assert ann.call("lithos_stats")["inbox"] == 1
    taken = _taken(ann)
    assert taken["message_id"] == written
    assert (taken["message"]["source"], taken["message"]["bound"], taken["message"]["person"]) == (
        "operator",
        True,
        True,
    )
    assert _reply(ann, taken, "At noon.")["success"]
    assert "At noon." in home.lithos("inbox", "--take").stdout
    assert "At noon." in home.lithos("message", "list", written).stdout
    assert "ann" in home.lithos("message", "trace", written).stdout
    assert bob.request("tools/call", {"name": "lithos_message_get", "arguments": {"message_id": written}})["result"][
        "isError"
    ]
