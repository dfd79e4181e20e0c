"""Running tools in a worktree: the newest form of a vector first, the result as a parser reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lithos.errors import NotFound
from lithos.workshop.discovery import DiscoveredTool
from lithos.workshop.findings import Request, ToolOutput, unknown_option
from lithos.workshop.findings.values import Vector
from lithos.workshop.run_files import read_beneath, remove_tree
from lithos.workshop.runs import Runner
from lithos.workshop.values import Completed, Worktree

LARGEST_REPORT = 64 * 2**20


@dataclass(slots=True)
class Ran:
    """`missing`: why nothing ran, where the program is not installed or cannot start."""

    output: ToolOutput
    done: Completed | None = None
    missing: str = ""


def only_recommended(ran: Ran, tool: DiscoveredTool) -> bool:
    """Whether it is missing and no file of the project asks for it: an answer names it, and may pass by the others."""
    return bool(ran.missing) and tool["confidence"] == "low"


def run_vector(
    runner: Runner, worktree: Worktree, argv: Sequence[str], cwd: str, *, kind: str, report: Path | None = None
) -> Ran:
    if report is not None:
        remove_tree(report)
    try:
        done = runner.run(worktree, argv, cwd=cwd or ".", kind=kind)
    except NotFound as error:
        if error.details.get("reason") != "not_installed":
            raise
        why = error.message.removeprefix(repr(argv[0][:200]) + " ")
        return Ran(ToolOutput(None, b"", error.message.encode()), missing=why)
    written = read_beneath(report.parent, report.name, LARGEST_REPORT) if report is not None else None
    ended = done.killed_by or ("timeout" if done.timed_out else "")
    return Ran(ToolOutput(done.exit_code, done.stdout, done.stderr, ended, done.truncated, written), done)


def run_tool(
    runner: Runner,
    worktree: Worktree,
    vectors: Sequence[Vector],
    request: Request,
    cwd: str,
    *,
    kind: str = "check",
    report: Path | None = None,
) -> Ran:
    """A version that does not know an option gets the older form."""
    ran = run_vector(runner, worktree, vectors[0](request), cwd, kind=kind, report=report)
    for vector in vectors[1:]:
        if ran.missing or not unknown_option(ran.output):
            break
        ran = run_vector(runner, worktree, vector(request), cwd, kind=kind, report=report)
    return ran
