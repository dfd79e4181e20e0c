"""One registry of tools: the truth for MCP, `lithos call`, the docs and the golden schemas."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from lithos.core.text import estimate_tokens, nearest
from lithos.errors import UnknownTool

NAME = re.compile(r"^[a-z][a-z0-9_]{2,39}$")
GIVEN = ("lithos", "call")  # parameters that the dispatcher fills, never the client

IdempotencyKey = Annotated[
    str | None,
    Field(
        default=None, max_length=200, description="Same key and arguments: the first answer again, no second effect."
    ),
]
CorrelationId = Annotated[
    str | None, Field(default=None, max_length=200, description="Your own id, kept in the event.")
]
CORRELATION = ("tool_call_id", "transaction_id", "agent_action_id")


@dataclass(frozen=True)
class Tool:
    name: str
    toolset: str
    function: Callable[..., Any]
    reads: bool
    destructive: bool
    agent_argument: str

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def waits(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The pydantic model of what a client may send."""
        hints = get_type_hints(self.function, include_extras=True)
        fields: dict[str, Any] = {
            name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in inspect.signature(self.function).parameters.items()
            if name not in GIVEN
        }
        if not self.reads:
            fields["idempotency_key"] = (IdempotencyKey, None)
        return create_model(self.name, __config__=ConfigDict(extra="forbid", strict=False), **fields)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = _compact(self.arguments.model_json_schema())
        return schema

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        return TypeAdapter(get_type_hints(self.function, include_extras=True)["return"]).json_schema()

    def as_listed(self) -> dict[str, Any]:
        """What `tools/list` shows of it, as MCP has it."""
        hints = {"readOnlyHint": self.reads, "destructiveHint": self.destructive, "idempotentHint": self.reads}
        shown = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        return {**shown, "annotations": {**hints, "openWorldHint": False}}

    @cached_property
    def token_cost(self) -> int:
        return estimate_tokens(orjson.dumps(self.as_listed()).decode())


def tool(
    *, toolset: str, reads: bool = False, destructive: bool = False, agent_argument: str = "agent"
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a typed function a tool; its name is the function's, its docstring what the model reads."""

    def register(function: Callable[..., Any]) -> Tool:
        if not NAME.match(function.__name__):
            raise ValueError(f"{function.__name__} is no name for a tool: {NAME.pattern}")
        return Tool(function.__name__, toolset, function, reads, destructive, agent_argument)

    return register


class Registry:
    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            if each.name in self._tools:
                raise ValueError(f"two tools are called {each.name}")
            self._tools[each.name] = each

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool:
        found = self._tools.get(name)
        if found is None:
            meant = nearest(name, self._tools)
            hint = f"Did you mean {meant}?" if meant else "lithos_tool_find searches the tools."
            raise UnknownTool(f"there is no tool {name[:80]!r}", hint=hint)
        return found

    def toolsets(self) -> list[str]:
        return list(dict.fromkeys(each.toolset for each in self))

    def shown(self, toolsets: Iterable[str]) -> list[Tool]:
        """The tools of these toolsets; `all` is every one of them but the pair of `find`."""
        wanted = frozenset(toolsets)
        if "all" in wanted:
            return [each for each in self if each.toolset != "find"]
        return [each for each in self if each.toolset in wanted]


def _compact(schema: Any) -> Any:
    """Drop the titles that pydantic adds, and spell `X | null` short: they cost tokens and tell a model nothing."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _compact(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: _compact(value) for name, value in schema["properties"].items()}
    return _without_null(kept)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Optional arguments are simply left out; `anyOf [X, null] default null` says the same at twice the length."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return schema
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if len(rest) != 1 or schema.get("default", 0) is not None:
        return schema
    return {**{key: value for key, value in schema.items() if key not in ("anyOf", "default")}, **rest[0]}
