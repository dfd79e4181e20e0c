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
from lithos.errors import InvalidInput, LithosError, UnknownTool
from lithos.tools.answers.lean import CURSOR, DETAIL
from lithos.tools.caller import Caller
from lithos.tools.dispatch import schemas
from lithos.tools.dispatch.dispatch import (
    CORRELATION,
    LARGEST_ARGUMENTS,
    LONGEST_ID,
    OPERATOR,
    Ready,
    hide_secrets,
    prepare,
)
from lithos.tools.dispatch.lenient import Arguments
from lithos.tools.dispatch.references import Refers, references_of
from lithos.tools.dispatch.toolsets import FIND, MEMBERS

if TYPE_CHECKING:
    from lithos.app import Lithos

Answer = dict[str, Any]
NAME = re.compile(r"^[a-z][a-z0-9_]{2,39}$")
CALL_BY_NAME = "lithos_tool_call"
GIVEN = ("lithos", "call", "registry")  # parameters that the dispatcher fills, never the client

IdempotencyKey = Annotated[
    str | None, Field(max_length=200, description="Retry safely: same key, same answer, one effect.")
]
PageCursor = Annotated[str | None, Field(max_length=20, description="next_cursor of the page before"), schemas.Rare]
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
# Accepted by every mutating tool, not listed: programs set the ids (best in `_meta`), the key is in the instructions.
UNLISTED = (*CORRELATION, "idempotency_key", DETAIL)


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
    named: bool = False  # acts by right of the agent's name: a name made up for an unnamed caller is not enough
    title: str = ""
    pages: tuple[str, ...] = ()  # lists of its answer that grow with the memory, given in pages to a connection
    listed: bool = True  # False: rarely used; `tools/list` shows it in `all` alone, and every connection may call it

    @cached_property
    def toolsets(self) -> frozenset[str]:
        """All that list it; the operator's tools are in none."""
        if self.toolset == OPERATOR:
            return frozenset()
        more = [name for name, members in MEMBERS.items() if self.name in members]
        home = {self.toolset} if self.listed else set()
        return frozenset({*home, "all", *more})

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def waits(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def takes_registry(self) -> bool:
        return "registry" in inspect.signature(self.function).parameters

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
        if not self.bare:
            fields[DETAIL] = (bool, False)
        if self.pages:
            fields[CURSOR] = (PageCursor, None)
        if not self.reads and not self.bare:
            fields["idempotency_key"] = (IdempotencyKey, None)
            fields.update(dict.fromkeys(CORRELATION, (CorrelationId, None)))
        config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, arbitrary_types_allowed=False)
        return create_model(self.name, __config__=config, **fields)

    @cached_property
    def references(self) -> dict[str, Refers]:
        """Arguments that may name a thing instead of giving its id."""
        return references_of(self)

    @cached_property
    def argument_schema(self) -> dict[str, Any]:
        """Everything that is accepted, as JSON Schema; `input_schema` is what is listed of it."""
        return self.arguments.model_json_schema()

    @cached_property
    def lenient(self) -> Arguments:
        return Arguments(self.argument_schema)

    @cached_property
    def required(self) -> Mapping[str, bool]:
        """Every accepted argument, and whether it must be given."""
        return {name: each.is_required() for name, each in self.arguments.model_fields.items()}

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """All arguments, as docs and `lithos_tool_find` show them."""
        return schemas.readable(self.argument_schema, self._unlisted)

    @property
    def _unlisted(self) -> set[str]:
        return set(UNLISTED) - set(self.parameters)

    def _hints(self) -> dict[str, Any]:
        # The given parameters may be imported for type checkers only.
        return get_type_hints(self.function, localns={"Lithos": object, "Call": object}, include_extras=True)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = schemas.untitled(TypeAdapter(self._hints()["return"]).json_schema())
        return schema

    @cached_property
    def listed_output_schema(self) -> dict[str, Any]:
        """The answer or an error: some clients check refusals against this schema too, and MCP wants an object."""
        answer = schemas.optional(self.output_schema)  # connections get lean answers
        named = answer.pop("$defs", {})
        either: dict[str, Any] = {"type": "object", "anyOf": [answer, ERROR_SCHEMA]}
        return {**either, "$defs": named} if named else either

    def as_listed(self, *, agent: bool = False, attributed: bool = False, read_only: bool = False) -> dict[str, Any]:
        """The tool as `tools/list` shows it on a connection: one that has an agent, one whose writes can be attributed
        to its client, one that only reads."""
        spared = [self.agent_argument] if agent or (attributed and not self.named) else []
        reads = self.reads or (read_only and self.name == CALL_BY_NAME)
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schemas.listed(self.argument_schema, self._unlisted, spared),
            # MCP's defaults are left out: a tool that says nothing writes, and may destroy.
            "annotations": {"readOnlyHint": True} if reads else {"destructiveHint": self.destructive},
        }

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
    named: bool = False,
    title: str = "",
    pages: tuple[str, ...] = (),
    listed: bool = True,
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a typed function a tool; its name is the function's, its docstring what the model reads."""

    def register(function: Callable[..., Any]) -> Tool:
        if not NAME.match(function.__name__):
            raise ValueError(f"{function.__name__} is no name for a tool: {NAME.pattern}")
        shown = title or _title(function.__name__)
        flags = (reads, destructive, agent_argument, bare, notes, named)
        return Tool(function.__name__, toolset, function, *flags, title=shown, pages=pages, listed=listed)

    return register


def _title(name: str) -> str:
    """`lithos_task_claim` → "Task claim"."""
    return name.partition("_")[2].replace("_", " ").capitalize()


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
        try:
            return self._ready(name, arguments, caller, largest)
        except LithosError as error:
            hide_secrets(error, {name: arguments})
            raise

    def _ready(self, name: str, arguments: Mapping[str, Any] | None, caller: Caller, largest: int) -> Ready:
        if name == CALL_BY_NAME:
            outer = prepare(self.get(name), arguments, replace(caller, read_only=False), largest)
            name, arguments = outer.values["name"], outer.values["arguments"]
            if name == CALL_BY_NAME:
                raise InvalidInput(f"{CALL_BY_NAME} does not call itself", hint="Name the tool that you mean.")
        ready = prepare(self.get(name), arguments, caller, largest)
        if ready.tool.takes_registry:
            ready.values["registry"] = self
        return ready

    def call(
        self, lithos: Lithos, name: str, arguments: Mapping[str, Any] | None = None, caller: Caller | None = None
    ) -> Answer:
        """Call a tool from ordinary synchronous code; the MCP adapter does the same with threads."""
        ready = self.ready(name, arguments, caller or Caller())
        answer = ready.run(lithos)
        return asyncio.run(answer) if ready.tool.waits else answer

    def toolsets(self) -> list[str]:
        """The toolsets that a client may choose."""
        homes = dict.fromkeys(each.toolset for each in self if each.toolset != OPERATOR)
        return [*dict.fromkeys([*MEMBERS, *homes]), "all"]

    def check_toolsets(self, names: Iterable[str]) -> tuple[str, ...]:
        """The same names, if all of them exist."""
        known, wanted = self.toolsets(), tuple(names)
        for name in wanted:
            if name not in known:
                meant = nearest(name, known)
                hint = f"Did you mean {meant}? " if meant else ""
                raise InvalidInput(f"there is no toolset {name[:80]!r}", hint=f"{hint}There are: {', '.join(known)}.")
        return wanted

    def shown(self, toolsets: Iterable[str], *, read_only: bool = False) -> list[Tool]:
        """The tools of these toolsets, and always the pair that finds and calls all others."""
        wanted = frozenset(toolsets)
        found = [each for each in self if each.toolset == FIND or wanted & each.toolsets]
        return [each for each in found if each.reads or not read_only or each.name == CALL_BY_NAME]

    def names_shown(self, toolsets: Iterable[str], read_only: bool = False) -> frozenset[str]:
        return frozenset(each.name for each in self.shown(toolsets, read_only=read_only))
