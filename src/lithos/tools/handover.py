"""Handing work over: snapshots of sessions, checkpoints of agents, onboarding."""

from __future__ import annotations

from typing import Annotated, Any, Required

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.chronicle import (
    AgentRole,
    LatestCheckpoint,
    PolicyAnswer,
    RestoredAnswer,
    SessionSummary,
    SnapshotAnswer,
    StoredCheckpoint,
    memory_policy,
    onboarding,
    summarize,
)
from lithos.core.call import Call
from lithos.tools.registry import tool
from lithos.tools.sessions import Agent, Current

Usage = Annotated[float, Field(ge=0, le=100, description="Share of your context window: 0.85, or 85 percent")]


class Onboarding(TypedDict, total=False):
    root: str
    files: int
    summary: dict[str, Any]
    degraded: Required[bool]
    degraded_reason: str


@tool(toolset="sessions", reads=True, listed=False, title="Snapshot a session")
def lithos_session_snapshot(
    lithos: Lithos,
    call: Call,
    session_id: Current = None,
    with_entries: Annotated[bool, Field(description="Carry its entries too")] = False,
    agent: Agent = None,
) -> SnapshotAnswer:
    """A session as one JSON text to keep or to take to another machine; for its members. Pass it unchanged to
    lithos_session_restore."""
    chosen = lithos.sessions.chosen(call, session_id)
    return lithos.snapshots.snapshot(call, chosen, with_entries=with_entries)


@tool(toolset="sessions", named=True, listed=False, title="Restore a session")
def lithos_session_restore(
    lithos: Lithos,
    call: Call,
    snapshot: Annotated[str, Field(description="Of lithos_session_snapshot, unchanged")],
    as_new: Annotated[bool, Field(description="Under a new id")] = False,
    with_entries: bool = False,
    agent: Agent = None,
) -> RestoredAnswer:
    """Bring a session back from its snapshot, on any machine. conflict: it is here already. A changed, cut or newer
    file is refused whole."""
    return lithos.snapshots.restore(call, snapshot, as_new=as_new, with_entries=with_entries)


@tool(toolset="sessions", reads=True, listed=False, title="Summarize a session")
def lithos_session_summary(
    lithos: Lithos, call: Call, session_id: Current = None, agent: Agent = None
) -> SessionSummary:
    """What a session did, decided, learned and left open; for its members."""
    return summarize(lithos.sessions, lithos.chronicle, call, lithos.sessions.chosen(call, session_id))


@tool(toolset="sessions", title="Store a checkpoint")
def lithos_store_checkpoint(
    lithos: Lithos,
    call: Call,
    role: AgentRole,
    summary: Annotated[dict[str, Any], Field(description="By the role's structure; a refusal names its fields")],
    context_usage: Usage,
    session_id: Current = None,
    pipeline_id: Annotated[str | None, Field(max_length=150)] = None,
    agent: Agent = None,
) -> StoredCheckpoint:
    """Leave what your successor needs before your context is compacted; lithos_memory_policy says when."""
    return lithos.checkpoints.store(call, role, summary, context_usage, session_id, pipeline_id)


@tool(toolset="sessions", reads=True, title="Latest checkpoint")
def lithos_latest_checkpoint(
    lithos: Lithos, call: Call, role: AgentRole, session_id: Current = None, agent: Agent = None
) -> LatestCheckpoint:
    """The newest checkpoint of a role, to go on from."""
    return lithos.checkpoints.latest(call, role, session_id)


@tool(toolset="sessions", reads=True, listed=False, title="Memory policy")
def lithos_memory_policy(lithos: Lithos, call: Call, role: AgentRole, context_usage: Usage) -> PolicyAnswer:
    """What is due at this share of your context window: checkpoint, compact or handoff."""
    return memory_policy(role, context_usage)


@tool(toolset="code", reads=True, listed=False, title="Onboarding")
def lithos_onboarding(
    lithos: Lithos, call: Call, root: Annotated[str, Field(description="Name of a code root", max_length=200)]
) -> Onboarding:
    """A repository at a glance from its code graph: folders, key paths, languages, tests, tooling, patterns. Fits
    lithos_store_checkpoint of a librarian."""
    return onboarding(lithos.code, call, root, lithos.clock)  # type: ignore[return-value]
