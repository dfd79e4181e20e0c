"""Inspection: the questions of an agent about its worktree. Which tools, are there new issues, do the tests pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from lithos.core.call import Call
from lithos.graph.code import Code, tests_reaching
from lithos.graph.git import Git
from lithos.workshop.discovery import (
    Discovery,
    Programs,
    ToolCategory,
    ToolChosen,
    ToolDiscovery,
    Wanted,
    Workplace,
)
from lithos.workshop.inspection.check import CheckAnswer, Checks
from lithos.workshop.inspection.planning import Ask
from lithos.workshop.inspection.suite import Suites, TestAnswer, TestQuestion
from lithos.workshop.runs import Runner
from lithos.workshop.values import Worktree

GitOf = Callable[[Worktree], Git]


class Inspection:
    def __init__(self, discovery: Discovery, runner: Runner, folder: Path, git_of: GitOf, code: Code) -> None:
        self.discovery = discovery
        self._runner = runner
        self._checks = Checks(runner, folder)
        self._suites = Suites(runner)
        self._git_of = git_of
        self._code = code
        self._programs: dict[str, Programs] = {}  # by worktree: which folders there are does not change

    def discover(self, call: Call, worktree: Worktree, wanted: Wanted, *, force_refresh: bool = False) -> ToolDiscovery:
        return self.discovery.discover(call, self._place(worktree), wanted, force_refresh=force_refresh)

    def choose(self, call: Call, worktree: Worktree, category: ToolCategory, language: str, tool: str) -> ToolChosen:
        return self.discovery.choose(call, self._place(worktree), category, language, tool)

    def check(self, call: Call, worktree: Worktree, paths: Sequence[str], categories: Sequence[str]) -> CheckAnswer:
        return self._checks.check(worktree, self._git_of(worktree), self._asker(call, worktree), paths, categories)

    def test(self, call: Call, worktree: Worktree, question: TestQuestion) -> TestAnswer:
        def reached(files: Sequence[str]) -> Iterable[str]:
            return tests_reaching(self._code, call, worktree.main, files)

        return self._suites.test(worktree, self._git_of(worktree), self._asker(call, worktree), question, reached)

    def _asker(self, call: Call, worktree: Worktree) -> Ask:
        """Discovery for one run: the same question is asked once."""
        place = self._place(worktree)
        held: dict[tuple[str, str, str], ToolDiscovery] = {}

        def ask(category: str, folder: str, language: str) -> ToolDiscovery:
            key = category, folder, language
            if key not in held:
                wanted = Wanted(cast(ToolCategory, category), folder, (language,) if language else ())
                held[key] = self.discovery.discover(call, place, wanted)
            return held[key]

        return ask

    def _place(self, worktree: Worktree) -> Workplace:
        if worktree.id not in self._programs:
            self._programs[worktree.id] = Programs(*self._runner.sandbox.program_folders(worktree))
        return Workplace(
            worktree.project,
            worktree.branch,
            worktree.path,
            worktree.session_id,
            lambda: self._git_of(worktree),
            self._programs[worktree.id],
        )
