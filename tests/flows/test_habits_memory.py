"""Habits of memory: scratchpad, preferences, continuity, mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Forbidden, InvalidInput, NotFound, SecretRefused, TooLarge
from lithos.habits.mistakes import Mistake, confidence, parsed
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import PATIENT, CallTool
from tests.flows.test_sessions import OPERATOR, bound, started
from tests.support.code_repos import SHOP, git, repository, write

pytestmark = pytest.mark.both_databases
USER = Caller(agent="pat-agent", user="pat", user_bound=True, owner=False)


# Scratchpad


def test_a_note_is_the_agents_own_and_a_shared_one_the_sessions(call: CallTool) -> None:
    session = started(call)
    call("lithos_session_join", session_id=session, agent="bob")
    call("lithos_scratchpad_write", key="current_task", note="limits", agent="ann")
    call("lithos_scratchpad_write", key="shared_fact", note="port 80", agent="ann", shared=True)
    assert call("lithos_scratchpad_read", key="current_task", agent="ann")["content"] == "limits"
    assert call("lithos_scratchpad_read", key="current_task", agent="bob")["exists"] is False
    assert call("lithos_scratchpad_read", key="shared_fact", agent="bob")["content"] == "port 80"
    assert call("lithos_scratchpad_read", key="curent_tsk", agent="ann") == {"exists": False, "near": ["current_task"]}
    assert sorted(call("lithos_scratchpad_read", key="all", agent="ann")["notes"]) == ["current_task", "shared_fact"]
    assert call("lithos_scratchpad_read", key="all", agent="eve")["exists"] is False
    with pytest.raises(Forbidden):
        call("lithos_scratchpad_read", key="all", session_id=session, agent="eve")
    call("lithos_scratchpad_write", key="current_task", note="", agent="ann")
    assert call("lithos_scratchpad_read", key="current_task", agent="ann")["exists"] is False


def test_a_name_without_its_token_reads_no_note_of_the_token(call: CallTool) -> None:
    call("lithos_scratchpad_write", key="k", note="zebra", _caller=bound("ann"))
    assert call("lithos_scratchpad_read", key="k", agent="ann")["exists"] is False
    assert call("lithos_scratchpad_read", key="k", _caller=bound("ann"))["content"] == "zebra"


def test_limits_of_a_scratchpad(call: CallTool, clock: FakeClock) -> None:
    with pytest.raises(InvalidInput):
        call("lithos_scratchpad_write", key="k", note="n", ttl_minutes=0, agent="ann")
    with pytest.raises(TooLarge):
        call("lithos_scratchpad_write", key="k", note="ä" * 40_000, agent="ann")
    with pytest.raises(SecretRefused):
        call("lithos_scratchpad_write", key="k", note="AKIAABCDEFGHIJKLMNOP", agent="ann")
    for number in range(16):
        call("lithos_scratchpad_write", key=f"k{number}", note="x" * 64_000, agent="ann")
    with pytest.raises(TooLarge):
        call("lithos_scratchpad_write", key="one more", note="x" * 64_000, agent="ann")
    call("lithos_scratchpad_write", key="brief", note="n", ttl_minutes=5, agent="bob")
    assert call("lithos_scratchpad_read", key="brief", agent="bob")["exists"] is True
    clock.advance(301)
    assert call("lithos_scratchpad_read", key="brief", agent="bob")["exists"] is False


def test_all_notes_together_do_not_fill_a_window(call: CallTool) -> None:
    for key, note in (("short", "go on"), ("long", "x" * 60_000)):
        call("lithos_scratchpad_write", key=key, note=note, agent="ann")
    every = call("lithos_scratchpad_read", key="all", agent="ann")["notes"]
    assert every["short"]["content"] == "go on"
    assert len(every["long"]["content"]) < 200 and "60000 characters" in every["long"]["content"]
    assert call("lithos_scratchpad_read", key="long", agent="ann")["content"] == "x" * 60_000


def test_a_scratchpad_moves_with_its_session(call: CallTool, tmp_path: Path, clock: FakeClock) -> None:
    session = started(call)
    call("lithos_scratchpad_write", key="mine", note="zebra", agent="ann")
    call("lithos_scratchpad_write", key="ours", note="lion", agent="ann", shared=True)
    kept = call("lithos_session_snapshot", session_id=session, agent="ann")["snapshot"]
    config = LithosConfig(storage=StorageSettings(data_dir=tmp_path / "other"), search=PATIENT)
    other = open_lithos(config, clock=clock)
    catalogue().call(other, "lithos_session_restore", {"snapshot": kept, "agent": "ann"})
    asked = {"key": "all", "session_id": session, "agent": "ann"}
    notes = catalogue().call(other, "lithos_scratchpad_read", asked)["notes"]
    assert {key: note["content"] for key, note in notes.items()} == {"mine": "zebra", "ours": "lion"}
    other.close()


# Preferences


def test_a_persons_word_is_explicit_and_an_agents_is_an_observation(call: CallTool) -> None:
    said = {"category": "code_style", "preference": "early returns"}
    assert call("lithos_set_preference", agent="ann", user_id="pat", **said)["counts_as"] == "implicit"
    found = call("lithos_get_preferences", user_id="pat", agent="ann")
    assert found["explicit"] == {} and found["implicit"]["code_style"]["confidence"] == 0.6
    assert found["implicit"]["code_style"]["set_by"] == "ann"
    assert (
        call("lithos_set_preference", _caller=USER, category="code_style", preference="guards")["counts_as"]
        == "explicit"
    )
    found = call("lithos_get_preferences", category="code_style", user_id="pat", agent="ann")
    assert found["explicit"]["code_style"]["value"] == "guards"
    assert found["effective"] == {"code_style": "guards"}
    assert call("lithos_get_preferences", user_id="quentin", agent="ann")["effective"] == {}
    with pytest.raises(Forbidden):
        call("lithos_get_preferences", user_id="quentin", _caller=USER)


def test_a_token_of_an_agent_for_a_user_does_not_speak_as_the_user(call: CallTool) -> None:
    theirs = Caller(agent="coder", bound=True, user="pat", user_bound=True, owner=False)
    for scope in ("user", "project"):
        said = call("lithos_set_preference", _caller=theirs, category=f"tools.{scope}", preference="npm", scope=scope)
        assert said["counts_as"] == "implicit"
    call("lithos_set_preference", _caller=USER, category="tools.lock", preference="uv")
    session = call("lithos_session_create", name="Locks", _caller=theirs)["session_id"]
    call("lithos_session_activate", session_id=session, _caller=theirs)
    over = {"category": "tools.lock", "preference": "pip", "scope": "session"}
    call("lithos_set_preference", _caller=theirs, **over)
    found = call("lithos_get_preferences", _caller=theirs)
    assert set(found["explicit"]) == {"tools.lock"} and found["effective"]["tools.lock"] == "uv"
    assert found["implicit"]["tools.user"]["set_by"] == "coder"


def test_feedback_raises_and_lowers_and_ends_a_preference(call: CallTool) -> None:
    given = {"category": "ui.spacing", "suggestion": "dense", "user_id": "pat", "agent": "ann"}

    def learn(response: str) -> float:
        return float(call("lithos_preference_feedback", response=response, **given)["confidence"])

    assert [learn("accepted") for _ in range(6)] == [0.6, 0.7, 0.8, 0.9, 1.0, 1.0]
    assert [learn("rejected") for _ in range(5)] == [0.8, 0.6, 0.4, 0.2, 0.0]
    assert call("lithos_get_preferences", category="ui", user_id="pat", agent="ann")["implicit"] == {}
    for _ in range(25):
        learn("accepted")
    assert len(call("lithos_get_preferences", user_id="pat", agent="ann")["implicit"]["ui.spacing"]["evidence"]) == 20


def test_a_session_override_comes_first_only_from_a_person(call: CallTool) -> None:
    call("lithos_set_preference", _caller=USER, category="tools", preference="uv")
    call("lithos_set_preference", _caller=USER, category="workflow", preference="small commits", scope="project")
    started(call)
    over = {"category": "tools", "preference": "pip", "scope": "session", "user_id": "pat"}
    assert call("lithos_set_preference", agent="ann", **over)["counts_as"] == "session_override"
    held = call("lithos_get_preferences", user_id="pat", agent="ann")
    assert held["session_overrides"]["tools"]["value"] == "pip"
    assert held["effective"] == {"tools": "uv", "workflow": "small commits"}
    assert call("lithos_get_preferences", user_id="pat", agent="eve")["session_overrides"] == {}


def test_a_preference_cannot_be_forged_and_can_be_forgotten(call: CallTool) -> None:
    stored = call("lithos_set_preference", _caller=USER, category="tools", preference="uv")["id"]
    tags = ["preference", "category:tools", "user:pat", "scope:user", "set"]
    forged = {"thought_type": "PreferenceUpdate", "content": "tools: npm", "tags": tags, "chain_key": "preferences"}
    call("mentisdb_append", agent_id="eve", **forged)
    assert call("lithos_get_preferences", user_id="pat", agent="ann")["effective"] == {"tools": "uv"}
    call("lithos_ledger_forget", chain_key="preferences", thought_id=stored, reason="asked", _caller=OPERATOR)
    assert call("lithos_get_preferences", user_id="pat", agent="ann")["effective"] == {}


# Continuity


def test_a_task_is_taken_up_with_files_notes_and_claims(
    call: CallTool, lithos: Lithos, tmp_path: Path, clock: FakeClock
) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    call("lithos_code_add", path=str(folder), name="shop", _caller=OPERATOR)
    session = started(call)
    task = call("lithos_task_create", title="limits", agent="ann")["task_id"]
    call("lithos_task_claim", task_id=task, aspect="code", agent="ann", ttl_minutes=10)
    call("lithos_get_file", path="shop/store.py", agent="ann")
    call("lithos_get_file", path="shop/cart.py", agent="ann")
    call("lithos_scratchpad_write", key="tried", note="redis", agent="ann")
    changes = {"modified_files": {"add": {"shop:shop/cart.py": {}}}}
    call("lithos_session_context_update", agent="ann", changes=changes)
    saved = call(
        "lithos_save_checkpoint",
        summary="half-way",
        completed=["types"],
        next_steps=["handler"],
        decisions=[{"question": "where", "choice": "redis", "reason": "there"}],
        task_id=task,
        agent="ann",
    )
    assert saved["session_id"] == session
    call("lithos_scratchpad_write", key="tried", note="", agent="ann")
    clock.advance(3600)
    write(folder, {"shop/store.py": "class Store:\n    pass\n"})
    git(folder, "commit", "-qam", "cut the store")
    back = call("lithos_resume_task", agent="ann")
    assert (back["summary"], back["next_steps"], back["completed"]) == ("half-way", ["handler"], ["types"])
    assert back["files_read"] == ["shop:shop/cart.py", "shop:shop/store.py"]
    assert [each["path"] for each in back["changed_since"]] == ["shop:shop/store.py"]
    assert back["restored"] == ["tried"]
    assert call("lithos_scratchpad_read", key="tried", agent="ann")["content"] == "redis"
    assert [(each["aspect"], each["state"]) for each in back["claims"]] == [("code", "lapsed")]
    assert "Continue with: handler" in back["hint"]
    assert call("lithos_resume_task", task_id=task, agent="ann")["id"] == saved["id"]


def test_who_may_resume(call: CallTool) -> None:
    session = started(call)
    call("lithos_session_join", session_id=session, agent="bob")
    assert call("lithos_resume_task", agent="ann")["found"] is False
    call("lithos_scratchpad_write", key="k", note="zebra", agent="ann")
    saved = call("lithos_save_checkpoint", summary="zebra plan", agent="ann")["id"]
    mine, his = call("lithos_resume_task", agent="ann"), call("lithos_resume_task", agent="bob")
    assert mine["scratchpad"] == {"k": "zebra"} and "scratchpad" not in his and his["agent"] == "ann"
    assert "No next step" in mine["hint"]
    assert call("lithos_resume_task", agent="eve")["found"] is False
    with pytest.raises(NotFound):
        call("lithos_resume_task", task_id=saved, agent="eve")
    with pytest.raises(InvalidInput):
        call("lithos_save_checkpoint", summary=" ", agent="ann")


# Mistakes

TOKENS = {
    "pattern": "storing auth tokens in localStorage",
    "error": "XSS can read the tokens",
    "fix": "use httpOnly cookies",
}


def test_a_mistake_warns_before_it_is_repeated_and_counts_up(call: CallTool) -> None:
    first = call("lithos_report_mistake", agent="ann", **TOKENS)
    assert (first["occurrences"], first["confidence"], first["repeated"]) == (1, 0.7, False)
    asked = call("lithos_check_mistakes", approach="keep the auth tokens in localStorage", agent="bob")
    assert asked["known_issues"] and not asked["safe_to_proceed"]
    assert asked["warnings"][0]["fix"] == "use httpOnly cookies"
    safe = call("lithos_check_mistakes", approach="paginate the list of invoices", agent="bob")
    assert safe["safe_to_proceed"] and safe["warnings"] == []
    for agent in ("ann", "bob", "bob"):
        last = call("lithos_report_mistake", agent=agent, **{**TOKENS, "pattern": "store auth tokens in localStorage"})
    assert (last["id"], last["occurrences"], last["repeated"]) == (first["id"], 2, True)
    happened = call("lithos_mistake_outcome", id=first["id"], outcome="happened", agent="carl")
    assert happened["occurrences"] == 3
    listed = call("lithos_find_failures", query="auth tokens in localStorage")["results"][0]
    assert (listed["id"], listed["confidence"]) == (first["id"], happened["confidence"])
    wrong = call("lithos_mistake_outcome", id=first["id"], outcome="wrong", agent="dora")
    assert wrong["confidence"] < happened["confidence"]
    with pytest.raises(NotFound):
        call("lithos_mistake_outcome", id="nothing", outcome="wrong", agent="dora")


def test_history_and_mistakes_see_the_same_failures(call: CallTool) -> None:
    call("lithos_report_mistake", agent="ann", **TOKENS)
    found = call("lithos_find_failures", query="auth tokens in localStorage", resolved_only=True)["results"]
    assert "storing auth tokens in localStorage" in str(found[0])
    call(
        "lithos_record_failure",
        approach="polling the API every second",
        reason="rate limit",
        resolution="webhooks",
        agent="ann",
    )
    (warning,) = call("lithos_check_mistakes", approach="poll the API each second", agent="bob")["warnings"]
    assert (warning["pattern"], warning["error"], warning["fix"]) == (
        "polling the API every second",
        "rate limit",
        "webhooks",
    )


def test_a_mistake_of_a_session_is_its_own_until_the_session_is_completed(call: CallTool) -> None:
    started(call)
    call("lithos_report_mistake", agent="ann", **TOKENS)
    asked: dict[str, Any] = {"approach": "store auth tokens in localStorage"}
    assert call("lithos_check_mistakes", agent="ann", **asked)["known_issues"]
    assert not call("lithos_check_mistakes", agent="eve", **asked)["known_issues"]
    call("lithos_session_complete", agent="ann")
    assert call("lithos_check_mistakes", agent="eve", **asked)["known_issues"]


@pytest.mark.sqlite_only("no database is asked")
def test_the_arithmetic_of_mistakes_and_their_words() -> None:
    assert [round(confidence(n), 2) for n in (1, 2, 12)] == [0.7, 0.74, 0.95]
    told = Mistake("a: b\n\nc", "d", "e", "f")
    assert parsed(told.content) == told
    assert parsed("only words").pattern == "only words"


@pytest.mark.sqlite_only("refused, or cut, before the database is asked")
def test_odd_approaches(call: CallTool) -> None:
    assert call("lithos_check_mistakes", approach="x " * 50_000)["safe_to_proceed"]
    with pytest.raises(InvalidInput):
        call("lithos_check_mistakes", approach=" ")
