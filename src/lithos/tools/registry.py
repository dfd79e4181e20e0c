"""One registry of tools: the truth for MCP, `lithos call`, the docs and the golden schemas."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from lithos.core.text import estimate_tokens, nearest
from lithos.errors import InvalidInput, UnknownTool
from lithos.tools.caller import Caller
from lithos.tools.dispatch import CORRELATION, LARGEST_ARGUMENTS, LONGEST_ID, OPERATOR, Ready, prepare

if TYPE_CHECKING:
    from lithos.app import Lithos

Answer = dict[str, Any]
NAME = re.compile(r"^[a-z][a-z0-9_]{2,39}$")
CALL_BY_NAME = "lithos_tool_call"
GIVEN = ("lithos", "call")  # parameters that the dispatcher fills, never the client

IdempotencyKey = Annotated[
    str | None, Field(max_length=200, description="Retry safely: same key, same answer, one effect.")
]
CorrelationId = Annotated[str | None, Field(max_length=LONGEST_ID)]
ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint", "retryable"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "retryable": {"type": "boolean"},
            },
        }
    },
}
# Accepted by every mutating tool, not listed: programs set them (best in `_meta`), and a model would pay for reading.
UNLISTED = CORRELATION


@dataclass(frozen=True)
class Tool:
    name: str
    toolset: str
    function: Callable[..., Any]
    reads: bool
    destructive: bool
    agent_argument: str
    bare: bool = False  # no argument for free
    notes: bool = False  # it sees notes: their folder is scanned before the first such call

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def waits(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The function's own arguments, without those that the dispatcher gives."""
        own = inspect.signature(self.function).parameters.items()
        return {name: parameter for name, parameter in own if name not in GIVEN}

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The pydantic model of what a client may send."""
        hints = self._hints()
        fields: dict[str, Any] = {
            name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in self.parameters.items()
        }
        if self.agent_argument not in fields and not self.bare:
            fields[self.agent_argument] = (str | None, None)
        if not self.reads and not self.bare:
            fields["idempotency_key"] = (IdempotencyKey, None)
            fields.update(dict.fromkeys(CORRELATION, (CorrelationId, None)))
        config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, arbitrary_types_allowed=False)
        return create_model(self.name, __config__=config, **fields)

    @cached_property
    def argument_schema(self) -> dict[str, Any]:
        """Everything that is accepted, as JSON Schema; `input_schema` is what is listed of it."""
        return self.arguments.model_json_schema()

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = _compact(_untitled(self.argument_schema))
        for name in set(UNLISTED) - set(self.parameters):
            schema.get("properties", {}).pop(name, None)
        return schema

    def _hints(self) -> dict[str, Any]:
        # The given parameters may be imported for type checkers only.
        return get_type_hints(self.function, localns={"Lithos": object, "Call": object}, include_extras=True)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = _untitled(TypeAdapter(self._hints()["return"]).json_schema())
        return schema

    @cached_property
    def listed_output_schema(self) -> dict[str, Any]:
        """The answer or an error: some clients check refusals against this schema too, and MCP wants an object."""
        answer = dict(self.output_schema)
        named = answer.pop("$defs", {})
        either: dict[str, Any] = {"type": "object", "anyOf": [answer, ERROR_SCHEMA]}
        return {**either, "$defs": named} if named else either

    def as_listed(self) -> dict[str, Any]:
        """What `tools/list` shows of it, as MCP has it."""
        hints = {"readOnlyHint": self.reads, "destructiveHint": self.destructive, "idempotentHint": self.reads}
        shown = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        return {**shown, "annotations": {**hints, "openWorldHint": False}}

    @cached_property
    def token_cost(self) -> int:
        return estimate_tokens(orjson.dumps(self.as_listed()).decode())


def tool(
    *,
    toolset: str,
    reads: bool = False,
    destructive: bool = False,
    agent_argument: str = "agent",
    bare: bool = False,
    notes: bool = False,
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a typed function a tool; its name is the function's, its docstring what the model reads."""

    def register(function: Callable[..., Any]) -> Tool:
        if not NAME.match(function.__name__):
            raise ValueError(f"{function.__name__} is no name for a tool: {NAME.pattern}")
        return Tool(function.__name__, toolset, function, reads, destructive, agent_argument, bare, notes)

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

    def ready(
        self, name: str, arguments: Mapping[str, Any] | None, caller: Caller, largest: int = LARGEST_ARGUMENTS
    ) -> Ready:
        """Every check that needs no I/O. `lithos_tool_call` is unwrapped here: all rules hold for the inner tool."""
        if name == CALL_BY_NAME:
            outer = prepare(self.get(name), arguments, replace(caller, read_only=False), largest)
            name, arguments = outer.values["name"], outer.values["arguments"]
            if name == CALL_BY_NAME:
                raise InvalidInput(f"{CALL_BY_NAME} does not call itself", hint="Name the tool that you mean.")
        return prepare(self.get(name), arguments, caller, largest)

    def call(
        self, lithos: Lithos, name: str, arguments: Mapping[str, Any] | None = None, caller: Caller | None = None
    ) -> Answer:
        """Call a tool from ordinary synchronous code; the MCP adapter does the same with threads."""
        ready = self.ready(name, arguments, caller or Caller())
        answer = ready.run(lithos)
        return asyncio.run(answer) if ready.tool.waits else answer

    def toolsets(self) -> list[str]:
        """What a client may ask to see."""
        return [*dict.fromkeys(each.toolset for each in self if each.toolset != OPERATOR), "all"]

    def check_toolsets(self, names: Iterable[str]) -> tuple[str, ...]:
        """The same names, if all of them exist."""
        known, wanted = self.toolsets(), tuple(names)
        for name in wanted:
            if name not in known:
                meant = nearest(name, known)
                hint = f"Did you mean {meant}? " if meant else ""
                raise InvalidInput(f"there is no toolset {name[:80]!r}", hint=f"{hint}There are: {', '.join(known)}.")
        return wanted

    def shown(self, toolsets: Iterable[str]) -> list[Tool]:
        """The tools of these toolsets; `all` is every one but the pair of `find`, and but the operator's."""
        wanted = frozenset(toolsets)
        if "all" in wanted:
            return [each for each in self if each.toolset not in ("find", OPERATOR)]
        return [each for each in self if each.toolset in wanted and each.toolset != OPERATOR]


def _untitled(schema: Any) -> Any:
    """Without the titles that pydantic adds: they cost tokens and tell a model nothing."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _untitled(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(kept.get("properties"), dict):  # an argument may be called `title`
        kept["properties"] = {name: _untitled(value) for name, value in schema["properties"].items()}
    return kept


def _compact(schema: Any) -> Any:
    """Spell `X | null` short, everywhere in it."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return _without_null({key: _compact(value) for key, value in schema.items()})


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Optional arguments are simply left out; `anyOf [X, null] default null` says the same at twice the length."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return schema
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if len(rest) != 1 or schema.get("default", 0) is not None:
        return schema
    return {**{key: value for key, value in schema.items() if key not in ("anyOf", "default")}, **rest[0]}
