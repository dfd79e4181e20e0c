"""Values of findings: an issue, a failed test, and the report of one tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NotRequired

from typing_extensions import TypedDict

IssueCategory = Literal["lint", "format", "type", "compliance"]
Severity = Literal["error", "warning"]
Unit = Literal["files", "folders", "project"]  # the arguments that a tool takes
TAIL = 4_000  # characters of an output that are shown where it is not understood


class InspectorIssue(TypedDict):
    file: str
    line: NotRequired[int]
    column: NotRequired[int]
    category: IssueCategory
    severity: Severity
    message: str
    suggestion: NotRequired[str]
    code: NotRequired[str]
    tool: NotRequired[str]


class TestFailure(TypedDict):
    test_name: str
    file: str
    line: NotRequired[int]
    message: str
    expected: NotRequired[str]
    actual: NotRequired[str]
    stack_trace: NotRequired[str]
    flaky: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tool ran: the top of the worktree, and the folder within it ('' is the top)."""

    root: Path
    cwd: str = ""

    @property
    def folder(self) -> Path:
        return self.root / self.cwd if self.cwd else self.root

    def relative(self, path: str) -> str:
        """A path as a tool names it, relative to the top; one outside stays absolute."""
        path = path.removeprefix("file://")
        if not path.startswith("/"):
            path = path.removeprefix("./")
            return f"{self.cwd}/{path}" if self.cwd else path
        top = str(self.root)
        return path[len(top) + 1 :] if path.startswith(f"{top}/") else path


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The end of a run as far as a parser reads it. `report` is the file that the tool was asked to write."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    ended: str = ""  # a limit that ended the run: timeout, memory, …
    truncated: bool = False
    report: bytes | None = None

    @property
    def tail(self) -> str:
        text = (self.stdout + b"\n" + self.stderr).decode("utf-8", "replace").strip()
        return text[-TAIL:]


@dataclass(slots=True)
class LintReport:
    """Issues of one tool. A `problem` means that the tool itself failed: nothing is known of the code."""

    issues: list[InspectorIssue] = field(default_factory=list)
    problem: str = ""
    parsed: bool = True


@dataclass(slots=True)
class SuiteReport:
    """Results of one run of tests."""

    run: int = 0
    passed: int = 0
    skipped: int = 0
    failures: list[TestFailure] = field(default_factory=list)
    problem: str = ""
    parsed: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a tool: paths relative to the folder where it runs, its config, a file for its report."""

    paths: Sequence[str] = ()
    config: str = ""
    report: str = ""
    only: Sequence[str] = ()  # tests by name, for a second run


Vector = Callable[[Request], list[str]]


@dataclass(frozen=True, slots=True)
class LintAdapter:
    """How to ask a linter, formatter or type checker, and how to read its answer."""

    tool: str
    category: IssueCategory
    vectors: tuple[Vector, ...]  # the newest form first; the next where a version does not know an option
    parse: Callable[[ToolOutput, Place], Iterable[InspectorIssue]]
    fine: frozenset[int] = frozenset({0, 1})  # exit codes of a run that worked
    soft: frozenset[int] = frozenset()  # also of a run that worked, if it found something
    unit: Unit = "files"
    compiles: bool = False  # at first everything, in the worktree's own cache: it gets the time of tests


@dataclass(frozen=True, slots=True)
class SuiteAdapter:
    tool: str
    vectors: tuple[Vector, ...]
    parse: Callable[[ToolOutput, Place], SuiteReport]
    fine: frozenset[int] = frozenset({0, 1})
    unit: Unit = "files"
    writes_report: bool = False
