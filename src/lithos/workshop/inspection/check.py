"""Check: the project's linters, formatters and type checkers on what a session touched, new issues apart from old."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from lithos.errors import TooLarge
from lithos.graph.git import Git
from lithos.workshop.discovery import ToolOption
from lithos.workshop.findings import InspectorIssue, LintReport, Place, Request, ToolOutput, read_lint
from lithos.workshop.inspection.base_tree import base_tree
from lithos.workshop.inspection.comparing import KnownIssues, Lines, by_lines, new_issues
from lithos.workshop.inspection.planning import Ask, Step, arguments, plan_checks
from lithos.workshop.inspection.running import Ran, only_recommended, run_tool, run_vector
from lithos.workshop.inspection.touched import changed_lines, chosen_files, touched_since
from lithos.workshop.runs import Runner
from lithos.workshop.values import Worktree

MOST_ISSUES = 200  # that an answer shows of each kind
MOST_BASES = 32


class ToolRun(TypedDict):
    tool: str
    category: str
    language: str
    files: int
    new: int
    before: int
    parsed: bool
    problem: NotRequired[str]
    not_installed: NotRequired[bool]
    install_cmd: NotRequired[list[str]]
    exit_code: NotRequired[int | None]
    tail: NotRequired[str]


class Undecided(TypedDict):
    category: str
    language: str
    options: list[str]
    recommended: str


class CheckAnswer(TypedDict):
    passed: bool
    files: int
    issues: list[InspectorIssue]  # new against the base
    before: list[InspectorIssue]  # were there already
    compared: str  # base: with a run on the base; lines: by the lines that changed; none: nothing to compare
    tools: list[ToolRun]
    undecided: NotRequired[list[Undecided]]
    truncated: NotRequired[bool]
    confined: NotRequired[bool]
    note: NotRequired[str]


@dataclass(slots=True)
class _StepResult:
    step: Step
    report: LintReport
    ran: Ran
    new: list[InspectorIssue] = field(default_factory=list)
    known: list[InspectorIssue] = field(default_factory=list)


class Checks:
    """`folder` is where the base's files are written for a while."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self._runner = runner
        self._folder = folder
        self._lock = threading.Lock()
        self._bases: OrderedDict[tuple[Any, ...], KnownIssues] = OrderedDict()

    def check(
        self, worktree: Worktree, git: Git, ask: Ask, paths: Sequence[str], categories: Sequence[str]
    ) -> CheckAnswer:
        touched = touched_since(git, worktree.base_commit)
        files = chosen_files(git, worktree.path, touched, paths)
        plan = plan_checks(worktree.path, files, categories, ask)
        results = [self._run(worktree, step, step.files) for step in plan.steps]
        _drop_repeated(results)
        compared = self._compare(worktree, git, results, {**touched.files, **files})
        answer = _answer(results, files, compared)
        if plan.undecided:
            answer["undecided"] = [
                shown_options(each["user_options"]) for each in plan.undecided if "user_options" in each
            ]
        if not files:
            answer["note"] = "Nothing differs from the base; pass paths to check files as they are."
        elif not plan.steps:
            answer["note"] = "No tool is known for these files: lithos_tools_discover says more."
        return answer

    def _run(self, worktree: Worktree, step: Step, files: Sequence[str]) -> _StepResult:
        """All runs that one tool needs, as one report."""
        place = Place(worktree.path, step.cwd)
        whole, last = LintReport(), Ran(ToolOutput(0, b"", b""))
        for paths in arguments(step, files):
            if step.adapter is None:
                return self._run_unknown(worktree, step, paths)
            request = Request(paths, _config(step))
            kind = "build" if step.adapter.compiles else "check"
            last = run_tool(self._runner, worktree, step.adapter.vectors, request, step.cwd, kind=kind)
            if last.missing:
                return _StepResult(step, LintReport(problem=f"{step.tool['name']} {last.missing}"), last)
            report = read_lint(step.adapter, last.output, place)
            whole.issues += report.issues
            whole.problem, whole.parsed = whole.problem or report.problem, whole.parsed and report.parsed
        return _StepResult(step, whole, last)

    def _run_unknown(self, worktree: Worktree, step: Step, paths: Sequence[str]) -> _StepResult:
        vector = step.tool.get("project_command") or step.tool["run_command"]
        ran = run_vector(self._runner, worktree, vector, step.cwd, kind="check")
        code = ran.output.exit_code
        problem = "" if code == 0 else f"{step.tool['name']} ended with exit code {code}"
        if ran.missing:
            problem = f"{step.tool['name']} {ran.missing}"
        return _StepResult(step, LintReport(problem=problem, parsed=False), ran)

    def _compare(self, worktree: Worktree, git: Git, results: list[_StepResult], names: Mapping[str, str]) -> str:
        """Split each report into new and known. Only tools that found something in an old file run on the base."""
        open_ones = []
        for result in results:
            old = [each for each in result.report.issues if names.get(each["file"], each["file"])]
            if old:
                open_ones.append(result)
            else:
                result.new = result.report.issues
        if not open_ones:
            return "none"
        with ExitStack() as opened:
            base: Worktree | None = None
            for result in open_ones:
                key = _base_key(worktree, result, names)
                before = self._held(key)
                if before is None:
                    try:
                        base = base or opened.enter_context(base_tree(git, worktree, self._folder))
                    except TooLarge:
                        return self._compare_lines(worktree, git, open_ones, names)
                    before = self._before(base, result, names)
                    self._hold(key, before)
                result.new, result.known = new_issues(result.report.issues, before, Lines(worktree.path), names)
        return "base"

    def _before(self, base: Worktree, result: _StepResult, names: Mapping[str, str]) -> KnownIssues:
        wanted = {names.get(each["file"], each["file"]) for each in result.report.issues}
        files = sorted(path for path in wanted if path and (base.path / path).is_file())
        lines = Lines(base.path)
        if not files or not (base.path / result.step.cwd).is_dir():
            return KnownIssues.of((), lines)
        return KnownIssues.of(self._run(base, result.step, files).report.issues, lines)

    def _compare_lines(self, worktree: Worktree, git: Git, results: list[_StepResult], names: Mapping[str, str]) -> str:
        for result in results:
            files = {each["file"] for each in result.report.issues if each["file"] in names}
            changed = {
                path: changed_lines(git, worktree.path, worktree.base_commit, path, names[path]) for path in files
            }
            result.new, result.known = by_lines(result.report.issues, changed)
        return "lines"

    def _held(self, key: tuple[Any, ...]) -> KnownIssues | None:
        with self._lock:
            return self._bases.get(key)

    def _hold(self, key: tuple[Any, ...], found: KnownIssues) -> None:
        with self._lock:
            self._bases[key] = found
            while len(self._bases) > MOST_BASES:
                self._bases.popitem(last=False)


def _drop_repeated(results: list[_StepResult]) -> None:
    """A linter that compiles, as clippy, repeats what the type checker says."""
    checkers = [each for each in results if each.step.tool["category"] == "type_checker"]
    said = {_place_of(issue) for each in checkers for issue in each.report.issues}
    for each in results:
        if each.step.tool["category"] == "linter":
            each.report.issues = [issue for issue in each.report.issues if _place_of(issue) not in said]


def _place_of(issue: InspectorIssue) -> tuple[Any, ...]:
    return issue["file"], issue.get("line"), issue.get("column"), issue.get("code"), issue["message"]


def _base_key(worktree: Worktree, result: _StepResult, names: Mapping[str, str]) -> tuple[Any, ...]:
    files = frozenset(names.get(each["file"], each["file"]) for each in result.report.issues)
    tool = result.step.tool
    return worktree.project, worktree.base_commit, tool["name"], tool["category"], result.step.cwd, files


def _config(step: Step) -> str:
    config = step.tool.get("config_path", "")
    return config[len(step.cwd) + 1 :] if step.cwd and config.startswith(f"{step.cwd}/") else config


def _answer(results: list[_StepResult], files: Mapping[str, str], compared: str) -> CheckAnswer:
    new = [each for result in results for each in result.new]
    known = [each for result in results for each in result.known]
    ran = any(not result.ran.missing for result in results)
    problems = any(
        result.report.problem and not (ran and only_recommended(result.ran, result.step.tool)) for result in results
    )
    errors = any(each["severity"] == "error" for each in new)
    answer: CheckAnswer = {
        "passed": not errors and not problems,
        "files": len(files),
        "issues": _ordered(new)[:MOST_ISSUES],
        "before": _ordered(known)[:MOST_ISSUES],
        "compared": compared,
        "tools": [_tool_run(result) for result in results],
    }
    if len(new) > MOST_ISSUES or len(known) > MOST_ISSUES:
        answer["truncated"] = True
    confined = [result.ran.done.confined for result in results if result.ran.done is not None]
    if confined:
        answer["confined"] = all(confined)
    return answer


def _ordered(issues: list[InspectorIssue]) -> list[InspectorIssue]:
    return sorted(issues, key=lambda each: (each["severity"] != "error", each["file"], each.get("line") or 0))


def _tool_run(result: _StepResult) -> ToolRun:
    tool, output = result.step.tool, result.ran.output
    shown: ToolRun = {
        "tool": tool["name"],
        "category": tool["category"],
        "language": tool["language"],
        "files": len(result.step.files),
        "new": len(result.new),
        "before": len(result.known),
        "parsed": result.report.parsed,
    }
    if result.report.problem:
        shown["problem"] = result.report.problem
    if result.ran.missing:
        shown["not_installed"] = True
        if "install_cmd" in tool:
            shown["install_cmd"] = tool["install_cmd"]
    elif not result.report.parsed:
        shown["exit_code"] = output.exit_code
        shown["tail"] = output.tail
    return shown


def shown_options(options: Sequence[ToolOption]) -> Undecided:
    first = options[0]["tool"]
    recommended = next((each["tool"]["name"] for each in options if each["recommended"]), first["name"])
    return {
        "category": first["category"],
        "language": first["language"],
        "options": [each["tool"]["name"] for each in options],
        "recommended": recommended,
    }
