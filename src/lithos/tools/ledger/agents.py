"""Tools for the agents of a chain: the registry of MentisDB."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.ledger import AgentRegistry, Agents, AgentStatus, OneAgent
from lithos.tools.arguments import ChainKey
from lithos.tools.registry import tool

Subject = Annotated[str, Field(description="The agent that it concerns", max_length=200)]


@tool(toolset="ledger", reads=True, pages=("agents",))
def mentisdb_list_agents(lithos: Lithos, call: Call, chain_key: ChainKey = None) -> Agents:
    """Who has written to a chain: ids, names, owners. Use them as filters of mentisdb_search."""
    return lithos.registrar.writers(chain_key)


@tool(toolset="ledger", reads=True)
def mentisdb_get_agent(lithos: Lithos, call: Call, agent_id: Subject, chain_key: ChainKey = None) -> OneAgent:
    """One agent on a chain: names, aliases, status, keys, how many thoughts, first and last seen."""
    return lithos.registrar.agent(chain_key, agent_id)


@tool(toolset="ledger", reads=True, pages=("agents",))
def mentisdb_list_agent_registry(lithos: Lithos, call: Call, chain_key: ChainKey = None) -> AgentRegistry:
    """Everything known of every agent on a chain, registered or only writing."""
    return lithos.registrar.agents(chain_key)


@tool(toolset="ledger")
def mentisdb_upsert_agent(
    lithos: Lithos,
    call: Call,
    agent_id: Subject,
    chain_key: ChainKey = None,
    display_name: str | None = None,
    agent_owner: str | None = None,
    description: str | None = None,
    status: AgentStatus | None = None,
) -> OneAgent:
    """Register an agent on a chain or change what is known of it; what is left out stays. Makes the chain if there is
    none."""
    given = {
        "display_name": display_name,
        "agent_owner": agent_owner,
        "description": description,
        "status": status,
    }
    named = {name: value for name, value in given.items() if value is not None}
    return lithos.registrar.upsert(call, chain_key, agent_id, named)


@tool(toolset="ledger")
def mentisdb_set_agent_description(
    lithos: Lithos,
    call: Call,
    agent_id: Subject,
    chain_key: ChainKey = None,
    description: Annotated[str | None, Field(description="Left out: cleared")] = None,
) -> OneAgent:
    """Say what an agent is responsible for, or clear it."""
    return lithos.registrar.describe(call, chain_key, agent_id, description)


@tool(toolset="ledger")
def mentisdb_add_agent_alias(
    lithos: Lithos, call: Call, agent_id: Subject, alias: str, chain_key: ChainKey = None
) -> OneAgent:
    """Give an agent one more name, so that searches by the old name find it after a rename."""
    return lithos.registrar.add_alias(call, chain_key, agent_id, alias)


@tool(toolset="ledger")
def mentisdb_add_agent_key(
    lithos: Lithos,
    call: Call,
    agent_id: Subject,
    key_id: str,
    algorithm: Literal["ed25519"],
    public_key_bytes: Annotated[list[int], Field(description="32 bytes", max_length=64)],
    chain_key: ChainKey = None,
) -> OneAgent:
    """Register a public key with which an agent signs thoughts. Again with the same key_id: replaces it; what was
    signed with the old one stays valid."""
    return lithos.registrar.add_key(call, chain_key, agent_id, key_id, algorithm, public_key_bytes)


@tool(toolset="ledger", destructive=True)
def mentisdb_revoke_agent_key(
    lithos: Lithos, call: Call, agent_id: Subject, key_id: str, chain_key: ChainKey = None
) -> OneAgent:
    """Revoke a key: nothing more is accepted under it; what it signed before stays valid."""
    return lithos.registrar.revoke_key(call, chain_key, agent_id, key_id)


@tool(toolset="ledger", destructive=True)
def mentisdb_disable_agent(lithos: Lithos, call: Call, agent_id: Subject, chain_key: ChainKey = None) -> OneAgent:
    """Revoke an agent: it cannot append to this chain any more; its thoughts stay."""
    return lithos.registrar.disable(call, chain_key, agent_id)
