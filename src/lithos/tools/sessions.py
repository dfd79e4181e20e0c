"""Sessions: undertakings that can be left, taken up again and kept apart."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.sessions import (
    LARGEST_PAGE,
    LONGEST_WAIT_S,
    ContextShown,
    ContextUpdated,
    NewSession,
    SessionChanged,
    SessionChanges,
    SessionCreated,
    SessionPage,
    SessionShown,
    SessionState,
    SessionStats,
)
from lithos.tools.registry import tool

SessionId = Annotated[str, Field(description="Session id", max_length=100)]
Current = Annotated[str | None, Field(description="Left out: your current session", max_length=100)]
Agent = Annotated[str | None, Field(description="Your agent identifier", max_length=200)]
Object = dict[str, Any]


@tool(toolset="sessions", named=True, title="Create a session")
def lithos_session_create(
    lithos: Lithos,
    call: Call,
    name: Annotated[str, Field(description="The undertaking, in one line")],
    base_branch: str | None = None,
    enable_git_isolation: bool | None = None,
    config: Annotated[Object | None, Field(description="Limits that differ from the defaults")] = None,
    metadata: Object | None = None,
    agent: Agent = None,
) -> SessionCreated:
    """Begin a new undertaking: what is half-done in it stays invisible to others. Then
    lithos_session_activate."""
    given = {**(config or {})}
    if enable_git_isolation is not None:
        given["enable_git_isolation"] = enable_git_isolation
    return lithos.sessions.create(call, NewSession(name, base_branch, None, given, metadata or {}))


@tool(toolset="sessions", named=True, title="Activate a session")
def lithos_session_activate(lithos: Lithos, call: Call, session_id: SessionId, agent: Agent = None) -> SessionChanged:
    """Begin to work in a created session; it becomes your current one."""
    return lithos.sessions.activate(call, session_id)


@tool(toolset="sessions", named=True, title="Suspend a session")
def lithos_session_suspend(
    lithos: Lithos, call: Call, session_id: Current = None, agent: Agent = None
) -> SessionChanged:
    """Pause: everything is kept as it is until lithos_session_resume."""
    return lithos.sessions.suspend(call, lithos.sessions.chosen(call, session_id))


@tool(toolset="sessions", named=True, title="Resume a session")
def lithos_session_resume(lithos: Lithos, call: Call, session_id: SessionId, agent: Agent = None) -> SessionChanged:
    """Take a suspended session up again; if another agent just did, you join it. Then lithos_get_briefing."""
    return lithos.sessions.resume(call, session_id)


@tool(toolset="sessions", named=True, title="Complete a session")
def lithos_session_complete(
    lithos: Lithos, call: Call, session_id: Current = None, summary: str | None = None, agent: Agent = None
) -> SessionChanged:
    """End it well: its decisions, patterns and resolved failures become everyone's."""
    return lithos.promotion.complete(call, lithos.sessions.chosen(call, session_id), summary)


@tool(toolset="sessions", named=True, listed=False, title="Fail a session")
def lithos_session_fail(
    lithos: Lithos, call: Call, reason: str, session_id: Current = None, agent: Agent = None
) -> SessionChanged:
    """End a session that cannot reach its goal; nothing of it is promoted."""
    return lithos.sessions.fail(call, lithos.sessions.chosen(call, session_id), reason)


@tool(toolset="sessions", named=True, listed=False, title="Archive a session")
def lithos_session_close(lithos: Lithos, call: Call, session_id: SessionId, agent: Agent = None) -> SessionChanged:
    """Archive: read-only from now on, and out of lists unless asked for."""
    return lithos.sessions.close_session(call, session_id)


@tool(toolset="operator", destructive=True, title="Archive all sessions")
def lithos_session_close_all(lithos: Lithos, call: Call) -> SessionChanged:
    """Archive every session; active ones are suspended first."""
    return lithos.sessions.close_all(call)


@tool(toolset="sessions", named=True, title="Switch sessions")
def lithos_session_switch(lithos: Lithos, call: Call, session_id: SessionId, agent: Agent = None) -> SessionChanged:
    """Go to another session, activating or resuming it. The one you leave is suspended if no other agent is in it."""
    return lithos.sessions.switch(call, session_id)


@tool(toolset="sessions", named=True, title="Join a session")
def lithos_session_join(lithos: Lithos, call: Call, session_id: SessionId, agent: Agent = None) -> SessionChanged:
    """Work in a session with others; it becomes your current one. forbidden: its owner must invite you."""
    return lithos.sessions.join(call, session_id)


@tool(toolset="sessions", named=True, listed=False, title="Leave a session")
def lithos_session_leave(lithos: Lithos, call: Call, session_id: Current = None, agent: Agent = None) -> SessionChanged:
    """Stop working in a session; it goes on without you."""
    return lithos.sessions.leave(call, lithos.sessions.chosen(call, session_id))


@tool(toolset="sessions", named=True, listed=False, title="Invite to a session")
def lithos_session_invite(
    lithos: Lithos,
    call: Call,
    agents: Annotated[list[str], Field(min_length=1, max_length=100)],
    session_id: Current = None,
    agent: Agent = None,
) -> SessionChanged:
    """Let these agents join your session."""
    return lithos.sessions.invite(call, lithos.sessions.chosen(call, session_id), agents)


@tool(toolset="sessions", reads=True, title="Show a session")
def lithos_session_get(lithos: Lithos, call: Call, session_id: Current = None, agent: Agent = None) -> SessionShown:
    """State, times and members of a session; for its members with branch, limits and context."""
    return lithos.sessions.get(call, lithos.sessions.chosen(call, session_id))


@tool(toolset="sessions", reads=True, title="List sessions")
def lithos_session_list(
    lithos: Lithos,
    call: Call,
    state: SessionState | None = None,
    closed: Annotated[bool, Field(description="Archived ones too")] = False,
    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE)] = 100,
    cursor: Annotated[str | None, Field(description="next_cursor of the page before")] = None,
    agent: Agent = None,
) -> SessionPage:
    """Sessions, newest first; `current` is yours."""
    return lithos.sessions.list(call, state=state, closed=closed, limit=limit, cursor=cursor)


@tool(toolset="sessions", reads=True, title="Context of a session")
def lithos_session_context(lithos: Lithos, call: Call, session_id: Current = None, agent: Agent = None) -> ContextShown:
    """Task, steps, blockers, files, patterns, intents and conversation of a session, for its members; `version` is for
    if_match."""
    return lithos.sessions.context(call, lithos.sessions.chosen(call, session_id))


@tool(toolset="sessions", named=True, title="Update a session's context")
def lithos_session_context_update(
    lithos: Lithos,
    call: Call,
    changes: Annotated[
        Object,
        Field(
            description='{"current_step": "…", "next_steps": {"add": [], "remove": []}, "modified_files": {"add": {}}}'
        ),
    ],
    if_match: Annotated[int | None, Field(description="version that you read; another one: conflict")] = None,
    session_id: Current = None,
    agent: Agent = None,
) -> ContextUpdated:
    """Keep the session's state as you work: current_task, current_step, current_objective; lists completed_steps,
    next_steps, blockers, local_patterns, local_failures, user_wants, user_rejects; files. Durable at once."""
    return lithos.sessions.update_context(call, lithos.sessions.chosen(call, session_id), changes, if_match)


@tool(toolset="sessions", reads=True, listed=False, title="Count sessions")
def lithos_session_stats(lithos: Lithos, call: Call) -> SessionStats:
    """How many sessions are in which state, agents in them, promoted entries, bytes of context."""
    return lithos.sessions.stats()


@tool(toolset="sessions", reads=True, listed=False, title="Wait for sessions")
async def lithos_session_wait(
    lithos: Lithos,
    call: Call,
    since: Annotated[int | None, Field(strict=True, ge=0, description="cursor of the last call")] = None,
    timeout: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S, description="Seconds")] = 30,  # noqa: ASYNC109 the tool's public word
    session_id: Annotated[str | None, Field(description="Only this session", max_length=100)] = None,
) -> SessionChanges:
    """Wait until a session is created, activated, suspended, resumed, completed, failed, closed, joined or left."""
    return await lithos.sessions.wait(since, timeout, session_id)
