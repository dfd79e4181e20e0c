"""Tools for tokens, for the operator only: no client may make a token."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lithos.agents import NewToken, Revoked, TokenList
from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.registry import tool


@tool(toolset="operator")
def lithos_token_new(
    lithos: Lithos,
    call: Call,
    name: Annotated[str, Field(description="Who it is for")],
    scope: Literal["read", "full", "workshop"] = "full",
    for_agent: Annotated[str | None, Field(description="The only agent that may use it")] = None,
    for_user: Annotated[str | None, Field(description="The only user whose files and events it opens")] = None,
) -> NewToken:
    """Make a bearer token. The secret is in this answer and nowhere else."""
    return lithos.tokens.new(call, name, scope, for_agent, for_user)


@tool(toolset="operator", reads=True)
def lithos_token_list(lithos: Lithos, call: Call) -> TokenList:
    """The valid tokens, without their secrets."""
    return lithos.tokens.list()


@tool(toolset="operator", destructive=True)
def lithos_token_revoke(lithos: Lithos, call: Call, id: str) -> Revoked:
    """Revoke a token at once."""
    return lithos.tokens.revoke(call, id)
