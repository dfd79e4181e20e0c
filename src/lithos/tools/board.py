"""Tasks, claims and findings of agents that work together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lithos.app import Lithos
from lithos.board import (
    LARGEST_PAGE,
    LONGEST_WAIT_S,
    USUAL_PAGE,
    Changes,
    Claimed,
    Created,
    FindingPage,
    FindingPosted,
    NewTask,
    Page,
    Refusable,
    Renewed,
    TaskEdit,
    TaskFilter,
    TaskPage,
)
from lithos.core.call import Call
from lithos.core.since import absolute
from lithos.tools.arguments import Agent, Cursor
from lithos.tools.dispatch.references import Refers
from lithos.tools.registry import tool

TaskId = Annotated[str, Field(description="Task id or title"), Refers("task")]
Aspect = Annotated[str, Field(description="The part of the task you work on")]
# Strict: "60" or true would otherwise pass as a number of minutes.
Minutes = Annotated[int, Field(strict=True, gt=0, description="Minutes from now (default 60, max 480)")]
Token = Annotated[int, Field(strict=True, description="The token your claim returned: refused if you lost it")]
Priority = Annotated[int, Field(strict=True, ge=0, le=4, description="0 urgent … 4 someday (default 2)")]
Limit = Annotated[int, Field(strict=True, ge=1, le=LARGEST_PAGE)]
Since = Annotated[str, Field(description="Only after this time (ISO 8601)")]


@tool(toolset="board", title="Create a task")
def lithos_task_create(
    lithos: Lithos,
    call: Call,
    title: str,
    agent: Agent,
    description: str | None = None,
    tags: list[str] | None = None,
    priority: Priority = 2,
    depends_on: Annotated[list[str] | None, Field(description="Tasks that must end first"), Refers("task")] = None,
) -> Created:
    """Put a piece of work on the board for all agents. Returns task_id."""
    return lithos.board.create(call, NewTask(title, agent, description, tags or (), priority, depends_on or ()))


@tool(toolset="board", named=True, title="Claim a task")
def lithos_task_claim(
    lithos: Lithos, call: Call, task_id: TaskId, aspect: Aspect, agent: Agent, ttl_minutes: Minutes | None = None
) -> Claimed:
    """Take one aspect of a task before you work on it; you alone hold it until expires_at. Claiming again renews. Send
    `token` as claim_token with later calls, to be refused if you lost it. success false: another holds it; take
    something else."""
    return lithos.board.claim(call, task_id, aspect, agent, ttl_minutes)


@tool(toolset="board", named=True, title="Keep a claim")
def lithos_task_renew(
    lithos: Lithos,
    call: Call,
    task_id: TaskId,
    aspect: Aspect,
    agent: Agent,
    ttl_minutes: Minutes | None = None,
    claim_token: Token | None = None,
) -> Renewed:
    """Keep your claim longer, before it ends. success false with reason claim_lost or wrong_agent: stop working on it;
    another may have taken it."""
    return lithos.board.renew(call, task_id, aspect, agent, ttl_minutes, claim_token)


@tool(toolset="board", named=True, title="Give a claim back")
def lithos_task_release(
    lithos: Lithos, call: Call, task_id: TaskId, aspect: Aspect, agent: Agent, claim_token: Token | None = None
) -> Refusable:
    """Give your claim back when you stop before the task is done."""
    return lithos.board.release(call, task_id, aspect, agent, claim_token)


@tool(toolset="board", title="Complete a task")
def lithos_task_complete(
    lithos: Lithos, call: Call, task_id: TaskId, agent: Agent, claim_token: Token | None = None
) -> Refusable:
    """Mark the whole task done; ends all claims on it. Refusals: success false with reason."""
    return lithos.board.complete(call, task_id, agent, claim_token)


@tool(toolset="board", notes=True, reads=True, title="Who works on what")
def lithos_task_status(
    lithos: Lithos,
    call: Call,
    task_id: Annotated[str | None, Field(description="Omit for all open tasks"), Refers("task")] = None,
    limit: Limit = USUAL_PAGE,
    cursor: Cursor = None,
) -> TaskPage:
    """Who works on what: open tasks with their claims; one task with description, dependencies, notes, findings."""
    return lithos.board.status(task_id, Page(limit, cursor))


@tool(toolset="board", notes=True, title="Report a finding")
def lithos_finding_post(
    lithos: Lithos,
    call: Call,
    task_id: TaskId,
    agent: Agent,
    summary: str,
    knowledge_id: Annotated[str | None, Field(description="Note that holds the details"), Refers("note")] = None,
    claim_token: Token | None = None,
) -> FindingPosted:
    """Tell the others what you found out; put long text into a note and link it."""
    return lithos.board.post_finding(call, task_id, agent, summary, knowledge_id, claim_token)


@tool(toolset="board", reads=True, title="Findings of a task")
def lithos_finding_list(
    lithos: Lithos,
    call: Call,
    task_id: TaskId,
    since: Since | None = None,
    limit: Limit = USUAL_PAGE,
    cursor: Cursor = None,
) -> FindingPage:
    """What agents found on a task, oldest first."""
    return lithos.board.findings(task_id, absolute(since, lithos.clock.now()), Page(limit, cursor))


@tool(toolset="board", destructive=True, title="Cancel a task")
def lithos_task_cancel(lithos: Lithos, call: Call, task_id: TaskId, agent: Agent) -> Refusable:
    """Give a task up; ends all claims on it and frees tasks that waited for it. lithos_task_update with status open
    takes it up again."""
    return lithos.board.cancel(call, task_id, agent)


@tool(toolset="board", title="Change a task")
def lithos_task_update(
    lithos: Lithos,
    call: Call,
    task_id: TaskId,
    agent: Agent,
    title: str | None = None,
    description: str | None = None,
    tags: list[str] | None = None,
    status: Literal["open", "completed", "cancelled"] | None = None,
    priority: Priority | None = None,
    depends_on: Annotated[
        list[str] | None, Field(description="Replaces all dependencies; cycles are refused"), Refers("task")
    ] = None,
) -> Refusable:
    """Change what you name, leave the rest; lists are replaced whole. status: open → completed or cancelled, and back
    to open."""
    edit = TaskEdit(title, description, tags, status, priority, depends_on)
    return lithos.board.update(call, task_id, agent, edit)


@tool(toolset="board", reads=True, title="Next tasks")
def lithos_task_ready(
    lithos: Lithos,
    call: Call,
    tags: Annotated[list[str] | None, Field(description="Having all of these")] = None,
    include_claimed: Annotated[bool, Field(description="Also tasks of which others hold an aspect")] = False,
    limit: Limit = USUAL_PAGE,
    cursor: Cursor = None,
) -> TaskPage:
    """What you can take now: open, not blocked, not held; most urgent first. Then lithos_task_claim."""
    return lithos.board.ready(Page(limit, cursor), tags=tags or (), claimed=include_claimed)


@tool(toolset="board", reads=True, title="List tasks")
def lithos_task_list(
    lithos: Lithos,
    call: Call,
    status: Literal["open", "completed", "cancelled", "all"] = "open",
    tags: Annotated[list[str] | None, Field(description="Having all of these")] = None,
    created_by: str | None = None,
    claimed_by: str | None = None,
    blocked: Annotated[bool | None, Field(description="true: waits for others; false: ready")] = None,
    since: Annotated[str | None, Field(description="Only changed after this time (ISO 8601)")] = None,
    limit: Limit = USUAL_PAGE,
    cursor: Cursor = None,
) -> TaskPage:
    """Tasks that fit all filters, oldest first, with their live claims."""
    wanted = TaskFilter(status, tuple(tags or ()), created_by, claimed_by, blocked, absolute(since, lithos.clock.now()))
    return lithos.board.list(wanted, Page(limit, cursor))


@tool(toolset="board", reads=True, title="Wait for the board")
async def lithos_board_wait(
    lithos: Lithos,
    call: Call,
    since: Annotated[
        int | None, Field(strict=True, ge=0, description="cursor of the last call; omit: from now")
    ] = None,
    timeout: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S, description="Seconds")] = 30,  # noqa: ASYNC109 the tool's public word
    task_id: Annotated[str | None, Field(description="Only changes of this task"), Refers("task")] = None,
) -> Changes:
    """Wait until something on the board changes (tasks, claims taken or released, findings; renewals are silent),
    instead of asking again and again. Returns changes and the cursor for the next call; empty after timeout. `missed`
    true: too much happened, read the lists."""
    return await lithos.board.wait(since, timeout, task_id)
