"""Tokens: made, listed, revoked and audited; their secrets kept by nobody."""

from __future__ import annotations

import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.errors import InvalidInput, NotFound
from lithos.tools.caller import Caller
from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases

OPERATOR = Caller(operator=True)
NEW = Call("lithos_token_new")


def test_a_secret_is_kept_nowhere(lithos: Lithos, call: CallTool) -> None:
    made = call("lithos_token_new", _caller=OPERATOR, name="laptop", idempotency_key="k")
    lithos.close()
    secret = made["token"].removeprefix("lithos_").encode()
    files = [path for path in lithos.storage.data_dir.rglob("*") if path.is_file()]
    assert files
    assert not any(secret in path.read_bytes() for path in files)


def test_a_token_is_found_by_its_secret_alone(lithos: Lithos) -> None:
    made = lithos.tokens.new(NEW, "laptop", "read", "anna")
    found = lithos.tokens.find(made["token"])
    assert found is not None
    assert (found["id"], found["scope"], found["agent"]) == (made["id"], "read", "anna")
    assert lithos.tokens.find(made["token"] + "x") is None
    assert lithos.tokens.find("") is None


def test_a_revoked_token_is_forgotten_at_once_even_where_it_was_remembered(lithos: Lithos) -> None:
    made = lithos.tokens.new(NEW, "laptop")
    lithos.tokens.find(made["token"])
    assert lithos.tokens.remembered(made["token"]) is not None
    lithos.tokens.revoke(NEW, made["id"])
    assert lithos.tokens.remembered(made["token"]) is None
    assert lithos.tokens.find(made["token"]) is None
    assert lithos.tokens.list() == {"tokens": []}
    assert not lithos.tokens.exist()


def test_a_token_that_another_host_revoked_is_remembered_for_seconds_only(lithos: Lithos, clock: FakeClock) -> None:
    made = lithos.tokens.new(NEW, "laptop")
    lithos.tokens.find(made["token"])
    clock.advance(3)
    assert lithos.tokens.remembered(made["token"]) is None


def test_the_list_shows_when_a_token_was_used_last(lithos: Lithos, clock: FakeClock) -> None:
    made = lithos.tokens.new(NEW, "laptop")
    assert lithos.tokens.list()["tokens"][0]["last_used_at"] is None
    clock.advance(60)
    lithos.tokens.find(made["token"])
    lithos.tokens.flush()
    listed = lithos.tokens.list()["tokens"][0]
    assert listed["last_used_at"] == "2026-01-01T00:01:00Z"
    assert "token" not in listed


def test_making_and_revoking_are_audited_without_the_secret(lithos: Lithos) -> None:
    made = lithos.tokens.new(NEW, "laptop", "full", "anna")
    lithos.tokens.revoke(Call("lithos_token_revoke"), made["id"])
    events = lithos.storage.database.read(
        lambda tx: tx.all("SELECT * FROM events WHERE type = 'token' ORDER BY sequence")
    )
    assert [(event["op"], event["thing"]) for event in events] == [("create", made["id"]), ("revoke", made["id"])]
    assert made["token"] not in str(events)


def test_what_does_not_exist_cannot_be_revoked(lithos: Lithos) -> None:
    with pytest.raises(NotFound):
        lithos.tokens.revoke(NEW, "nothing")


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_token_needs_a_name(lithos: Lithos, name: str) -> None:
    with pytest.raises(InvalidInput):
        lithos.tokens.new(NEW, name)
