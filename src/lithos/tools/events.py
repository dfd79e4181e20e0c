"""Tools that query, verify and re-key the audit."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.relative import relative
from lithos.core.since import parse_since
from lithos.errors import Forbidden
from lithos.storage import Event, EventFilter, Outcome, Verdict
from lithos.tools.registry import tool

Status = Literal["pending", "written", "committed", "failed", "conflict"]


class EventRows(TypedDict):
    rows: list[Event]
    next_cursor: str | None


class Rotated(TypedDict):
    salt_version: int


@tool(toolset="garden", reads=True, agent_argument="asked_by")
def lithos_events_query(
    lithos: Lithos,
    call: Call,
    user_id: Annotated[str | None, Field(description="Only events of this user")] = None,
    agent: Annotated[str | None, Field(description="Only events of this agent")] = None,
    path: Annotated[str | None, Field(description="Only events of this file")] = None,
    type: Annotated[str | None, Field(description="note, task, profile_update, …")] = None,
    status: Status | None = None,
    since: Annotated[str | None, Field(description="ISO 8601, inclusive")] = None,
    until: Annotated[str | None, Field(description="ISO 8601, exclusive")] = None,
    tool_call_id: str | None = None,
    transaction_id: str | None = None,
    agent_action_id: str | None = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Field(description="next_cursor of the page before")] = None,
) -> EventRows:
    """Who changed what, when, why, and how it ended: the audit of all writes, newest first."""
    if user_id is None and not call.owner:
        raise Forbidden("this token does not see everybody's events", hint="Name the user_id.")
    wanted = EventFilter(
        agent=agent,
        user_id=user_id,
        path=None if path is None else relative(path),
        type=type,
        status=status,
        tool_call_id=tool_call_id,
        transaction_id=transaction_id,
        agent_action_id=agent_action_id,
        since=parse_since(since, lithos.clock.now()) if since else None,
        until=parse_since(until, lithos.clock.now(), "until") if until else None,
    )
    events = lithos.storage.events
    page = lithos.storage.database.read(lambda tx: events.find(tx, wanted, limit=limit, cursor=cursor))
    return {"rows": page["events"], "next_cursor": page["next_cursor"]}


@tool(toolset="operator", reads=True)
def lithos_events_verify(
    lithos: Lithos, call: Call, head: Annotated[str | None, Field(description="A head that you kept elsewhere")] = None
) -> Verdict:
    """Whether any row of the audit was altered, removed or inserted."""
    return lithos.storage.database.read(lambda tx: lithos.storage.events.verify(tx, head))


@tool(toolset="operator")
def lithos_keys_rotate(lithos: Lithos, call: Call) -> Rotated:
    """Seal events with a new key from now on; older keys stay, to verify what they sealed."""
    answer = lithos.storage.effects.commit(
        call, lambda tx: Outcome({"salt_version": lithos.storage.events.rotate(tx, call)})
    )
    return {"salt_version": answer["salt_version"]}
