"""What holds for every tool, whoever wrote it."""

from __future__ import annotations

import ast
from itertools import product
from typing import Any

import orjson
import pytest

from lithos.core.text import estimate_tokens
from lithos.serving.mcp.instructions import INSTRUCTIONS
from lithos.tools.answers.mentions import MENTION, THROUGH, VERBS, at_the_keyboard, followable
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import NAME
from tests.support.sources import FILES, nodes_of

TOOLS = list(catalogue())
BUDGETS = {"core": 5000, "find": 500, "workshop": 2500, "history": 2500, "academic": 1500, "graph": 1400}
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


def test_a_tool_has_a_name_a_description_and_a_typed_answer() -> None:
    for each in TOOLS:
        assert NAME.match(each.name) and len(each.name) <= LONGEST_PREFIXED_NAME
        assert len(each.description) >= SHORTEST_DESCRIPTION
        assert each.input_schema["type"] == "object"
        assert each.input_schema["additionalProperties"] is False
        listed = each.as_listed()
        assert listed["title"] and "additionalProperties" not in listed["inputSchema"]
        assert "idempotency_key" not in listed["inputSchema"]["properties"], each.name
        answer = each.output_schema
        assert answer.get("type") == "object" or "anyOf" in answer, each.name
        assert each.name == "lithos_tool_call" or {"properties", "anyOf", "$defs"} & answer.keys(), each.name


def test_every_number_of_things_asked_for_is_bounded() -> None:
    numbers = [
        (each.name, name)
        for each in TOOLS
        for name, field in each.input_schema.get("properties", {}).items()
        if name in ("limit", "top_k", "max_results", "count")
        and field.get("type") == "integer"
        and "maximum" not in field
    ]
    assert [each for each in numbers if each[0] not in CLAMPED] == []


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


NO_TOOLS = {"lithos_bundle", "lithos_proof"}  # words of ours that only look like a tool


def naming_texts() -> list[str]:
    """Every text of the source that names a tool: a caller may get to see it."""
    return [
        node.value
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MENTION.search(node.value)
    ]


def test_every_tool_that_a_text_names_exists() -> None:
    known = {each.name for each in TOOLS} | NO_TOOLS
    unknown = [
        (name, text[:80])
        for text in naming_texts()
        for name in MENTION.findall(text)
        if not (name in known or f"{name}_" in text or any(each.startswith(name) for each in known))
    ]
    assert unknown == []


def test_every_name_in_a_text_can_be_followed() -> None:
    """Instructions, descriptions, and every text of the source: what a connection gets of it names what it lists."""
    texts = [INSTRUCTIONS, *(each.description for each in TOOLS), *naming_texts()]
    for toolset, read_only in product(catalogue().toolsets(), (False, True)):
        listed = catalogue().names_shown([toolset], read_only)
        assert {"lithos_tool_find", "lithos_tool_call"} <= listed
        for text in texts:
            shown = followable(text, listed)
            for name in set(MENTION.findall(shown)) - listed:
                assert f"{name}{THROUGH}" in shown or f'"{name}"' in shown, (toolset, read_only)  # as an argument


def test_hints_at_the_keyboard_name_verbs_that_exist() -> None:
    from typer.main import get_command

    from lithos.cli.root import app

    root = get_command(app())
    for verb in VERBS.values():
        command: Any = root
        for word in verb.split():
            if word.startswith("--"):
                assert word in [flag for option in command.params for flag in option.opts], verb
            else:
                command = command.commands[word]


def test_a_hint_with_one_argument_is_a_line_that_can_be_typed() -> None:
    assert at_the_keyboard('lithos_note_restore with {"note": "a-1"} brings it back.') == (
        "`lithos note restore a-1` brings it back."
    )
    assert at_the_keyboard('lithos_tool_find with {"name": "lithos_read"} shows the values.') == (
        "`lithos call lithos_tool_find name=lithos_read` shows the values."
    )


def test_only_reading_tools_are_listed_to_who_only_reads() -> None:
    shown = catalogue().shown(["all"], read_only=True)
    assert [each.name for each in shown if not each.reads] == ["lithos_tool_call"]
    assert all(each.as_listed(read_only=True)["annotations"] == {"readOnlyHint": True} for each in shown)


def test_no_schema_requires_an_agent_of_a_connection_that_has_one() -> None:
    for each in TOOLS:
        assert each.agent_argument not in each.as_listed(agent=True)["inputSchema"].get("required", [])


def test_a_made_up_name_is_enough_for_authorship_but_not_for_a_claim() -> None:
    def needs_agent(name: str) -> bool:
        return "agent" in catalogue().get(name).as_listed(attributed=True)["inputSchema"]["required"]

    assert not needs_agent("lithos_finding_post")
    assert needs_agent("lithos_task_claim") and needs_agent("lithos_task_release") and needs_agent("lithos_task_renew")


def test_the_specified_tools_have_a_toolset_and_the_daily_ones_another() -> None:
    registry = catalogue()
    assert len(registry.names_shown(["spec"])) == 20 + 2
    assert {"lithos_md_patch_section", "lithos_task_ready", "lithos_move"} <= registry.names_shown(["core"])
