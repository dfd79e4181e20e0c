"""What a session has not promoted stays in it: thoughts, searches, lists, proofs."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Forbidden, InvalidInput, LithosError, NotFound
from lithos.sessions import ScopedRow, Viewer, visible
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.flows.test_sessions import OPERATOR, bound, started

pytestmark = pytest.mark.both_databases


def decide(call: CallTool, agent: str, content: str, **more: Any) -> dict[str, Any]:
    return dict(call("mentisdb_append", thought_type="Decision", content=content, agent_id=agent, **more)["thought"])


def texts(answer: dict[str, Any], rows: str = "thoughts") -> list[str]:
    return [each["content"] for each in answer[rows]]


@pytest.mark.sqlite_only("no database is asked")
def test_the_rule() -> None:
    for row, viewer, seen in (
        (ScopedRow(None), Viewer(), True),
        (ScopedRow("a"), Viewer(), False),
        (ScopedRow("a"), Viewer("b"), False),
        (ScopedRow("a"), Viewer("a"), True),
        (ScopedRow("a", promoted=True), Viewer(), True),
        (ScopedRow("a"), Viewer(everything=True), True),
    ):
        assert visible(row, viewer) is seen


def test_an_entry_belongs_to_the_current_session_and_to_the_chain_of_all_sessions(call: CallTool) -> None:
    session = started(call)
    thought = decide(call, "ann", "use a token bucket")
    assert thought["session_id"] == session
    assert call("mentisdb_head", chain_key="history", agent="ann")["thought_count"] == 1
    elsewhere = decide(call, "ann", "in another chain", chain_key="design")
    assert elsewhere["session_id"] == session
    assert call("mentisdb_get_thought", chain_key="design", thought_index=0, agent="bob")["thought"] is None


READS: dict[str, dict[str, Any]] = {
    "mentisdb_search": {"text": "token bucket"},
    "mentisdb_memory_markdown": {},
    "mentisdb_recent_context": {},
    "mentisdb_traverse_thoughts": {"include_anchor": True},
    "mentisdb_get_genesis_thought": {},
    "mentisdb_get_thought": {"thought_index": 0},
    "mentisdb_head": {},
    "lithos_ledger_context": {"thought_index": 0},
    "lithos_ledger_prove": {"thought_index": 0},
}


@pytest.mark.parametrize("tool", READS)
def test_no_reading_tool_of_the_ledger_shows_it_to_others(call: CallTool, tool: str) -> None:
    started(call)
    decide(call, "ann", "use a token bucket, says zebra")
    started(call, "other", "bob")
    arguments = {"chain_key": "history", **READS[tool]}
    assert "zebra" in str(call(tool, agent="ann", **arguments))
    for who in ("bob", "eve"):
        try:
            answer = str(call(tool, agent=who, **arguments))
        except LithosError as refused:
            answer = str(refused.as_dict())
        assert "zebra" not in answer


def test_recall_changes_and_briefing_show_it_to_its_session_alone(call: CallTool) -> None:
    started(call)
    decide(call, "ann", "the zebra decision about token buckets")
    assert "zebra" in str(call("lithos_recall", query="token buckets decision", agent="ann"))
    assert "zebra" in str(call("lithos_changes", since="1d", asked_by="ann"))
    for tool, more in (
        ("lithos_recall", {"query": "token buckets decision", "agent": "bob"}),
        ("lithos_recall", {"query": "zebra"}),
        ("lithos_changes", {"since": "1d", "asked_by": "bob"}),
        ("lithos_get_briefing", {"topic": "token buckets decision", "agent": "bob"}),
    ):
        assert "zebra decision" not in str(call(tool, **more)), tool


def test_a_search_counts_only_what_its_caller_may_see(call: CallTool) -> None:
    started(call)
    for number in range(5):
        decide(call, "ann", f"token bucket number {number}")
    for more in ({}, {"text": "token bucket"}):
        assert call("mentisdb_search", chain_key="history", agent="bob", **more)["total"] == 0
        assert call("mentisdb_search", chain_key="history", agent="ann", **more)["total"] == 5


def test_an_id_that_is_no_session_scopes_nothing(call: CallTool) -> None:
    for session in ("sprint-7", "0190a0b0-0000-7000-8000-000000000000"):
        assert decide(call, "ann", f"public {session}", session_id=session)["session_id"] == session
    assert len(call("mentisdb_search", agent="bob")["thoughts"]) == 2


def test_only_members_add_entries_and_only_while_the_session_runs(call: CallTool) -> None:
    session = started(call)
    with pytest.raises(Forbidden):
        decide(call, "eve", "pollution", session_id=session)
    with pytest.raises(Forbidden):
        decide(call, "eve", "pollution", session_id=session.upper())
    call("lithos_session_suspend", agent="ann")
    with pytest.raises(Conflict, match="suspended"):
        decide(call, "ann", "half-done")


def test_a_name_that_belongs_to_a_token_sees_nothing_without_it(call: CallTool) -> None:
    session = call("lithos_session_create", name="s", _caller=bound("ann"))["session_id"]
    call("lithos_session_activate", session_id=session, _caller=bound("ann"))
    call("mentisdb_append", thought_type="Decision", content="zebra", _caller=bound("ann"))
    assert texts(call("mentisdb_search", chain_key="history", _caller=bound("ann"))) == ["zebra"]
    assert texts(call("mentisdb_search", chain_key="history", agent="ann")) == []


def query(call: CallTool, agent: str = "ann", **more: Any) -> list[str]:
    return sorted(texts(call("lithos_session_query", agent=agent, **more), "entries"))


@pytest.mark.parametrize("text", [None, "decision"])
def test_the_filters_of_a_query(call: CallTool, text: str | None) -> None:
    given = {} if text is None else {"text": text}
    mine = started(call)
    decide(call, "ann", "decision mine")
    other = started(call, "other", "bob")
    decide(call, "bob", "decision other")
    third = started(call, "third", "carl")
    decide(call, "carl", "decision third")
    assert query(call, **given) == ["decision mine"]
    assert query(call, "eve", **given) == []
    assert query(call, current_only=True, **given) == ["decision mine"]
    assert query(call, cross_session=True, **given) == ["decision mine", "decision other", "decision third"]
    assert query(call, session_ids=[other], **given) == ["decision other"]
    assert query(call, cross_session=True, exclude_sessions=[other, mine], **given) == ["decision third"]
    assert query(call, promoted_only=True, **given) == []
    assert query(call, session_id=mine, **given) == ["decision mine"]
    with pytest.raises(Forbidden):
        query(call, session_id=third, **given)


@pytest.mark.parametrize(
    "pair",
    [
        {"current_only": True, "cross_session": True},
        {"current_only": True, "session_ids": ["X"]},
        {"current_only": True, "exclude_sessions": ["X"]},
        {"session_ids": ["X"], "exclude_sessions": ["X"]},
    ],
)
def test_filters_that_contradict_each_other_are_refused(call: CallTool, pair: dict[str, Any]) -> None:
    session = started(call)
    named = {name: [session] if isinstance(value, list) else value for name, value in pair.items()}
    with pytest.raises(InvalidInput):
        query(call, **named)


def test_a_query_for_a_session_of_another_store_is_refused(call: CallTool) -> None:
    with pytest.raises(NotFound):
        query(call, session_ids=["0190a0b0-0000-7000-8000-000000000000"])
    with pytest.raises(InvalidInput):
        query(call, "eve", current_only=True)


def test_an_operator_who_asks_for_a_session_leaves_an_event(call: CallTool) -> None:
    session = started(call)
    decide(call, "ann", "zebra")
    page = call("lithos_session_query", session_id=session, _caller=OPERATOR)
    assert texts(page, "entries") == ["zebra"]
    assert "look" in [each["op"] for each in call("lithos_events_query", type="session")["rows"]]


def test_the_index_keeps_thoughts_apart_after_a_restart_and_a_rebuild(config: LithosConfig, clock: FakeClock) -> None:
    call = catalogue().call
    lithos = open_lithos(config, clock=clock)
    made = call(lithos, "lithos_session_create", {"name": "s", "agent": "ann"})["session_id"]
    call(lithos, "lithos_session_activate", {"session_id": made, "agent": "ann"})
    given = {"thought_type": "Decision", "content": "the zebra decision", "agent_id": "ann"}
    call(lithos, "mentisdb_append", given)
    lithos.close()
    lithos = open_lithos(config, clock=clock)
    for _ in range(2):
        for who, found in (("ann", 1), ("bob", 0)):
            asked = {"chain_key": "history", "text": "zebra decision", "agent": who}
            assert len(call(lithos, "mentisdb_search", asked)["thoughts"]) == found
        assert lithos.ledger.complete_search() == 0
    lithos.close()


def test_read_only_and_unnamed_callers_see_what_is_public(call: CallTool, lithos: Lithos) -> None:
    started(call)
    decide(call, "ann", "zebra")
    for caller in (Caller(), Caller(read_only=True), Caller(agent="x", bound=True)):
        assert texts(call("mentisdb_search", chain_key="history", _caller=caller)) == []
