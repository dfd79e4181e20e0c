"""Worktrees of a session: open, list, close."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool
from lithos.workshop import NewWorktree

SessionId = Annotated[str | None, Field(max_length=100, description="Default: your session")]
ProjectName = Annotated[str | None, Field(max_length=60), Rare]
Pipeline = Annotated[str, Field(max_length=60, description="A second branch in the session"), Rare]
Agent = Annotated[str | None, Field(max_length=200)]


class WorktreeShown(TypedDict):
    worktree_id: str
    session_id: str
    project: str
    branch: str
    base_branch: str
    base_commit: str
    path: str
    state: str
    used_at: str
    pipeline: NotRequired[str]
    after: NotRequired[list[str]]
    dirty_project: NotRequired[bool]  # the project's own checkout has changes that are not in the worktree


class WorktreeList(TypedDict):
    session_id: str
    worktrees: list[WorktreeShown]


class WorktreeClosed(TypedDict):
    worktree_id: str
    state: str
    branch: str


@tool(toolset="workshop", named=True, title="Open a worktree")
def lithos_worktree_open(
    lithos: Lithos,
    call: Call,
    session_id: SessionId = None,
    project: ProjectName = None,
    base_branch: Annotated[str | None, Field(max_length=200), Rare] = None,
    pipeline: Pipeline = "",
    after: Annotated[list[str] | None, Field(max_length=50, description="Pipelines merged before it"), Rare] = None,
    agent: Agent = None,
) -> WorktreeShown:
    """Check the project out for your session, on a new branch. Then lithos_work_read, _edit, _run."""
    chosen = lithos.sessions.chosen(call, session_id)
    new = NewWorktree(chosen, project, base_branch, pipeline, after or ())
    return cast(WorktreeShown, lithos.workshop.open_worktree(call, new))


@tool(toolset="workshop", reads=True, title="List worktrees")
def lithos_worktree_list(
    lithos: Lithos,
    call: Call,
    session_id: SessionId = None,
    closed: Annotated[bool, Field(description="Closed ones too"), Rare] = False,
    agent: Agent = None,
) -> WorktreeList:
    """Your session's worktrees: branch, base, state."""
    return cast(WorktreeList, lithos.workshop.worktrees.listed(call, session_id, closed=closed))


@tool(toolset="workshop", named=True, destructive=True, title="Close a worktree")
def lithos_worktree_close(
    lithos: Lithos,
    call: Call,
    worktree_id: Annotated[str | None, Field(max_length=100, description="Default: your session's")] = None,
    force: Annotated[bool, Field(description="Throw uncommitted work away")] = False,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> WorktreeClosed:
    """Remove the checkout; its branch stays."""
    workshop = lithos.workshop
    chosen = worktree_id or workshop.worktrees.id_of(call, session_id, project, pipeline)
    return cast(WorktreeClosed, workshop.close_worktree(call, chosen, session_id=session_id, force=force))
