"""What holds for every tool, whoever wrote it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from lithos.core.text import estimate_tokens
from lithos.serving.mcp.instructions import INSTRUCTIONS
from lithos.tools.answers.mentions import MENTION, THROUGH, VERBS, followable
from lithos.tools.catalogue import catalogue
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
    listed = each.as_listed()
    assert listed["title"] and "additionalProperties" not in listed["inputSchema"]
    assert "idempotency_key" not in listed["inputSchema"]["properties"]
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


SOURCES = sorted((Path(__file__).parents[3] / "src" / "lithos").rglob("*.py"))
NO_TOOLS = {"lithos_bundle", "lithos_proof"}  # words of ours that only look like a tool


def texts_of(path: Path) -> Iterator[str]:
    """Every text of a module that a caller may get to see: no docstring of a module, class or ordinary function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_tool_that_a_text_names_exists(path: Path) -> None:
    known = {each.name for each in TOOLS} | NO_TOOLS
    for text in texts_of(path):
        for name in MENTION.findall(text):
            whole = name in known or f"{name}_" in text or any(each.startswith(name) for each in known)
            assert whole, f"{name} in {text[:80]!r}"


@pytest.mark.parametrize("toolset", catalogue().toolsets())
@pytest.mark.parametrize("read_only", [False, True], ids=["whole", "read-only"])
def test_every_name_in_a_text_can_be_followed(toolset: str, read_only: bool) -> None:
    """Instructions, descriptions, and every text of the source: what a connection gets of it names what it lists."""
    listed = catalogue().names_shown([toolset], read_only)
    assert {"lithos_tool_find", "lithos_tool_call"} <= listed
    texts = [INSTRUCTIONS, *(each.description for each in TOOLS)]
    texts += [text for path in SOURCES for text in texts_of(path) if MENTION.search(text)]
    for text in texts:
        shown = followable(text, listed)
        for name in set(MENTION.findall(shown)) - listed:
            assert f"{name}{THROUGH}" in shown or f'"{name}"' in shown  # as an argument


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
