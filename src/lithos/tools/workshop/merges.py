"""The way back into the project: diff, commit, merge."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool
from lithos.tools.workshop.worktrees import Agent, Pipeline, ProjectName, SessionId


class WorkDiff(TypedDict):
    branch: str
    base_branch: str
    base_commit: str
    head: str
    files: list[dict[str, Any]]
    untracked: list[str]
    diff: str
    truncated: bool


class WorkCommitted(TypedDict):
    committed: bool
    commit: str
    branch: str
    files: int


class MergeConflict(TypedDict):
    path: str
    ours: NotRequired[str]
    theirs: NotRequired[str]


class WorkMerged(TypedDict):
    merged: bool
    base_branch: str
    conflicts: list[MergeConflict]
    dry_run: bool
    reason: NotRequired[str]
    clean: NotRequired[bool]
    commit: NotRequired[str]
    branch: NotRequired[str]
    base_updated: NotRequired[bool]
    command: NotRequired[list[str]]
    files: NotRequired[int]
    into: NotRequired[str]
    source: NotRequired[str]
    conflict_count: NotRequired[int]
    notes: NotRequired[list[str]]
    task_id: NotRequired[str]


@tool(toolset="workshop", reads=True, title="Diff of the worktree")
def lithos_work_diff(
    lithos: Lithos,
    call: Call,
    paths: Annotated[list[str] | None, Field(max_length=200)] = None,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> WorkDiff:
    """Everything that your worktree changed against its base, committed or not."""
    worktree = lithos.workshop.readable(call, session_id, project, pipeline)
    return cast(WorkDiff, lithos.workshop.diff(worktree, paths or []))


@tool(toolset="workshop", named=True, title="Commit the worktree")
def lithos_work_commit(
    lithos: Lithos,
    call: Call,
    message: str,
    task_id: Annotated[str | None, Field(max_length=100), Rare] = None,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> WorkCommitted:
    """Commit all changes of your worktree to its branch."""
    worktree = lithos.workshop.worktree(call, session_id, project, pipeline)
    return cast(WorkCommitted, lithos.workshop.commit(call, worktree, message, task_id))


@tool(toolset="workshop", named=True, title="Merge the session's work")
def lithos_work_merge(
    lithos: Lithos,
    call: Call,
    dry_run: bool = False,
    session_id: SessionId = None,
    project: ProjectName = None,
    agent: Agent = None,
) -> WorkMerged:
    """Merge your session's branch, pipelines first, onto lithos/<session>-merged; `command` takes it over. Conflicts
    come back as both sides, nothing moved."""
    lithos.workshop.allow(call)
    return cast(WorkMerged, lithos.workshop.merging.merge(call, session_id, project, dry_run=dry_run))
