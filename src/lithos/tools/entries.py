"""Entries of sessions: what they learned, and how it becomes everyone's."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithos.app import Lithos
from lithos.chronicle import EntryPage, SessionFilter, tuple_of
from lithos.core.call import Call
from lithos.ledger import Filter, ThoughtType, optional_time
from lithos.tools.arguments import Time
from lithos.tools.registry import tool
from lithos.tools.sessions import Agent, Current

Ids = Annotated[list[str] | None, Field(max_length=100)]


@tool(toolset="sessions", reads=True, title="Ask the sessions")
def lithos_session_query(
    lithos: Lithos,
    call: Call,
    text: Annotated[str | None, Field(description="Words or a question", max_length=10_000)] = None,
    current_only: bool = False,
    cross_session: Annotated[bool, Field(description="All sessions, promoted or not")] = False,
    session_ids: Ids = None,
    exclude_sessions: Ids = None,
    promoted_only: bool = False,
    thought_types: list[ThoughtType] | None = None,
    since: Time = None,
    until: Time = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 20,
    session_id: Current = None,
    agent: Agent = None,
) -> EntryPage:
    """What sessions decided and learned: entries of your session and promoted ones. cross_session: of all sessions,
    never their private context. Entries are written with mentisdb_append."""
    wanted = SessionFilter(
        current_only, cross_session, tuple_of(session_ids), tuple_of(exclude_sessions), promoted_only
    )
    times = (optional_time(since, "since"), optional_time(until, "until"))
    chosen = Filter(text, tuple(thought_types or ()), since=times[0], until=times[1])
    return lithos.chronicle.query(call, chosen, wanted, limit, session_id)
