"""Tools that register, show and list agents."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from lithos.agents import MOST_LISTED, AgentInfo, AgentList, Registered
from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.since import absolute
from lithos.tools.arguments import Cursor
from lithos.tools.registry import tool


@tool(toolset="spec", agent_argument="id", title="Introduce yourself")
def lithos_agent_register(
    lithos: Lithos,
    call: Call,
    id: Annotated[str, Field(description="Your agent identifier")],
    name: Annotated[str | None, Field(description="Display name", max_length=200)] = None,
    type: Annotated[str | None, Field(description='Kind of agent, e.g. "claude-code"', max_length=100)] = None,
    metadata: Annotated[dict[str, Any] | None, Field(description="Capabilities, version …")] = None,
) -> Registered:
    """Tell others about yourself. Optional: every call that names an agent makes it known. Again: given fields are
    replaced, the others stay. `created` is false if the agent was known."""
    return lithos.agents.register(call, id, name, type, metadata)


@tool(toolset="spec", reads=True, title="About an agent")
def lithos_agent_info(
    lithos: Lithos, call: Call, id: Annotated[str, Field(description="Agent identifier")]
) -> AgentInfo:
    """What is known of one agent: name, type, metadata, first and last seen. Unknown: not_found."""
    return lithos.agents.info(id)


@tool(toolset="spec", reads=True, title="List agents")
def lithos_agent_list(
    lithos: Lithos,
    call: Call,
    type: Annotated[str | None, Field(description="Only this kind")] = None,
    active_since: Annotated[str | None, Field(description="Only seen since (ISO 8601)")] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 100,
    offset: Annotated[int, Field(ge=0)] = 0,
    cursor: Cursor = None,
) -> AgentList:
    """Who works here, last seen first."""
    since = absolute(active_since, lithos.clock.now(), "active_since")
    return lithos.agents.list(type, since, limit, offset, cursor)
