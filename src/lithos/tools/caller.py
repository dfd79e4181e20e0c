"""The caller of a tool, as its transport knows it: one type for HTTP, the host's socket and the command line."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.core.call import Correlation, Delivery
from lithos.core.names import agent_name
from lithos.core.read_only import read_switch
from lithos.errors import Forbidden, InvalidInput

DEFAULT_TOOLSETS = ("core",)
NO_IDS = Correlation()


@dataclass(frozen=True, slots=True)
class Caller:
    toolsets: tuple[str, ...] = DEFAULT_TOOLSETS
    agent: str | None = None  # of calls that name no agent
    bound: bool = False  # `agent` is the only one this caller may be (its token says so)
    read_only: bool = False
    user: str | None = None  # of the token, or its name
    login: str | None = None  # of the socket's other end: no caller chose it, so no event names it
    user_bound: bool = False  # `user` is the only one this caller may act for
    owner: bool = True  # may see what everybody did
    delivery: Delivery | None = None
    correlation: Correlation = NO_IDS  # ids that came beside the arguments
    attributed: str | None = None  # the client's name and connection: whom to name as author, never a right
    idempotency_key: str | None = None  # that came beside the arguments
    workshop: bool = True  # False: over HTTP without a token of the scope `workshop`
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

    def acting_for(self, named: str | None) -> str | None:
        """The user whose files a call is about, where it names one; another than a bound one is forbidden."""
        if not self.user_bound:
            return named
        if named not in (None, self.user):
            raise Forbidden(
                f"this token belongs to the user {self.user!r}, not to {named!r}",
                hint="Leave user_id out, or use a token of that user.",
            )
        return self.user


def parse_switch(text: str, name: str) -> bool:
    """`1`, `true`, `yes`, `on`, nothing (`?read_only`) or the opposites. Anything else is refused, never ignored."""
    on = read_switch(text) if text.strip() else True
    if on is not None:
        return on
    raise InvalidInput(f"{name} is {text[:40]!r}", hint=f"Write {name}=true or {name}=false.")


def parse_toolsets(text: str) -> tuple[str, ...]:
    """`core,board` → ("core", "board"); blank means the default."""
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    return names or DEFAULT_TOOLSETS


def stand_in(client: str | None, connection: str) -> str:
    """Whom to name as the author of a write without an agent: `claude-code-3f9a2c`."""
    name = "".join(each for each in (client or "client") if each.isalnum() or each in "-_. ").strip()
    return f"{name[:80] or 'client'}-{connection[:6]}"
