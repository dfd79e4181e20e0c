"""Commands in a worktree, and the answers of those that take longer than a call."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool
from lithos.tools.workshop.worktrees import Agent, Pipeline, ProjectName, SessionId
from lithos.workshop import ANSWER_S, run_command


class RunAnswer(TypedDict):
    run_id: str
    pending: NotRequired[bool]
    exit_code: NotRequired[int | None]
    stdout: NotRequired[str]
    stderr: NotRequired[str]
    seconds: NotRequired[float]
    killed_by: NotRequired[str | None]  # timeout | memory | processes | disk | stopped
    truncated: NotRequired[bool]
    confined: NotRequired[bool]
    network: NotRequired[str]


@tool(toolset="workshop", named=True, destructive=True, title="Run a command")
async def lithos_work_run(
    lithos: Lithos,
    call: Call,
    argv: Annotated[list[str], Field(min_length=1, description='["pytest", "-q"]; no shell')],
    timeout: Annotated[float | None, Field(gt=0, description="Seconds; default 120, most 600")] = None,  # noqa: ASYNC109 - the name of the specification
    network: bool = False,
    cwd: Annotated[str, Field(max_length=1000), Rare] = ".",
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> RunAnswer:
    """Run a program in your worktree, in a sandbox: it writes there alone. pending: true after 55 s: then
    lithos_work_result."""
    job = await run_command(
        lithos.workshop, call, (session_id, project, pipeline), argv, seconds=timeout, cwd=cwd, network=network
    )
    return cast(RunAnswer, await lithos.workshop.jobs.answer(job))


@tool(toolset="workshop", reads=True, title="Result of a run")
async def lithos_work_result(
    lithos: Lithos,
    call: Call,
    run_id: Annotated[str, Field(max_length=100)],
    wait: Annotated[float, Field(ge=0, le=ANSWER_S)] = ANSWER_S,
    session_id: SessionId = None,
    agent: Agent = None,
) -> RunAnswer:
    """Wait for a pending run, check or test."""
    job = await lithos.workshop.find_job(call, run_id, session_id)
    return cast(RunAnswer, await lithos.workshop.jobs.answer(job, wait, owner=False))
