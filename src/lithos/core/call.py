"""Call: who calls which tool, and the keys that identify a repeated call."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Delivery:
    """A guest's id and the JSON-RPC id of its request; `resent`: it may have run before."""

    guest: str
    request: str
    resent: bool = False


@dataclass(frozen=True, slots=True)
class Correlation:
    """Optional ids of the caller's own trace, stored with the events."""

    tool_call_id: str | None = None
    transaction_id: str | None = None
    agent_action_id: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    agent: str | None = None
    user: str | None = None
    user_named: bool = False  # by the caller or its token; else `user` is only the name of a token
    login: str | None = None  # of the process at the other end of the host's socket
    arguments_hash: str = ""
    idempotency_key: str | None = None
    delivery: Delivery | None = None
    rationale: str | None = None
    correlation: Correlation = field(default_factory=Correlation)
    owner: bool = True  # of the whole memory; a token of one user, or for reading alone, is not
    reads_only: bool = False  # the connection may change nothing
    operator: bool = False  # the person at the machine, through the command line
    bound: bool = False  # `agent` comes from a token, not from what the caller says
    user_bound: bool = False  # `user` comes from a token
    workshop: bool = True  # False: over HTTP without a token of the scope `workshop`
    connection: str | None = None  # the name that the connection has, which no argument changes

    @property
    def by_person(self) -> bool:
        """A token of a user and an agent is the agent's: it acts for the user, and is not the user."""
        return self.operator or (self.user_bound and not self.bound)
