"""Tools of the project: which there are, what they say of a change."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool
from lithos.tools.workshop.worktrees import Agent, Pipeline, ProjectName, SessionId
from lithos.workshop import (
    LINT_CATEGORIES,
    CheckAnswer,
    TestAnswer,
    TestQuestion,
    TestScope,
    ToolCategory,
    ToolChosen,
    ToolDiscovery,
    Wanted,
    start_check,
    start_tests,
)

LintCategory = Literal["linter", "formatter", "type_checker"]
Paths = Annotated[list[str] | None, Field(max_length=200, description="Default: what differs from the base")]


class PendingRun(TypedDict):
    run_id: str
    pending: NotRequired[bool]


class CheckRun(PendingRun, CheckAnswer, total=False): ...


class TestRun(PendingRun, TestAnswer, total=False): ...


@tool(toolset="workshop", named=True, title="Discover tools")
def lithos_tools_discover(
    lithos: Lithos,
    call: Call,
    category: ToolCategory,
    path: Annotated[str, Field(max_length=1000)] = ".",
    languages: Annotated[list[str] | None, Field(max_length=22), Rare] = None,
    force_refresh: Annotated[bool, Rare] = False,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> ToolDiscovery:
    """Which tools the project uses. requires_user: show user_options, then lithos_tools_choose."""
    worktree = lithos.workshop.worktree(call, session_id, project, pipeline)
    wanted = Wanted(category, path, tuple(languages or ()))
    return lithos.workshop.inspection.discover(call, worktree, wanted, force_refresh=force_refresh)


@tool(toolset="workshop", named=True, title="Choose a tool")
def lithos_tools_choose(
    lithos: Lithos,
    call: Call,
    category: ToolCategory,
    language: Annotated[str, Field(max_length=40)],
    tool: Annotated[str, Field(max_length=200, description="Name, or a command as make lint")],
    session_id: SessionId = None,
    project: ProjectName = None,
    agent: Agent = None,
) -> ToolChosen:
    """Record the user's choice of a tool for this project."""
    worktree = lithos.workshop.worktree(call, session_id, project)
    return lithos.workshop.inspection.choose(call, worktree, category, language, tool)


@tool(toolset="workshop", named=True, title="Lint, format and type check")
async def lithos_work_check(
    lithos: Lithos,
    call: Call,
    paths: Paths = None,
    categories: list[LintCategory] | None = None,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> CheckRun:
    """Run the project's own linter, formatter (no change) and type checker. issues are new, before were in the base."""
    place = session_id, project, pipeline
    job = await start_check(lithos.workshop, call, place, paths or (), categories or LINT_CATEGORIES)
    return cast(CheckRun, await lithos.workshop.jobs.answer(job))


@tool(toolset="workshop", named=True, title="Test")
async def lithos_work_test(
    lithos: Lithos,
    call: Call,
    paths: Paths = None,
    scope: Annotated[TestScope, Field(description="task: tests that the change touches")] = "task",
    coverage: Annotated[bool, Field(description="Touched lines that no test ran")] = False,
    session_id: SessionId = None,
    project: ProjectName = None,
    pipeline: Pipeline = "",
    agent: Agent = None,
) -> TestRun:
    """Run the project's tests. A failed one is repeated alone; flaky if it passes then."""
    question = TestQuestion(tuple(paths or ()), scope, coverage)
    job = await start_tests(lithos.workshop, call, (session_id, project, pipeline), question)
    return cast(TestRun, await lithos.workshop.jobs.answer(job))
