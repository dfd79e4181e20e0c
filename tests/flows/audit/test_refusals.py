"""Refusals and names that say what is meant (points 15 and 16 of issue 15), with values that slipped through before."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.core.clock import FakeClock
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Tool
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse

OPERATOR = Caller(operator=True)
BLANKS = ["\n", " \t ", "\u200b", "\u00ad\u2060", "\ufeff", "\u3164", "\u2800", "\u00a0"]


# Blanks


@pytest.mark.parametrize("blank", BLANKS)
def test_evidence_of_nothing_but_blanks_is_called_that(call: CallTool, refused: Refuse, blank: str) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")["id"]
    wish = {"source_entry_id": note, "approved_by": "eve", "actor": "ann", "reason": "r"}
    refusal = refused("lithos_promote", _caller=OPERATOR, **wish, evidence_refs=[blank])
    assert "blank" in refusal["message"] and "is empty" not in refusal["message"]
    done = call("lithos_promote", _caller=OPERATOR, **wish, evidence_refs=[blank, "ok"])
    assert done["evidence_refs"] == ["ok"]
    said = {"type": "profile_update", "op": "seen", "rationale": "r", "agent": "a"}
    assert "blank" in refused("lithos_events_log", **said, evidence_refs=[blank])["message"]


@pytest.mark.parametrize("blank", BLANKS)
def test_a_text_that_shows_nothing_is_empty_everywhere(call: CallTool, refused: Refuse, blank: str) -> None:
    task = call("lithos_task_create", agent="a", title="T")["task_id"]
    call("mentisdb_append", thought_type="Insight", content="x", agent_id="a")
    for tool, arguments in (
        ("lithos_write", {"agent": "a", "title": blank, "content": "x"}),
        ("lithos_write", {"agent": blank, "title": "T", "content": "x"}),
        ("lithos_task_create", {"agent": "a", "title": blank}),
        ("lithos_task_claim", {"agent": "a", "task_id": task, "aspect": blank}),
        ("lithos_finding_post", {"agent": "a", "task_id": task, "summary": blank}),
        ("lithos_agent_register", {"id": blank}),
        ("mentisdb_append", {"thought_type": "Insight", "content": blank, "agent_id": "a"}),
        ("mentisdb_append", {"thought_type": "Insight", "content": "x", "agent_id": "a", "tags": [blank]}),
        ("mentisdb_append", {"thought_type": "Insight", "content": "x", "agent_id": blank}),
        ("mentisdb_append", {"thought_type": "Insight", "content": "x", "agent_id": "a", "chain_key": blank}),
        ("mentisdb_add_agent_alias", {"agent_id": "a", "alias": blank}),
        ("lithos_search", {"query": blank}),
    ):
        assert refused(tool, **arguments)["code"] == "invalid_input", (tool, arguments)


# Bounds


def with_bounds() -> list[Any]:
    return [
        pytest.param(tool, id=tool.name)
        for tool in catalogue()
        if {"since", "until"} <= set(tool.argument_schema["properties"])
    ]


@pytest.mark.parametrize("tool", with_bounds())
@pytest.mark.parametrize(
    ("since", "until"), [("2026-01-02", "2026-01-01"), ("2025-06-01T12:00:01Z", "2025-06-01T14:00:00+02:00")]
)
def test_bounds_in_the_wrong_order_are_refused(
    call: CallTool, refused: Refuse, tool: Tool, since: str, until: str
) -> None:
    call("mentisdb_append", thought_type="Insight", content="x", agent_id="a")
    asked = {"query": "x"} if "query" in tool.argument_schema.get("required", ()) else {}
    refusal = refused(tool.name, since=since, until=until, **asked)
    assert refusal["code"] == "invalid_input"
    assert "since" in refusal["message"] and "until" in refusal["message"] and refusal["hint"]
    call(tool.name, since=until, until=since, **asked)


def test_there_are_tools_with_two_bounds() -> None:
    assert len(with_bounds()) >= 5


def test_lines_in_the_wrong_order_are_refused(call: CallTool, refused: Refuse) -> None:
    ana = {"user_id": "ana", "agent": "g"}
    call("lithos_fs_write", path="users/ana/notes.md", content="# N\n\none\ntwo\n", rationale="r", **ana)
    refusal = refused("lithos_fs_read", path="users/ana/notes.md", ranges=[[3, 1]], **ana)
    assert refusal["code"] == "invalid_input"


# Aspects


@pytest.mark.parametrize(
    ("claimed", "near"),
    [
        ("Unit Tests", "UnitTests"), ("unit tests", "Unit Test"), ("unit tests", "unit.tests"),
        ("UnitTests", "unit-tests"), ("unit_tests", "unit/tests"), ("unit tests", "unit\u200btests"),
        ("Literature Review", "literature reviews"),
        ("literature review", "literature reveiw"), ("Straße", "STRASSE"), ("API docs", "api-doc"), ("docs", "Docs!"),
        ("ｕｎｉｔ tests", "unit tests"),
    ],
)  # fmt: skip
def test_a_near_miss_of_an_aspect_is_pointed_out_in_every_spelling(
    call: CallTool, refused: Refuse, claimed: str, near: str
) -> None:
    task = call("lithos_task_create", agent="a", title="T")["task_id"]
    call("lithos_task_claim", task_id=task, aspect=claimed, agent="a")
    for tool in ("lithos_task_renew", "lithos_task_release"):
        assert claimed in refused(tool, task_id=task, aspect=near, agent="a")["hint"]
    assert claimed in call("lithos_task_claim", task_id=task, aspect=near, agent="b")["hint"]


@pytest.mark.parametrize(
    ("claimed", "other"),
    [("part 11", "part 12"), ("frontend", "backend"), ("chapter a", "chapter b"), ("tests", "text"),
     ("phase 1", "phase 2"), ("read paper", "write paper"), ("🦊", "🐻")],
)  # fmt: skip
def test_two_aspects_are_not_taken_for_one(call: CallTool, claimed: str, other: str) -> None:
    task = call("lithos_task_create", agent="a", title="T")["task_id"]
    call("lithos_task_claim", task_id=task, aspect=claimed, agent="a")
    assert "hint" not in call("lithos_task_claim", task_id=task, aspect=other, agent="b")


# Tokens


@pytest.mark.parametrize("token", [0, -1, 3, 10**6])
def test_a_token_that_no_claim_ever_had_is_no_lost_claim(call: CallTool, refused: Refuse, token: int) -> None:
    """Tokens are numbers of changes: 3 is that of a finding."""
    task = call("lithos_task_create", agent="a", title="T")["task_id"]
    claim = call("lithos_task_claim", task_id=task, aspect="x", agent="a")["token"]
    call("lithos_finding_post", task_id=task, agent="a", summary="s")
    assert claim == 2
    who = {"task_id": task, "agent": "a"}
    note = call("lithos_write", agent="a", title="N", content="text")
    for tool, more in (
        ("lithos_task_renew", {**who, "aspect": "x", "claim_token": token}),
        ("lithos_task_release", {**who, "aspect": "x", "claim_token": token}),
        ("lithos_task_renew", {**who, "aspect": "never claimed", "claim_token": token}),
        ("lithos_task_complete", {**who, "claim_token": token}),
        ("lithos_finding_post", {**who, "summary": "s", "claim_token": token}),
        ("lithos_write", {"agent": "a", "id": note["id"], "content": "new", "claim_token": token}),
    ):
        refusal = refused(tool, **more)
        assert refusal.get("reason") == "wrong_token", (tool, refusal)
        assert "No claim ever had this token" in refusal["hint"]


def test_a_token_that_was_overtaken_is_a_lost_claim(call: CallTool, refused: Refuse, clock: FakeClock) -> None:
    task = call("lithos_task_create", agent="a", title="T")["task_id"]
    first = call("lithos_task_claim", task_id=task, aspect="x", agent="a", ttl_minutes=1)["token"]
    clock.advance(61)
    assert (
        refused("lithos_task_renew", task_id=task, aspect="x", agent="a", claim_token=first)["reason"] == "claim_lost"
    )
    call("lithos_task_claim", task_id=task, aspect="x", agent="b")
    assert (
        refused("lithos_task_renew", task_id=task, aspect="x", agent="a", claim_token=first)["reason"] == "claim_lost"
    )


# Names


def test_a_thought_shows_the_name_that_its_agent_registered_anywhere(call: CallTool) -> None:
    wish = {"thought_type": "Insight", "content": "x"}
    call("mentisdb_append", **wish, agent_id="first")
    call("lithos_agent_register", id="reg", name="Regina")
    assert call("mentisdb_append", **wish, agent_id="reg")["thought"]["agent_name"] == "Regina"
    call("lithos_agent_register", id="reg", name="Gina")
    assert call("mentisdb_append", **wish, agent_id="reg")["thought"]["agent_name"] == "Gina"
    assert call("mentisdb_append_retrospective", content="x", agent_id="reg")["thought"]["agent_name"] == "Gina"
    assert call("mentisdb_head")["latest_thought"]["agent_name"] == "Gina"
    assert call("mentisdb_search", agent_names=["Gina"])["thoughts"]
    assert call("mentisdb_append", **wish, agent_id="reg", agent_name="Own")["thought"]["agent_name"] == "Own"
    call("mentisdb_upsert_agent", agent_id="reg", display_name="Of the chain")
    assert call("mentisdb_append", **wish, agent_id="reg")["thought"]["agent_name"] == "Of the chain"


def test_a_thought_under_an_alias_shows_the_registered_name(call: CallTool) -> None:
    wish = {"thought_type": "Insight", "content": "x"}
    call("mentisdb_upsert_agent", agent_id="reg", display_name="Regina", agent_owner="ops")
    call("mentisdb_add_agent_alias", agent_id="reg", alias="r2")
    thought = call("mentisdb_append", **wish, agent_id="r2")["thought"]
    assert (thought["agent_id"], thought["agent_name"], thought["agent_owner"]) == ("r2", "Regina", "ops")
    call("lithos_agent_register", id="plain", name="Plain Jane")
    call("mentisdb_append", **wish, agent_id="plain")
    call("mentisdb_add_agent_alias", agent_id="plain", alias="pj")
    assert call("mentisdb_append", **wish, agent_id="pj")["thought"]["agent_name"] == "Plain Jane"


# A disabled agent


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mentisdb_upsert_agent", {"status": "active"}),
        ("mentisdb_upsert_agent", {"display_name": "New"}),
        ("mentisdb_set_agent_description", {"description": "New"}),
        ("mentisdb_add_agent_alias", {"alias": "new"}),
        ("mentisdb_add_agent_key", {"key_id": "k", "algorithm": "ed25519", "public_key_bytes": [1] * 32}),
    ],
)
def test_a_disabled_agent_does_not_enable_itself(
    call: CallTool, refused: Refuse, tool: str, arguments: dict[str, Any]
) -> None:
    call("mentisdb_upsert_agent", agent_id="mal", display_name="Mal")
    call("mentisdb_disable_agent", agent_id="mal", _caller=OPERATOR)
    own = Caller(agent="mal", bound=True)
    refusal = refused(tool, _caller=own, agent_id="mal", **arguments)
    assert refusal["code"] in ("forbidden", "invalid_input")
    assert refused(tool, agent="mal", agent_id="mal", **arguments)["code"] in ("forbidden", "invalid_input")
    assert call("mentisdb_get_agent", agent_id="mal")["agent"]["status"] == "revoked"
    call("mentisdb_disable_agent", agent_id="mal", _caller=own)  # says what is so already
    call("mentisdb_upsert_agent", agent_id="mal", status="active", agent="ops")
    assert call("mentisdb_get_agent", agent_id="mal")["agent"]["status"] == "active"
