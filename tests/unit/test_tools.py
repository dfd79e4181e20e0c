"""What holds for every tool, whoever wrote it."""

from __future__ import annotations

import orjson
import pytest

from lithos.core.text import estimate_tokens
from lithos.serving.mcp.instructions import INSTRUCTIONS
from lithos.tools.catalogue import catalogue
from lithos.tools.find import ranked
from lithos.tools.registry import NAME, Tool

TOOLS = list(catalogue())
BUDGETS = {"core": 5000, "find": 500}
CLAMPED = {
    "lithos_recall",
    "lithos_search",
    "lithos_semantic",
    "mentisdb_search",
    "mentisdb_memory_markdown",
    "mentisdb_search_skill",
}  # their spec sets no bound: more is cut, not refused
SHORTEST_DESCRIPTION = 20
LONGEST_PREFIXED_NAME = 60 - len("lithos_")  # Cursor: server and tool together


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_a_tool_has_a_name_a_description_and_a_typed_answer(each: Tool) -> None:
    assert NAME.match(each.name) and len(each.name) <= LONGEST_PREFIXED_NAME
    assert len(each.description) >= SHORTEST_DESCRIPTION
    assert each.input_schema["type"] == "object"
    assert each.input_schema["additionalProperties"] is False
    assert each.output_schema.get("type") == "object" or "anyOf" in each.output_schema
    if each.name != "lithos_tool_call":
        assert "properties" in each.output_schema or "anyOf" in each.output_schema or "$defs" in each.output_schema


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_every_number_of_things_asked_for_is_bounded(each: Tool) -> None:
    for name, field in each.input_schema.get("properties", {}).items():
        if name in ("limit", "top_k", "max_results", "count") and field.get("type") == "integer":
            assert "maximum" in field or each.name in CLAMPED, f"{each.name}.{name} has no bound"


def test_the_token_cost_of_each_toolset_is_within_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    registry = catalogue()
    costs = {}
    for toolset in registry.toolsets():
        listed = [each.as_listed() for each in registry.shown([toolset])]
        costs[toolset] = (len(listed), estimate_tokens(orjson.dumps({"tools": listed}).decode()))
    with capsys.disabled():
        print(
            "\ntokens of tools/list: " + ", ".join(f"{name} {cost:,} ({n} tools)" for name, (n, cost) in costs.items())
        )
    for toolset, budget in BUDGETS.items():
        assert costs[toolset][1] <= budget


def test_the_instructions_are_short_enough_to_be_read() -> None:
    assert 100 < len(INSTRUCTIONS.split()) < 300


def test_the_instructions_name_only_tools_that_exist() -> None:
    known = {each.name for each in TOOLS}
    named = {word.strip("`.,:;()") for word in INSTRUCTIONS.split() if word.strip("`.,:;()").startswith("lithos_")}
    assert named <= known


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who else works here", "lithos_agent_list"),
        ("take over a task so that others know", "lithos_task_claim"),
        ("claiming", "lithos_task_claim"),
        ("statistics of the memory", "lithos_stats"),
        ("finding", "lithos_finding_post"),
    ],
)
def test_a_tool_is_found_by_what_it_does(query: str, expected: str) -> None:
    assert expected in [each.name for each in ranked(catalogue(), query)[:5]]


def test_nothing_asked_lists_everything_and_nonsense_finds_nothing() -> None:
    assert len(ranked(catalogue(), "")) == len(catalogue().shown(["all"]))
    assert ranked(catalogue(), "xyzzy") == []
    assert {each.toolset for each in ranked(catalogue(), "", "board")} == {"board"}
