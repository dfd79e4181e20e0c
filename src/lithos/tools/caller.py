"""Who is at the other end of a call, as the transport knows it; one shape for HTTP, the host's socket and the CLI."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.core.call import Delivery
from lithos.core.names import agent_name
from lithos.errors import Forbidden

DEFAULT_TOOLSETS = ("core",)


@dataclass(frozen=True, slots=True)
class Caller:
    toolsets: tuple[str, ...] = DEFAULT_TOOLSETS
    agent: str | None = None  # stands in where a call names no agent
    bound: bool = False  # `agent` is the only one this caller may be (its token says so)
    read_only: bool = False
    user: str | None = None  # the name of the token, or the user of the socket's other end
    delivery: Delivery | None = None
    operator: bool = False  # the person at the server's own machine, through the lithos command

    def acting_as(self, named: str | None, field: str = "agent") -> str | None:
        """The agent of one call: the named one, or else ours; another than a bound one is forbidden."""
        if named is None:
            return self.agent
        name = agent_name(named, field)
        if self.bound and name != self.agent:
            raise Forbidden(
                f"this token belongs to the agent {self.agent!r}, not to {name!r}",
                hint=f"Leave {field} out, or use the token of {name!r}.",
            )
        return name


def parse_toolsets(text: str) -> tuple[str, ...]:
    """`core,board` → ("core", "board"); blank means the default."""
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    return names or DEFAULT_TOOLSETS
