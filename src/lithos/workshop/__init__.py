"""The workshop: a session's worktrees, its sandboxed commands, and the project's own linters and tests."""

from __future__ import annotations

from lithos.workshop.commands import run_command
from lithos.workshop.discovery import (
    ToolCategory,
    ToolChosen,
    ToolDiscovery,
    Wanted,
    read_about,
)
from lithos.workshop.edits import EditRequest
from lithos.workshop.inspecting import start_check, start_tests
from lithos.workshop.inspection import LINT_CATEGORIES, CheckAnswer, TestAnswer, TestQuestion, TestScope
from lithos.workshop.runs import ANSWER_S, Job, Jobs, Runner
from lithos.workshop.values import Completed, Merge, RunLimits, WorkshopOptions, Worktree
from lithos.workshop.workshop import Workshop, WorkshopGround
from lithos.workshop.worktrees import NewWorktree, Worktrees

__all__ = [
    "ANSWER_S",
    "LINT_CATEGORIES",
    "CheckAnswer",
    "Completed",
    "EditRequest",
    "Job",
    "Jobs",
    "Merge",
    "NewWorktree",
    "RunLimits",
    "Runner",
    "TestAnswer",
    "TestQuestion",
    "TestScope",
    "ToolCategory",
    "ToolChosen",
    "ToolDiscovery",
    "Wanted",
    "Workshop",
    "WorkshopGround",
    "WorkshopOptions",
    "Worktree",
    "Worktrees",
    "read_about",
    "run_command",
    "start_check",
    "start_tests",
]
