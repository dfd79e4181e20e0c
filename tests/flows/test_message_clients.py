"""Two stdio clients and a person converse through one host; a kill of the host in between loses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.guests import GuestProcess, Household, household


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Household]:
    with household(tmp_path / "data") as everybody:
        yield everybody


def _client(home: Household, name: str) -> GuestProcess:
    guest = home.guest("--toolsets", "messages", "--agent", name)
    guest.initialize()
    guest.call("lithos_inbox_list")
    return guest


def _taken(guest: GuestProcess) -> dict[str, Any]:
    [found] = guest.call("lithos_inbox_take", timeout=30)["messages"]
    return dict(found)


def test_two_stdio_clients_and_a_person_converse(home: Household) -> None:
    ann, bob = _client(home, "ann"), _client(home, "bob")
    asked = bob.ask("tools/call", {"name": "lithos_inbox_take", "arguments": {"timeout": 50}})  # waits before it comes
    sent = ann.call("lithos_message_send", target="bob", body="Which port does the parser use?")
    assert sent["source"] == "ann"
    [taken] = bob.answer(asked)["result"]["structuredContent"]["messages"]
    assert taken["message"]["bound"] is False  # over stdio a name is a claim
    home.kill_host()
    question = bob.call("lithos_message_send", target="operator", body="Which port?", parent_id=sent["message_id"])
    assert question["correlation_id"] == sent["correlation_id"]
    [shown] = json.loads(home.lithos("inbox", "--take", "--json").stdout)["messages"]
    assert shown["message"]["payload"]["body"] == "Which port?"
    home.lithos("message", "send", "bob", "4711", "--json")
    answered = _taken(bob)
    assert answered["message"]["person"] is True and answered["message"]["source"] == "operator"
    bob.call("lithos_inbox_ack", message_id=answered["message"]["id"], token=answered["token"])
    done = bob.call("lithos_inbox_reply", message_id=sent["message_id"], token=taken["token"], body="4711")
    assert done["success"], done
    reply = _taken(ann)["message"]
    assert (reply["payload"]["body"], reply["parent_id"]) == ("4711", sent["message_id"])
    thread = ann.call(
        "lithos_tool_call", name="lithos_message_thread", arguments={"correlation_id": sent["correlation_id"]}
    )
    assert [each["payload"]["body"] for each in thread["messages"]][-1] == "4711"
