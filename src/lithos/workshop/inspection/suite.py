"""Test: the tests that a session touched, run by the project's own framework; failed ones once more, alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from lithos.graph.git import Git
from lithos.workshop.discovery import DiscoveredTool, ToolDiscovery
from lithos.workshop.findings import SUITES, Place, Request, SuiteAdapter, SuiteReport, TestFailure, read_suite
from lithos.workshop.inspection.check import Undecided, shown_options
from lithos.workshop.inspection.coverage import SUPPORTED, read_coverage, recording, reporting, uncovered
from lithos.workshop.inspection.planning import Ask, grouped, working_folder
from lithos.workshop.inspection.running import Ran, only_recommended, run_tool, run_vector
from lithos.workshop.inspection.selection import Reached, is_test_file, select_tests
from lithos.workshop.inspection.touched import changed_lines, chosen_files, touched_since
from lithos.workshop.run_files import remove_tree
from lithos.workshop.runs import Runner
from lithos.workshop.values import Worktree

TestScope = Literal["task", "all"]
MOST_RERUNS = 20
MOST_FAILURES = 100
MOST_CHOSEN = 50
_GO_TEST = re.compile(r"\.(?:Test|Example|Fuzz)\w*")


class SuiteRun(TypedDict):
    tool: str
    language: str
    folder: str
    tests_run: int
    tests_passed: int
    parsed: bool
    problem: NotRequired[str]
    not_installed: NotRequired[bool]
    install_cmd: NotRequired[list[str]]
    exit_code: NotRequired[int | None]
    tail: NotRequired[str]


class TestAnswer(TypedDict):
    passed: bool
    tests_run: int
    tests_passed: int
    skipped: int
    failures: list[TestFailure]
    suites: list[SuiteRun]
    chosen: NotRequired[dict[str, list[str]]]
    flaky: NotRequired[int]
    uncovered: NotRequired[dict[str, list[int]]]
    undecided: NotRequired[list[Undecided]]
    truncated: NotRequired[bool]
    confined: NotRequired[bool]
    note: NotRequired[str]


@dataclass(slots=True)
class SuiteStep:
    tool: DiscoveredTool
    cwd: str
    files: list[str] = field(default_factory=list)  # relative to the top; none: all tests


@dataclass(slots=True)
class _SuiteResult:
    step: SuiteStep
    report: SuiteReport
    ran: Ran
    missing: dict[str, set[int]] | None = None


@dataclass(frozen=True, slots=True)
class TestQuestion:
    paths: Sequence[str] = ()
    scope: TestScope = "task"
    coverage: bool = False


class Suites:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def test(self, worktree: Worktree, git: Git, ask: Ask, question: TestQuestion, reached: Reached) -> TestAnswer:
        touched = touched_since(git, worktree.base_commit)
        files = chosen_files(git, worktree.path, touched, question.paths)
        chosen = {} if question.scope == "all" else self._choose(worktree, git, files, question, reached)
        steps, undecided = self._steps(worktree.path, chosen, files, question, ask)
        results = [self._run(worktree, step, question.coverage) for step in steps]
        for result in results:
            self._repeat(worktree, result)
        answer = _answer(results)
        if question.scope == "task":
            answer["chosen"] = dict([*chosen.items()][:MOST_CHOSEN])
        if question.coverage:
            answer["uncovered"] = self._uncovered(worktree, git, results, files)
        if undecided:
            answer["undecided"] = [shown_options(each["user_options"]) for each in undecided if "user_options" in each]
        if not results:
            answer["note"] = _why_nothing(files, chosen, question)
        elif question.coverage and any(each.missing is None for each in results):
            answer["note"] = "Coverage was not recorded by every suite: coverage.py, Go, vitest and jest can."
        return answer

    # -- steps

    def _choose(
        self, worktree: Worktree, git: Git, files: Mapping[str, str], question: TestQuestion, reached: Reached
    ) -> dict[str, list[str]]:
        named = [path for path in files if is_test_file(path)] if question.paths else []
        if named:
            return {path: ["named"] for path in named}
        listed = git.run("ls-files", "-co", "--exclude-standard", "-z", "--deduplicate")
        everything = [path for path in listed.decode("utf-8", "surrogateescape").split("\0") if path]
        present = (
            [path for path in everything if (worktree.path / path).is_file()] if len(everything) < 5_000 else everything
        )
        maps = [worktree.path / ".coverage", worktree.main / ".coverage"]
        return select_tests([*files], present, worktree.path, maps, reached)

    def _steps(
        self,
        root: Path,
        chosen: Mapping[str, Sequence[str]],
        files: Mapping[str, str],
        question: TestQuestion,
        ask: Ask,
    ) -> tuple[list[SuiteStep], list[ToolDiscovery]]:
        steps: dict[tuple[str, str], SuiteStep] = {}
        undecided: dict[str, ToolDiscovery] = {}
        groups: dict[tuple[str, str], list[str]] = {("", ""): []}
        if question.scope == "task":
            rust = [path for path in files if path.endswith(".rs")]  # unit tests are in the file itself
            groups = grouped([*chosen, *rust])
        for (folder, language), names in groups.items():
            answer = ask("test_framework", folder, language)
            if answer["requires_user"]:
                undecided.setdefault(language, answer)
            for tool in answer["tools"]:
                cwd = working_folder(root, folder, tool)
                step = steps.setdefault((tool["name"], cwd), SuiteStep(tool, cwd))
                step.files += [name for name in names if name not in step.files]
        return [*steps.values()], [*undecided.values()]

    def _run(self, worktree: Worktree, step: SuiteStep, coverage: bool) -> _SuiteResult:
        adapter = SUITES.get(step.tool["name"])
        if adapter is None:
            return self._run_unknown(worktree, step)
        place = Place(worktree.path, step.cwd)
        inside, outside = self._runner.sandbox.private_file(worktree, "report")
        request = Request(_paths(adapter, step), report=inside)
        if not coverage or adapter.tool not in SUPPORTED:
            ran = run_tool(self._runner, worktree, adapter.vectors, request, step.cwd, kind="test", report=outside)
            return _SuiteResult(step, _read(adapter, ran, place), ran)
        folder, folder_outside = self._runner.sandbox.private_file(worktree, "coverage")
        remove_tree(folder_outside)  # an earlier run may have left a link here
        folder_outside.mkdir()
        vector = recording(adapter.tool, adapter.vectors[0](request), folder)
        ran = run_vector(self._runner, worktree, vector, step.cwd, kind="test", report=outside)
        if ran.missing:  # coverage.py is not installed: the tests run without it
            return self._run(worktree, step, False)
        if after := reporting(adapter.tool, folder):
            run_vector(self._runner, worktree, after, step.cwd, kind="check")
        missing = read_coverage(adapter.tool, folder_outside, place)
        return _SuiteResult(step, _read(adapter, ran, place), ran, missing)

    def _run_unknown(self, worktree: Worktree, step: SuiteStep) -> _SuiteResult:
        vector = step.tool.get("project_command") or step.tool["run_command"]
        ran = run_vector(self._runner, worktree, vector, step.cwd, kind="test")
        problem = "its output is not understood: judge exit_code and tail"
        return _SuiteResult(step, SuiteReport(problem=problem, parsed=False), ran)

    def _repeat(self, worktree: Worktree, result: _SuiteResult) -> None:
        """Run each failed test once more, alone. One that passes then is flaky."""
        adapter = SUITES.get(result.step.tool["name"])
        if adapter is None:
            return
        place = Place(worktree.path, result.step.cwd)
        inside, outside = self._runner.sandbox.private_file(worktree, "report")
        for each in [each for each in result.report.failures if _can_repeat(adapter.tool, each)][:MOST_RERUNS]:
            request = Request(_paths_of(adapter, each, result.step), report=inside, only=[each["test_name"]])
            ran = run_tool(
                self._runner, worktree, adapter.vectors, request, result.step.cwd, kind="test", report=outside
            )
            again = _read(adapter, ran, place)
            if again.passed and not again.failures and not again.problem:
                each["flaky"] = True

    def _uncovered(
        self, worktree: Worktree, git: Git, results: list[_SuiteResult], files: Mapping[str, str]
    ) -> dict[str, list[int]]:
        missing: dict[str, set[int]] = {}
        for result in results:
            for path, lines in (result.missing or {}).items():
                missing[path] = missing[path] & lines if path in missing else lines
        languages = {"py": "pytest", "go": "go test", "js": "", "ts": "", "jsx": "", "tsx": "", "mjs": "", "mts": ""}
        wanted = [path for path in files if path.rpartition(".")[2] in languages and not is_test_file(path)]
        changed = {path: changed_lines(git, worktree.path, worktree.base_commit, path, files[path]) for path in wanted}
        return uncovered(missing, changed) if any(each.missing is not None for each in results) else {}


def _read(adapter: SuiteAdapter, ran: Ran, place: Place) -> SuiteReport:
    if ran.missing:
        return SuiteReport(problem=f"{adapter.tool} {ran.missing}")
    return read_suite(adapter, ran.output, place)


def _paths(adapter: SuiteAdapter, step: SuiteStep) -> list[str]:
    if adapter.unit == "project":
        return []
    inner = [path[len(step.cwd) + 1 :] if step.cwd else path for path in step.files]
    if adapter.unit == "folders":
        inner = [f"./{path.rpartition('/')[0]}".rstrip("/") for path in inner]
    return [f"./{path}" if path.startswith("-") else path for path in dict.fromkeys(inner)]


def _paths_of(adapter: SuiteAdapter, each: TestFailure, step: SuiteStep) -> list[str]:
    """Where one failed test is, for the run of it alone."""
    return _paths(adapter, SuiteStep(step.tool, step.cwd, [each["file"]])) if each["file"] else []


def _can_repeat(tool: str, each: TestFailure) -> bool:
    """A file that does not load has no test that could be run alone."""
    name = each["test_name"]
    if tool == "pytest":
        return "::" in name
    if tool == "go test":
        return bool(_GO_TEST.search(name))
    return name not in (each["file"], "compile")


def _answer(results: list[_SuiteResult]) -> TestAnswer:
    failures = [each for result in results for each in result.report.failures]
    flaky = sum(1 for each in failures if each.get("flaky"))
    run = sum(result.report.run for result in results)
    ran = any(not result.ran.missing for result in results)
    problems = any(
        result.report.problem and not (ran and only_recommended(result.ran, result.step.tool)) for result in results
    )
    answer: TestAnswer = {
        "passed": bool(results) and run > 0 and not problems and flaky == len(failures),
        "tests_run": run,
        "tests_passed": sum(result.report.passed for result in results),
        "skipped": sum(result.report.skipped for result in results),
        "failures": failures[:MOST_FAILURES],
        "suites": [_suite_run(result) for result in results],
    }
    if flaky:
        answer["flaky"] = flaky
    if len(failures) > MOST_FAILURES:
        answer["truncated"] = True
    confined = [result.ran.done.confined for result in results if result.ran.done is not None]
    if confined:
        answer["confined"] = all(confined)
    return answer


def _suite_run(result: _SuiteResult) -> SuiteRun:
    tool, report = result.step.tool, result.report
    shown: SuiteRun = {
        "tool": tool["name"],
        "language": tool["language"],
        "folder": result.step.cwd or ".",
        "tests_run": report.run,
        "tests_passed": report.passed,
        "parsed": report.parsed,
    }
    if report.problem:
        shown["problem"] = report.problem
    if result.ran.missing:
        shown["not_installed"] = True
        if "install_cmd" in tool:
            shown["install_cmd"] = tool["install_cmd"]
    elif not report.parsed:
        shown["exit_code"] = result.ran.output.exit_code
        shown["tail"] = result.ran.output.tail
    return shown


def _why_nothing(files: Mapping[str, str], chosen: Mapping[str, Any], question: TestQuestion) -> str:
    if question.scope == "task" and not files:
        return 'Nothing differs from the base, so no test is touched; scope "all" runs every test.'
    if question.scope == "task" and not chosen:
        return 'No test touches these files; scope "all" runs every test.'
    return "No test framework is known here: lithos_tools_discover says more."
