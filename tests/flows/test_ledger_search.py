"""Thoughts found by text: the same hybrid search as notes, with the chain's filters."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool


def found(call: CallTool, text: str, **filters: Any) -> list[str]:
    answer = call("mentisdb_search", text=text, **filters)
    assert all(one["score"] > 0 for one in answer["thoughts"])
    return [one["content"] for one in answer["thoughts"]]


@pytest.fixture
def told(call: CallTool, clock: FakeClock) -> CallTool:
    for content, kind, agent, more in (
        ("The rate limit of the billing API is 40 calls a minute.", "Constraint", "astro", {"importance": 0.9}),
        ("We back off and retry when a request fails.", "Decision", "astro", {"concepts": ["resilience"]}),
        ("Bananas are yellow.", "FactLearned", "cosmo", {"tags": ["Fruit"], "confidence": 0.9}),
        ("The rate of change of the schema is low.", "Insight", "cosmo", {"importance": 0.1}),
    ):
        call("mentisdb_append", content=content, thought_type=kind, agent_id=agent, agent_owner="ops", **more)
        clock.advance(60)
    return call


def test_words_and_meaning_find_what_was_just_appended_best_first(told: CallTool) -> None:
    assert found(told, "rate limit")[0].startswith("The rate limit")
    assert found(told, "what happens when a call to the server breaks?", limit=1) == [
        "We back off and retry when a request fails."
    ]
    assert found(told, "resilience")[0].startswith("We back off")


def test_filters_act_together_with_text(told: CallTool) -> None:
    assert found(told, "rate", thought_types=["Insight"]) == ["The rate of change of the schema is low."]
    assert found(told, "rate", min_importance=0.5)[0].startswith("The rate limit")
    assert all("schema" not in one for one in found(told, "rate", agent_ids=["astro"]))
    assert found(told, "yellow", tags_any=["fruit"], min_confidence=0.5) == ["Bananas are yellow."]
    assert found(told, "yellow", agent_owners=["nobody"]) == []
    assert found(told, "rate", since="2026-01-01T00:02:30Z") == ["The rate of change of the schema is low."]
    told("mentisdb_add_agent_alias", agent_id="cosmo", alias="Kosmos")
    assert found(told, "yellow", agent_names=["kosmos"]) == ["Bananas are yellow."]


def test_chains_do_not_see_each_other(told: CallTool) -> None:
    told("mentisdb_append", content="The rate limit elsewhere.", thought_type="Plan", chain_key="other")
    assert found(told, "rate limit", chain_key="other") == ["The rate limit elsewhere."]
    assert "The rate limit elsewhere." not in found(told, "rate limit")


def test_a_restart_loses_nothing_of_the_index_and_hands_over_what_was_missing(config: LithosConfig) -> None:
    for round_number in range(3):
        lithos = open_lithos(config, clock=FakeClock())

        def call(name: str, **arguments: Any) -> dict[str, Any]:
            return catalogue().call(lithos, name, arguments, Caller())  # noqa: B023 - called in this round only

        call("mentisdb_append", thought_type="Plan", content=f"The walrus number {round_number}")
        assert len(call("mentisdb_search", text="walrus")["thoughts"]) == round_number + 1
        call("mentisdb_append", thought_type="Plan", content="appended and not searched before the end")
        lithos.close()
