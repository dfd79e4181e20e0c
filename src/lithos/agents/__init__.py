"""Who writes: agents and their tokens."""

from lithos.agents.registry import MOST_LISTED, AgentInfo, AgentList, Agents, Registered
from lithos.agents.tokens import TOKENS_CHANNEL, NewToken, Revoked, Token, TokenList, Tokens

__all__ = [
    "MOST_LISTED",
    "TOKENS_CHANNEL",
    "AgentInfo",
    "AgentList",
    "Agents",
    "NewToken",
    "Registered",
    "Revoked",
    "Token",
    "TokenList",
    "Tokens",
]
