"""Names that an agent gives itself. A caller bound to one agent takes no name of another agent or person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lithos.core.call import Call
from lithos.core.names import looks_like
from lithos.errors import Forbidden

OWN_NAMES = frozenset({"agent_name", "display_name", "alias"})
REGISTER = "lithos_agent_register"  # its argument is called `name`, as a session or a pattern has one


def own_name(tool: str, parameters: Mapping[str, Any]) -> str | None:
    """The argument by which this tool's caller says how it is called."""
    if tool == REGISTER:
        return "name"
    return next((name for name in parameters if name in OWN_NAMES), None)


def refuse_names_of_others(lithos: Any, call: Call, tool: str, values: Mapping[str, Any]) -> None:
    """Names lead searches and are what people read: with the name of another one it could pass for it."""
    argument = own_name(tool, values)
    name = values.get(argument) if argument is not None else None
    if not name or call.agent is None or looks_like(name) == looks_like(call.agent):
        return
    taken = [
        *lithos.agents.others_named(name, call.agent),
        *(each for each in lithos.tokens.owners() - {call.agent} if looks_like(each) == looks_like(name)),
        *lithos.registrar.others_named(values.get("chain_key"), name, call.agent),
    ]
    if taken:
        raise Forbidden(
            f"{argument}: {name[:80]!r} is a name of {taken[0]!r}, and this token is bound to {call.agent!r}",
            hint=f"Choose a name that no other agent has, or leave {argument} out.",
        )
