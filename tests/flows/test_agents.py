"""Who writes: known from the first call, told about on request."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import InvalidInput, KeyReused, NotFound
from lithos.settings import LithosConfig
from lithos.storage import Database
from tests.conftest import CallTool
from tests.support.waiting import until

pytestmark = pytest.mark.both_databases


def test_the_first_registration_creates_and_the_next_one_does_not(call: CallTool) -> None:
    assert call("lithos_agent_register", id="a", name="Anna") == {"success": True, "created": True}
    assert call("lithos_agent_register", id="a") == {"success": True, "created": False}


def test_what_is_left_out_stays_as_it_was(call: CallTool, clock: FakeClock) -> None:
    call("lithos_agent_register", id="a", name="Anna", type="free text!", metadata={"v": 1})
    clock.advance(5)
    call("lithos_agent_register", id="a", name="Anna B")
    assert call("lithos_agent_info", id="a") == {
        "id": "a",
        "name": "Anna B",
        "type": "free text!",
        "first_seen_at": "2026-01-01T00:00:00Z",
        "last_seen_at": "2026-01-01T00:00:05Z",
        "metadata": {"v": 1},
    }
    call("lithos_agent_register", id="a", metadata={})
    assert call("lithos_agent_info", id="a")["metadata"] == {}


def test_any_call_that_names_an_agent_makes_it_known_at_once(call: CallTool, clock: FakeClock) -> None:
    call("lithos_stats", agent="reader")
    info = call("lithos_agent_info", id="reader")
    assert (info["name"], info["type"], info["metadata"]) == (None, None, {})
    clock.advance(60)
    call("lithos_stats", agent="reader")
    info = call("lithos_agent_info", id="reader")
    assert info["first_seen_at"] == "2026-01-01T00:00:00Z"
    assert info["last_seen_at"] == "2026-01-01T00:01:00Z"
    assert call("lithos_stats")["agents"] == 1


def test_an_agent_that_was_only_seen_is_no_new_one_when_it_registers(call: CallTool) -> None:
    call("lithos_stats", agent="reader")
    assert call("lithos_agent_register", id="reader")["created"] is False


def test_who_was_seen_is_written_behind_the_calls(
    lithos: Lithos, call: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[Any] = []
    original = Database.write

    def write(self: Database, work: Any, **more: Any) -> Any:
        if self is lithos.storage.database:  # the notes' own catalogue is filled when it is first asked
            writes.append(work)
        return original(self, work, **more)

    monkeypatch.setattr(Database, "write", write)
    call("lithos_stats", agent="reader")
    assert len(writes) == 1  # that it is known, once
    call("lithos_stats", agent="reader")
    call("lithos_agent_list")
    call("lithos_agent_info", id="reader")
    assert len(writes) == 1
    lithos.agents.flush()
    lithos.agents.flush()
    assert len(writes) == 2


def test_who_was_seen_is_there_after_a_clean_stop_and_a_new_start(config: LithosConfig, clock: FakeClock) -> None:
    first = open_lithos(config, clock=clock)
    first.agents.seen("a")
    first.close()
    clock.advance(10)
    again = open_lithos(config, clock=clock)
    try:
        assert again.agents.info("a")["last_seen_at"] == "2026-01-01T00:00:00Z"
        again.agents.seen("a")
        assert again.agents.info("a")["last_seen_at"] == "2026-01-01T00:00:10Z"
        assert again.agents.info("a")["first_seen_at"] == "2026-01-01T00:00:00Z"
    finally:
        again.close()


def test_a_job_writes_who_was_seen_while_the_server_runs(lithos: Lithos, clock: FakeClock) -> None:
    lithos.agents.seen("a")
    clock.advance(1)
    lithos.agents.seen("a")
    lithos.start()

    def written() -> bool:
        rows = lithos.storage.database.read(lambda tx: tx.all("SELECT first_seen_at, last_seen_at FROM agents"))
        return [each["last_seen_at"] - each["first_seen_at"] for each in rows] == [1_000_000]

    assert until(written, "the row of the agent")


def test_the_list_has_the_last_seen_first_and_filters_and_pages(call: CallTool, clock: FakeClock) -> None:
    for agent, kind in (("a", "x"), ("b", "y"), ("c", "x")):
        call("lithos_agent_register", id=agent, type=kind)
        clock.advance(60)
    call("lithos_stats", agent="a")
    listed = call("lithos_agent_list")
    assert [each["id"] for each in listed["agents"]] == ["a", "c", "b"]
    assert set(listed["agents"][0]) == {"id", "name", "type", "last_seen_at"}
    assert [each["id"] for each in call("lithos_agent_list", type="x")["agents"]] == ["a", "c"]
    since = call("lithos_agent_list", active_since="2026-01-01T00:02:00Z")
    assert [each["id"] for each in since["agents"]] == ["a", "c"]
    page = call("lithos_agent_list", limit=1, offset=1)
    assert ([each["id"] for each in page["agents"]], page["total"]) == (["c"], 3)


def test_an_unknown_agent_is_not_found(call: CallTool) -> None:
    with pytest.raises(NotFound, match="nobody"):
        call("lithos_agent_info", id="nobody")


@pytest.mark.parametrize("bad", ["", " ", "x" * 201, "a\nb", "a\x07"])
def test_a_name_that_cannot_be_shown_is_refused_and_not_noted(call: CallTool, bad: str) -> None:
    with pytest.raises(InvalidInput):
        call("lithos_agent_register", id=bad)
    with pytest.raises(InvalidInput):
        call("lithos_stats", agent=bad)
    assert call("lithos_stats")["agents"] == 0


def test_a_time_that_is_none_is_refused(call: CallTool) -> None:
    with pytest.raises(InvalidInput, match="active_since"):
        call("lithos_agent_list", active_since="some day")


def test_a_repeated_registration_under_one_key_has_one_effect(call: CallTool, lithos: Lithos) -> None:
    first = call("lithos_agent_register", id="a", name="Anna", idempotency_key="k")
    assert call("lithos_agent_register", id="a", name="Anna", idempotency_key="k") == first
    with pytest.raises(KeyReused):
        call("lithos_agent_register", id="a", name="Other", idempotency_key="k")
    events = lithos.storage.database.read(lambda tx: tx.all("SELECT op FROM events WHERE type = 'agent'"))
    assert events == [{"op": "create"}]


def test_a_registration_leaves_an_event_with_its_correlation_ids(call: CallTool, lithos: Lithos) -> None:
    call("lithos_agent_register", id="a", tool_call_id="t-1", transaction_id="x-1")
    event = lithos.storage.database.read(lambda tx: tx.one("SELECT * FROM events WHERE type = 'agent'"))
    assert event is not None
    assert (event["tool"], event["agent"], event["thing"]) == ("lithos_agent_register", "a", "a")
    assert (event["tool_call_id"], event["transaction_id"]) == ("t-1", "x-1")


def test_stats_have_the_fields_of_the_spec(call: CallTool) -> None:
    stats = call("lithos_stats")
    fields = {"documents", "chunks", "agents", "active_tasks", "open_claims", "tags"}
    assert {name: stats[name] for name in fields} == dict.fromkeys(fields, 0)
    assert stats["bytes"]["coordination"] > 0
