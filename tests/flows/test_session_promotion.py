"""What a session learned becomes everyone's when it has proved itself, and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Forbidden, NotFound
from lithos.settings import LithosConfig, SessionSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.flows.test_session_isolation import decide, query
from tests.flows.test_sessions import OPERATOR, bound, started

pytestmark = pytest.mark.both_databases

USER = Caller(agent="pat-agent", user="pat", user_bound=True, owner=False)


@pytest.fixture
def lithos(config: LithosConfig, clock: FakeClock) -> Iterator[Lithos]:
    inspected = config.model_copy(update={"sessions": SessionSettings(inspectors=("ivy",))})
    opened = open_lithos(inspected, clock=clock)
    yield opened
    opened.close()


def found(call: CallTool, agent: str = "eve") -> list[str]:
    """By words and as a list: both engines agree on who sees what."""
    listed = sorted(each["content"] for each in call("mentisdb_search", chain_key="history", agent=agent)["thoughts"])
    searched = call("mentisdb_search", chain_key="history", agent=agent, text="bucket")["thoughts"]
    assert sorted(each["content"] for each in searched) == listed
    return listed


def test_completion_promotes_decisions_patterns_and_resolved_failures(call: CallTool) -> None:
    session = started(call)
    decide(call, "ann", "bucket decision")

    def add(kind: str, content: str, **more: Any) -> int:
        given = {"thought_type": kind, "content": content, "agent_id": "ann", **more}
        return int(call("mentisdb_append", **given)["thought"]["index"])

    add("PatternDetected", "bucket pattern")
    resolved = add("Mistake", "bucket mistake, resolved")
    add("Mistake", "bucket mistake, open")
    add("Idea", "bucket idea")
    add("Correction", "bucket correction", refs=[resolved])
    assert found(call) == []
    done = call("lithos_session_complete", agent="ann", summary="done")
    assert done["promoted"] == 3
    assert found(call) == ["bucket decision", "bucket mistake, resolved", "bucket pattern"]
    shown = call("lithos_session_query", agent="eve", promoted_only=True)["entries"]
    assert {each["session_id"] for each in shown} == {session}


def test_a_failed_session_promotes_nothing(call: CallTool) -> None:
    started(call)
    decide(call, "ann", "bucket decision")
    call("lithos_session_fail", agent="ann", reason="no")
    assert found(call) == []


def test_a_person_or_an_inspector_promotes_and_takes_back(call: CallTool) -> None:
    started(call)
    entry = decide(call, "ann", "bucket decision")["id"]
    given = {"ids": [entry], "reason": "it holds"}
    for who in (Caller(agent="ann"), bound("ann"), Caller(agent="ivy"), bound("eve")):
        with pytest.raises(Forbidden):
            call("lithos_session_promote", _caller=who, **given)
    for who in (OPERATOR, USER, bound("ivy")):
        assert call("lithos_session_promote", _caller=who, **given)["ids"] == [entry]
        assert found(call) == ["bucket decision"]
        assert call("lithos_session_promote", _caller=who, **given)["unchanged"] == [entry]
        assert call("lithos_session_demote", _caller=who, **given)["ids"] == [entry]
        assert found(call) == []
        assert found(call, "ann") == ["bucket decision"]
    events = call("lithos_events_query", type="session", limit=20)["rows"]
    assert [each["op"] for each in events][:2] == ["demote", "promote"]
    assert events[1]["details"]["entries"] == [entry]
    assert events[1]["details"]["reason"] == "it holds"


def test_a_rollback_takes_back_all_of_a_session(call: CallTool) -> None:
    session = started(call)
    for number in range(3):
        decide(call, "ann", f"bucket decision {number}")
    other = started(call, "other", "bob")
    decide(call, "bob", "bucket other")
    for agent in ("ann", "bob"):
        call("lithos_session_complete", agent=agent)
    assert len(found(call)) == 4
    with pytest.raises(Forbidden):
        call("lithos_session_rollback", session_id=session, agent="ann")
    assert len(call("lithos_session_rollback", session_id=session, _caller=OPERATOR)["ids"]) == 3
    assert found(call) == ["bucket other"]
    assert query(call, "eve", session_ids=[other]) == ["bucket other"]
    with pytest.raises(NotFound):
        call("lithos_session_rollback", session_id="x" * 36, _caller=OPERATOR)


def use(call: CallTool, agent: str, entry: str, *, caller: Caller | None = None, outcome: str = "helped") -> None:
    who = caller or bound(agent)
    page = call("lithos_session_query", text="bucket", cross_session=True, _caller=who)
    call("lithos_feedback", used_ids=[entry], outcome=outcome, receipt=page["receipt"], _caller=who)


def in_own_session(call: CallTool, agent: str) -> None:
    made = call("lithos_session_create", name=agent, _caller=bound(agent))["session_id"]
    call("lithos_session_activate", session_id=made, _caller=bound(agent))


def test_three_helpful_uses_in_other_sessions_promote_an_entry(call: CallTool) -> None:
    started(call)
    entry = decide(call, "ann", "bucket decision")["id"]
    for agent in ("u1", "u2", "u3"):
        in_own_session(call, agent)
    use(call, "u1", entry)
    use(call, "u1", entry)  # once per identity
    use(call, "u2", entry, outcome="hurt")
    use(call, "u2", entry)
    for stranger in ("x1", "x2", "x3"):  # unbound: a name is a claim
        started(call, stranger, stranger)
        use(call, stranger, entry, caller=Caller(agent=stranger))
    use(call, "nowhere", entry)  # bound, and in no session
    assert found(call) == []
    use(call, "u3", entry)
    assert found(call) == ["bucket decision"]
    (event,) = [each for each in call("lithos_events_query", type="session")["rows"] if each["op"] == "promote"]
    assert event["details"]["evidence"] == ["u1", "u2", "u3"]


def test_what_was_not_retrieved_is_no_use(call: CallTool) -> None:
    started(call)
    entry = decide(call, "ann", "bucket decision")["id"]
    for agent in ("u1", "u2", "u3"):
        in_own_session(call, agent)
        call("lithos_feedback", used_ids=[entry], outcome="helped", query="q", _caller=bound(agent))
    assert found(call) == []


def test_unknown_entries_and_public_thoughts_cannot_be_promoted(call: CallTool) -> None:
    public = decide(call, "zoe", "bucket public", chain_key="history")["id"]
    for wrong in ("nothing", public):
        with pytest.raises(NotFound):
            call("lithos_session_promote", ids=[wrong], reason="r", _caller=OPERATOR)


def test_a_promotion_reaches_the_index_after_a_kill_before_it(config: LithosConfig, clock: FakeClock) -> None:
    call = catalogue().call
    lithos = open_lithos(config, clock=clock)
    made = call(lithos, "lithos_session_create", {"name": "s", "agent": "ann"})["session_id"]
    call(lithos, "lithos_session_activate", {"session_id": made, "agent": "ann"})
    given = {"thought_type": "Decision", "content": "bucket decision", "agent_id": "ann"}
    entry = call(lithos, "mentisdb_append", given)["thought"]["id"]
    asked = {"chain_key": "history", "text": "bucket", "agent": "eve"}
    assert call(lithos, "mentisdb_search", asked)["thoughts"] == []
    lithos.ledger.rescope = lambda chain_key, places: None  # type: ignore[method-assign]  # the kill
    call(lithos, "lithos_session_promote", {"ids": [entry], "reason": "r"}, OPERATOR)
    lithos.close()
    lithos = open_lithos(config, clock=clock)
    assert len(call(lithos, "mentisdb_search", asked)["thoughts"]) == 1
    lithos.close()
