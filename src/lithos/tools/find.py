"""The pair of `find`: everything Lithos can do, for the price of two tools in the client's context."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import Internal
from lithos.tools.registry import Registry, Tool, tool

_WORD = re.compile(r"[a-z0-9]+")
_NAME_WEIGHT = 3  # a word in the name says more than one in the description


class FoundTool(TypedDict):
    name: str
    toolset: str
    description: str
    reads: bool
    input_schema: dict[str, Any]


class FoundTools(TypedDict):
    tools: list[FoundTool]
    total: int


@tool(toolset="find", reads=True)
def lithos_tool_find(
    lithos: Lithos,
    call: Call,
    query: Annotated[str, Field(description="What you want to do; empty lists all", max_length=500)] = "",
    toolset: Annotated[str | None, Field(description="Only this toolset")] = None,
    limit: Annotated[int, Field(ge=1, le=50)] = 8,
) -> FoundTools:
    """Find Lithos tools by what they do: notes, search, tasks, claims, thoughts, skills, edits. Returns each tool's
    name, description and input_schema, best first; then call one with lithos_tool_call."""
    from lithos.tools.catalogue import catalogue

    found = ranked(catalogue(), query, toolset)
    return {"tools": [_shown(each) for each in found[:limit]], "total": len(found)}


@tool(toolset="find", bare=True)
def lithos_tool_call(
    lithos: Lithos,
    call: Call,
    name: Annotated[str, Field(description="Tool name, as lithos_tool_find gave it", max_length=100)],
    arguments: Annotated[dict[str, Any], Field(description="Its arguments, by its input_schema")] = {},  # noqa: B006 - pydantic copies it
) -> dict[str, Any]:
    """Call any Lithos tool by name. The answer and the refusals are those of that tool."""
    raise Internal("lithos_tool_call reached its own function", hint="Registry.ready unwraps it before.")


def ranked(registry: Registry, query: str, toolset: str | None = None) -> list[Tool]:
    """The tools that share words with the query, best first; all of them, as they stand, for an empty one."""
    pool = [each for each in registry.shown(["all"]) if toolset in (None, each.toolset)]
    words = set(_WORD.findall(query.lower()))
    if not words:
        return pool
    scored = [(_score(each, words), place, each) for place, each in enumerate(pool)]
    return [each for score, place, each in sorted(scored, key=lambda entry: (-entry[0], entry[1])) if score]


def _score(each: Tool, words: set[str]) -> int:
    name, text = set(_WORD.findall(each.name.replace("_", " "))), set(_WORD.findall(each.description.lower()))
    return sum(_NAME_WEIGHT * _meets(word, name) + _meets(word, text) for word in words)


def _meets(word: str, text: set[str]) -> bool:
    """`tasks` meets `task` and `claiming` meets `claim`: the shorter word's stem begins the other."""
    if word in text:
        return True
    return len(word) > 3 and any(
        len(other) > 3 and (word.startswith(other) or other.startswith(word)) for other in text
    )


def _shown(each: Tool) -> FoundTool:
    return {
        "name": each.name,
        "toolset": each.toolset,
        "description": each.description,
        "reads": each.reads,
        "input_schema": each.input_schema,
    }
