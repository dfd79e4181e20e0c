"""Files of a worktree: read, write, edit."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.registry import tool
from lithos.tools.workshop.worktrees import Agent, Pipeline, ProjectName, SessionId
from lithos.workshop import EditRequest

Path = Annotated[str, Field(max_length=2000)]
IfMatch = Annotated[str | None, Field(max_length=100, description="Version that you read")]
Line = Annotated[int | None, Field(ge=1)]


class WorkFile(TypedDict):
    path: str
    version: str
    lines: int
    content: NotRequired[str]
    start_line: NotRequired[int]
    end_line: NotRequired[int]
    truncated: NotRequired[bool]
    token_count: NotRequired[int]
    unchanged: NotRequired[bool]
    since: NotRequired[str]
    hunks: NotRequired[str]


class WorkFileChanged(TypedDict):
    path: str
    version: str
    lines: int
    created: bool


@tool(toolset="workshop", reads=True, title="Read a file of the worktree")
def lithos_work_read(
    lithos: Lithos,
    call: Call,
    path: Path,
    start_line: Line = None,
    end_line: Line = None,
    known_version: Annotated[str | None, Field(max_length=100, description="You have it: only changes come")] = None,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> WorkFile:
    """A text file of your worktree, with its version."""
    worktree = lithos.workshop.readable(call, session_id, project, pipeline)
    answer = lithos.workshop.files.read(call, worktree, path, start_line, end_line, known_version)
    return cast(WorkFile, answer)


@tool(toolset="workshop", named=True, destructive=True, title="Write a file of the worktree")
def lithos_work_write(
    lithos: Lithos,
    call: Call,
    path: Path,
    content: str,
    if_match: IfMatch = None,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> WorkFileChanged:
    """Create or replace a whole file. conflict: read it first."""
    worktree = lithos.workshop.worktree(call, session_id, project, pipeline)
    return cast(WorkFileChanged, lithos.workshop.files.write(call, worktree, path, content, if_match))


@tool(toolset="workshop", named=True, destructive=True, title="Edit a file of the worktree")
def lithos_work_edit(
    lithos: Lithos,
    call: Call,
    path: Path,
    old_content: Annotated[str | None, Field(description="Must be in the file exactly once")] = None,
    new_content: str | None = None,
    start_line: Line = None,
    end_line: Annotated[int | None, Field(ge=0)] = None,
    content: Annotated[str | None, Field(description="Replaces these lines")] = None,
    if_match: IfMatch = None,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> WorkFileChanged:
    """Replace old_content by new_content, or lines by content."""
    worktree = lithos.workshop.worktree(call, session_id, project, pipeline)
    request = EditRequest(old_content, new_content, start_line, end_line, content)
    return cast(WorkFileChanged, lithos.workshop.files.edit(call, worktree, path, request, if_match))
