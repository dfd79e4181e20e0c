"""The pair that every connection lists: everything Lithos can do, for the price of two tools."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.text import estimate_tokens
from lithos.errors import Internal
from lithos.tools.dispatch import schemas
from lithos.tools.dispatch.dispatch import OPERATOR
from lithos.tools.find.ranking import ranked
from lithos.tools.registry import Registry, Tool, tool

USUAL_HITS = 5
NAMES_SHOWN = 8  # of each toolset, where none is asked for: an answer has at most 1,000 tokens
MOST_SCHEMA_TOKENS = 250  # of the first hit; above it the optional arguments lose their descriptions
LONGEST_LINE = 72
BY_WORDS = "found by words alone: the embedding model cannot be used; lithos stats says why"


class FoundTool(TypedDict):
    name: str
    does: NotRequired[str]  # one line
    description: NotRequired[str]
    reads: NotRequired[bool]
    input_schema: NotRequired[dict[str, Any]]


class FoundTools(TypedDict):
    tools: list[FoundTool]
    toolsets: NotRequired[dict[str, list[str]]]
    more: NotRequired[dict[str, int]]  # names of a toolset that are left out
    total: int
    degraded: bool
    degraded_reason: NotRequired[str]


@tool(toolset="find", reads=True, title="Find a tool")
def lithos_tool_find(
    lithos: Lithos,
    call: Call,
    registry: Registry,
    query: Annotated[str, Field(description="What you want to do", max_length=500)] = "",
    name: Annotated[str | None, Field(description="Show this tool with all its arguments", max_length=100)] = None,
    toolset: Annotated[str | None, Field(description="Only this toolset", max_length=100), schemas.Rare] = None,
    limit: Annotated[int, Field(ge=1, le=20), schemas.Rare] = USUAL_HITS,
) -> FoundTools:
    """Find the tool for a job; more exist than are listed. Best first, the first with its input_schema; name= shows
    another. Then call it with lithos_tool_call. Without query: names by toolset; toolset= shows all of one."""
    if name is not None:
        return {"tools": [_whole(registry.get(name))], "total": 1, "degraded": False}
    pool = [each for each in registry if toolset is None or toolset in (each.toolset, *each.toolsets)]
    if not query.strip():
        return _by_toolset(pool, len(pool) if toolset is not None else NAMES_SHOWN)
    found, by_meaning = ranked(lithos, registry, pool, query)
    hits = [_first(each) if place == 0 else _line(each) for place, each in enumerate(found[:limit])]
    answer: FoundTools = {"tools": hits, "total": len(found), "degraded": not by_meaning}
    return answer if by_meaning else {**answer, "degraded_reason": BY_WORDS}


@tool(toolset="find", bare=True, title="Call any tool")
def lithos_tool_call(
    lithos: Lithos,
    call: Call,
    name: Annotated[str, Field(description="Tool name from lithos_tool_find", max_length=100)],
    arguments: Annotated[dict[str, Any], Field(description="By its input_schema")] = {},  # noqa: B006 - pydantic copies it
) -> dict[str, Any]:
    """Call any tool by name, listed or not. Answers and errors are that tool's."""
    raise Internal("lithos_tool_call reached its own function", hint="Registry.ready unwraps it before.")


def _by_toolset(pool: list[Tool], most: int) -> FoundTools:
    """The names of each toolset, `most` at most; those that are listed come first."""
    ordered = sorted(pool, key=lambda each: not each.listed)
    homes = dict.fromkeys(each.toolset for each in pool)
    names = {home: [each.name for each in ordered if each.toolset == home] for home in homes}
    answer: FoundTools = {"tools": [], "toolsets": {}, "total": len(pool), "degraded": False}
    answer["toolsets"] = {home: own[:most] for home, own in names.items()}
    more = {home: len(own) - most for home, own in names.items() if len(own) > most}
    return {**answer, "more": more} if more else answer


def one_line(text: str) -> str:
    """The first sentence, short enough for a list."""
    sentence = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= LONGEST_LINE else sentence[: LONGEST_LINE - 1].rpartition(" ")[0] + "…"


def _does(each: Tool) -> str:
    """The tool's description; one that only the operator may call says so, for an agent would be refused."""
    line = one_line(each.description)
    return f"Only for the operator, on the command line: {line}" if each.toolset == OPERATOR else line


def _line(each: Tool) -> FoundTool:
    return {"name": each.name, "does": _does(each)}


def _first(each: Tool) -> FoundTool:
    shown = each.as_listed()["inputSchema"]
    if estimate_tokens(orjson.dumps(shown).decode()) > MOST_SCHEMA_TOKENS:
        shown = _terse(shown)
    return {"name": each.name, "does": _does(each), "reads": each.reads, "input_schema": shown}


def _whole(each: Tool) -> FoundTool:
    return {
        "name": each.name,
        "description": " ".join(each.description.split()),
        "reads": each.reads,
        "input_schema": each.input_schema,
    }


def _terse(schema: dict[str, Any]) -> dict[str, Any]:
    needed = schema.get("required", [])
    properties = {
        name: each if name in needed else {key: item for key, item in each.items() if key != "description"}
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}
