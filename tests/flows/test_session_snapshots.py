"""Snapshots of sessions and checkpoints of agents: what is left for those who come later, on any machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.chronicle import POLICIES
from lithos.core.call import Call
from lithos.core.canonical import canonical_hash, canonical_json
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Forbidden, InvalidInput, LithosError, TooLarge, Unsupported
from lithos.ledger import Draft
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.conftest import PATIENT, CallTool
from tests.flows.test_session_isolation import decide, query
from tests.flows.test_sessions import started

pytestmark = pytest.mark.both_databases

CHANGES: dict[str, Any] = {
    "current_objective": "limit requests",
    "current_step": "write tests",
    "next_steps": ["benchmark", "document"],
    "blockers": ["no staging server"],
    "modified_files": {"add": {"src/limit.py": {"lines": 40}}},
    "message_history": ["a", "a"],
    "user_wants": [{"intent": "fast"}],
    "active_dag_id": "dag-1",
    "dag_history": ["dag-0"],
    "branch_name": "limits",
}


def full(call: CallTool) -> str:
    session = started(call, metadata={"ticket": 7}, base_branch="main", config={"max_engineers": 3})
    call("lithos_session_context_update", agent="ann", changes=CHANGES)
    decide(call, "ann", "use a token bucket")
    call("mentisdb_append", thought_type="Mistake", content="forgot the clock", agent_id="ann", refs=[0])
    call("lithos_session_suspend", agent="ann")
    return session


def elsewhere(path: Path, clock: FakeClock) -> Lithos:
    return open_lithos(LithosConfig(storage=StorageSettings(data_dir=path / "other"), search=PATIENT), clock=clock)


def test_a_session_moves_to_another_machine_with_all_it_has(call: CallTool, tmp_path: Path, clock: FakeClock) -> None:
    session = full(call)
    kept = call("lithos_session_snapshot", session_id=session, agent="ann", with_entries=True)
    assert kept["entries"] == 2
    before = {tier: briefing(call, session, tier) for tier in ("micro", "standard", "full")}
    shown = call("lithos_session_get", session_id=session, agent="ann")
    other = elsewhere(tmp_path, clock)

    def there(name: str, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(other, name, arguments)

    done = there("lithos_session_restore", snapshot=kept["snapshot"], with_entries=True, agent="ann")
    assert (done["session_id"], done["state"], done["entries"]) == (session, "suspended", 2)
    assert {tier: briefing(there, session, tier) for tier in before} == before
    again = there("lithos_session_get", session_id=session, agent="ann")
    assert again == shown
    assert query(there, session_id=session) == ["forgot the clock", "use a token bucket"]
    assert query(there, "eve") == []
    with pytest.raises(Conflict):
        there("lithos_session_restore", snapshot=kept["snapshot"], agent="ann")
    assert there("lithos_session_resume", session_id=session, agent="ann")["state"] == "active"
    other.close()


def briefing(call: CallTool, session: str, tier: str) -> str:
    """Without what changed outside."""
    text = call("lithos_get_briefing", session_id=session, agent="ann", tier=tier)["briefing"]
    return str(text).partition("## Changed outside since")[0].rstrip()


@pytest.mark.sqlite_only("the ledger's own: no database is asked")
def test_nothing_of_a_long_session_is_left_out(call: CallTool, lithos: Lithos) -> None:
    session = started(call)
    for number in range(1_003):
        draft = Draft("Decision", f"decision {number}", "ann", session_id=session)
        lithos.ledger.append(Call("t", agent="ann"), draft, chain_key="history")
    kept = call("lithos_session_snapshot", session_id=session, agent="ann", with_entries=True)
    assert kept["entries"] == 1_003
    assert call("lithos_session_summary", session_id=session, agent="ann")["entries"] == {"Decision": 1_003}
    assert call("lithos_session_complete", session_id=session, agent="ann")["promoted"] == 1_003


def test_as_new_makes_a_second_session_with_its_own_entries(call: CallTool) -> None:
    session = full(call)
    kept = call("lithos_session_snapshot", session_id=session, agent="ann", with_entries=True)["snapshot"]
    given = {"snapshot": kept, "as_new": True, "with_entries": True, "agent": "ann", "idempotency_key": "k"}
    new = call("lithos_session_restore", **given)["session_id"]
    assert new != session
    assert call("lithos_session_restore", **given)["session_id"] == new
    for each in (session, new):
        assert query(call, session_id=each) == ["forgot the clock", "use a token bucket"]
    first = call("lithos_session_get", session_id=session, agent="ann")
    second = call("lithos_session_get", session_id=new, agent="ann")
    assert first["context"] == second["context"]


def test_a_snapshot_is_canonical_and_the_same_twice(call: CallTool) -> None:
    session = full(call)
    one, two = (call("lithos_session_snapshot", session_id=session, agent="ann") for _ in range(2))
    assert one == two
    whole = json.loads(one["snapshot"])
    assert canonical_json(whole).decode() == one["snapshot"]
    assert whole["hash"] == canonical_hash(whole["snapshot"]) == one["hash"]
    assert "guide_state" not in whole["snapshot"]


def spoilt(text: str, how: str) -> str:
    whole = json.loads(text)
    if how == "cut":
        return text[: len(text) // 2]
    if how == "changed":
        return text.replace("limit requests", "limit  requests")
    if how == "hash and text changed, entry not":
        lines = whole["snapshot"]["archivalist_state"]["entries"]
        lines[0] = lines[0].replace("token bucket", "leaky bucket")
    if how == "an entry less":
        whole["snapshot"]["archivalist_state"]["entries"].pop()
    if how == "newer":
        whole["version"] = 2
    if how == "no session":
        del whole["snapshot"]["session"]
    if how == "not whole":
        del whole["snapshot"]["session"]["context"]
    if how == "spaced":
        return json.dumps(whole, indent=1)
    if how == "something else":
        return json.dumps({"x": 1})
    whole["hash"] = canonical_hash(whole["snapshot"])
    return canonical_json(whole).decode()


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("cut", InvalidInput),
        ("changed", InvalidInput),
        ("hash and text changed, entry not", InvalidInput),
        ("an entry less", InvalidInput),
        ("newer", Unsupported),
        ("no session", InvalidInput),
        ("not whole", InvalidInput),
        ("spaced", InvalidInput),
        ("something else", InvalidInput),
    ],
)
def test_a_changed_cut_or_newer_file_is_refused_whole(
    call: CallTool, tmp_path: Path, clock: FakeClock, how: str, kind: type[LithosError]
) -> None:
    session = full(call)
    kept = call("lithos_session_snapshot", session_id=session, agent="ann", with_entries=True)["snapshot"]
    other = elsewhere(tmp_path, clock)
    with pytest.raises(kind):
        given = {"snapshot": spoilt(kept, how), "with_entries": True, "agent": "ann"}
        catalogue().call(other, "lithos_session_restore", given)
    assert catalogue().call(other, "lithos_session_list", {})["total"] == 0
    assert [*other.ledger.keys()] == []
    other.close()


def test_a_section_that_this_version_does_not_know_is_kept(call: CallTool) -> None:
    session = full(call)
    whole = json.loads(call("lithos_session_snapshot", session_id=session, agent="ann")["snapshot"])
    whole["snapshot"]["dag_state"] = {"dag_id": "dag-1", "current_layer": 2}
    whole["hash"] = canonical_hash(whole["snapshot"])
    text = canonical_json(whole).decode()
    done = call("lithos_session_restore", snapshot=text, as_new=True, agent="ann")
    assert done["kept_parts"] == ["dag_state"]
    again = call("lithos_session_snapshot", session_id=done["session_id"], agent="ann")["snapshot"]
    assert json.loads(again)["snapshot"]["dag_state"] == {"dag_id": "dag-1", "current_layer": 2}
    assert "snapshot_parts" not in call("lithos_session_context", session_id=done["session_id"], agent="ann")["context"]


def test_snapshot_and_summary_are_for_members(call: CallTool) -> None:
    session = full(call)
    for tool in ("lithos_session_snapshot", "lithos_session_summary"):
        with pytest.raises(Forbidden):
            call(tool, session_id=session, agent="eve")
    text = call("lithos_session_summary", session_id=session, agent="ann")["summary"]
    for part in ("limit requests", "token bucket", "forgot the clock", "src/limit.py", "benchmark"):
        assert part in text


# Checkpoints

SUMMARIES: dict[str, dict[str, Any]] = {
    "librarian": {"directory_structure": "src/", "tooling": {"lint": ["ruff"]}},
    "guide": {"known_routings": {"where": "librarian"}, "failed_routings": [{"any": "thing"}]},
    "academic": {
        "title": "Limits",
        "abstract": "…",
        "key_findings": [{"topic": "t", "summary": "s", "confidence": "high"}],
    },
    "architect": {
        "original_request": "r",
        "implementation_plan": "p",
        "current_dag": {"id": "d", "total_nodes": 2, "completed_nodes": 1, "current_layer": 1},
    },
    "inspector": {"checks_performed": ["lint"], "issues_found": 1, "issues_resolved": 0},
    "tester": {"pass_count": 3, "fail_count": 0, "tests_run": [{"test_name": "t", "status": "pass"}]},
    "engineer": {
        "old_pipeline_id": "p1",
        "handoff_reason": "engineer_context_95%",
        "engineer_state": {"original_prompt": "do", "accomplished": ["a"], "remaining": ["b"]},
    },
}


@pytest.mark.parametrize("role", SUMMARIES)
def test_a_checkpoint_is_found_again_by_its_role_and_session(call: CallTool, role: str) -> None:
    session = started(call)
    given = {"role": role, "summary": SUMMARIES[role], "context_usage": 0.95, "agent": "ann"}
    stored = call("lithos_store_checkpoint", **given)
    assert stored["category"] == POLICIES[role].category  # type: ignore[index]
    found = call("lithos_latest_checkpoint", role=role, session_id=session, agent="ann")
    assert (found["id"], found["session_id"]) == (stored["id"], session)
    assert SUMMARIES[role].items() <= {**found["summary"], **_given_back(found["summary"], role)}.items()
    thought = call("mentisdb_get_thought", chain_key="history", thought_id=stored["id"], agent="ann")["thought"]
    assert thought["thought_type"] == ("Handoff" if role == "engineer" else "Checkpoint")
    with pytest.raises(Forbidden):
        call("lithos_latest_checkpoint", role=role, session_id=session, agent="eve")
    assert not call("lithos_latest_checkpoint", role=role, agent="eve")["found"]


def _given_back(summary: dict[str, Any], role: str) -> dict[str, Any]:
    """Nested parts come back with their defaults."""
    return {name: value for name, value in SUMMARIES[role].items() if isinstance(value, dict | list)}


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "a field is missing": ("librarian", {}),
    "a field is unknown": ("librarian", {"directory_structure": "x", "directories": 1}),
    "a field is of another type": ("tester", {"pass_count": "3", "fail_count": 0}),
    "a word is unknown": (
        "academic",
        {"title": "t", "abstract": "a", "key_findings": [{"topic": "t", "summary": "s", "confidence": "sure"}]},
    ),
    "less than none": ("inspector", {"checks_performed": [], "issues_found": -1, "issues_resolved": 0}),
}


@pytest.mark.sqlite_only("refused before the database is asked")
@pytest.mark.parametrize("what", WRONG)
def test_a_summary_that_is_not_of_its_structure_is_refused(call: CallTool, what: str) -> None:
    role, summary = WRONG[what]
    with pytest.raises(InvalidInput) as refused:
        call("lithos_store_checkpoint", role=role, summary=summary, context_usage=0.9, agent="ann")
    assert "summary." in refused.value.message
    assert refused.value.hint


@pytest.mark.sqlite_only("refused before the database is asked")
def test_an_open_object_has_a_limit(call: CallTool) -> None:
    summary = {"directory_structure": "x", "tooling": {"x": "y" * 70_000}}
    with pytest.raises(TooLarge):
        call("lithos_store_checkpoint", role="librarian", summary=summary, context_usage=0.9, agent="ann")


@pytest.mark.sqlite_only("no database is asked")
@pytest.mark.parametrize(
    ("role", "usage", "due"),
    [
        ("librarian", 0.24, []),
        ("librarian", 25, ["checkpoint"]),
        ("librarian", 0.75, ["checkpoint", "compact"]),
        ("guide", 0.5, ["checkpoint"]),
        ("guide", 94, ["checkpoint"]),
        ("guide", 0.95, ["checkpoint", "compact"]),
        ("academic", 0.84, []),
        ("architect", 0.85, ["checkpoint"]),
        ("tester", 0.95, ["checkpoint", "compact"]),
        ("engineer", 0.94, []),
        ("engineer", 0.95, ["handoff"]),
    ],
)
def test_the_policy_says_what_is_due(call: CallTool, role: str, usage: float, due: list[str]) -> None:
    assert call("lithos_memory_policy", role=role, context_usage=usage)["due"] == due
