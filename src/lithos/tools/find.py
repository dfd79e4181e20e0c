"""The pair of `find`: everything Lithos can do, for the price of two tools in the client's context."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import Internal
from lithos.tools.registry import Registry, Tool, tool

_WORD = re.compile(r"[a-z0-9]+")
_SHORTEST_STEM = 4
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
    texts = [(_words(each.name.replace("_", " ")), _words(each.description)) for each in pool]
    scores = [0.0] * len(pool)
    for word in words:
        met = [_NAME_WEIGHT * _meets(word, name) + _meets(word, text) for name, text in texts]
        rarity = math.log(len(pool) / sum(map(bool, met)) + 0.05) if any(met) else 0.0  # `the` tells nothing
        scores = [score + rarity * weight for score, weight in zip(scores, met, strict=True)]
    order = sorted(range(len(pool)), key=lambda place: (-scores[place], place))
    return [pool[place] for place in order if scores[place] > 0]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _meets(word: str, text: set[str]) -> bool:
    return word in text or any(_same_stem(word, other) for other in text)


def _same_stem(word: str, other: str) -> bool:
    """`tasks` and `task`, `claiming` and `claim`, `statistics` and `stats`: the same beginning, most of the shorter."""
    pairs = zip(word, other, strict=False)
    shared = next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(word), len(other)))
    return shared >= _SHORTEST_STEM and shared >= 0.75 * min(len(word), len(other))


def _shown(each: Tool) -> FoundTool:
    return {
        "name": each.name,
        "toolset": each.toolset,
        "description": each.description,
        "reads": each.reads,
        "input_schema": each.input_schema,
    }
