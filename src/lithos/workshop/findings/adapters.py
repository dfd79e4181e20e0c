"""Adapters by tool: the vector that makes it print something to parse, and the reader of that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lithos.workshop.findings import checkers, formatters, linters, suites
from lithos.workshop.findings.reading import Unparsed
from lithos.workshop.findings.values import (
    InspectorIssue,
    LintAdapter,
    LintReport,
    Place,
    Request,
    SuiteAdapter,
    SuiteReport,
    ToolOutput,
    Vector,
)

_UNKNOWN_OPTION = (b"unexpected argument", b"unrecognized", b"unknown flag", b"unknown option", b"is not expected")
NO_TESTS: Final = "no test was collected"


def _files(*before: str) -> Vector:
    return lambda request: [*before, *request.paths]


def _fixed(*vector: str) -> Vector:
    return lambda request: [*vector]


def _tsc(program: str) -> Vector:
    def vector(request: Request) -> list[str]:
        chosen = ["-p", request.config] if request.config.endswith(".json") else [*request.paths]
        return [program, "--noEmit", "--pretty", "false", *chosen]

    return vector


def _pytest(request: Request) -> list[str]:
    options = ["-q", f"--junitxml={request.report}", "-o", "junit_family=xunit1", "-p", "no:cacheprovider"]
    return ["pytest", *options, *(request.only or request.paths)]


def _named(*program: str) -> Vector:
    """jest and vitest: files, and names of tests as one pattern."""

    def vector(request: Request) -> list[str]:
        names = ["-t", "^(" + "|".join(_literal(each) for each in request.only) + ")$"] if request.only else []
        return [*program, f"--outputFile={request.report}", *names, *request.paths]

    return vector


def _literal(text: str) -> str:
    return "".join(f"\\{mark}" if mark in r"\^$.*+?()[]{}|/" else mark for mark in text)


def _go_test(request: Request) -> list[str]:
    names = [each.rpartition(".")[2] for each in request.only]
    chosen = ["-run", "/".join(f"^{_literal(part)}$" for part in names[0].split("/"))] if len(names) == 1 else []
    again = ["-count=1"] if request.only else []
    return ["go", "test", "-json", "-vet=off", *again, *chosen, *(request.paths or ("./...",))]


def _cargo_test(request: Request) -> list[str]:
    chosen = ["--", "--exact", *request.only] if request.only else []
    return ["cargo", "test", "--no-fail-fast", "--message-format=json", *chosen]


_RUST = frozenset({0, 101})
LINTERS: Final[Mapping[tuple[str, str], LintAdapter]] = {
    (each.tool, each.category): each
    for each in (
        LintAdapter("ruff", "lint", (_files("ruff", "check", "--no-fix", "--output-format=json-lines"),), linters.ruff),
        LintAdapter(
            "ruff",
            "format",
            (_files("ruff", "format", "--check", "--output-format=json"), _files("ruff", "format", "--check")),
            formatters.ruff_format,
            soft=frozenset({2}),
        ),
        LintAdapter("flake8", "lint", (_files("flake8"),), linters.flake8),
        LintAdapter(
            "black",
            "format",
            (_files("black", "--check", "-q", "-v"),),
            formatters.would_reformat,
            soft=frozenset({123}),
        ),
        LintAdapter(
            "mypy",
            "type",
            (
                _files("mypy", "--output", "json", "--no-error-summary"),
                _files("mypy", "--show-column-numbers", "--no-pretty", "--no-error-summary"),
            ),
            checkers.mypy,
            soft=frozenset({2}),
        ),
        LintAdapter("pyright", "type", (_files("pyright", "--outputjson"),), checkers.pyright),
        LintAdapter(
            "eslint", "lint", (_files("eslint", "-f", "json", "--no-error-on-unmatched-pattern"),), linters.eslint
        ),
        LintAdapter("oxlint", "lint", (_files("oxlint", "-f", "json"),), linters.oxlint),
        LintAdapter("biome", "lint", (_files(*linters.BIOME_LINT),), linters.biome),
        LintAdapter("biome", "format", (_files(*linters.BIOME_FORMAT),), linters.biome),
        LintAdapter("tsc", "type", (_tsc("tsc"),), checkers.tsc, frozenset({0, 1, 2}), unit="project"),
        LintAdapter("vue-tsc", "type", (_tsc("vue-tsc"),), checkers.tsc, frozenset({0, 1, 2}), unit="project"),
        LintAdapter(
            "prettier",
            "format",
            (_files("prettier", "--list-different", "--ignore-unknown"),),
            formatters.prettier,
            soft=frozenset({2}),
        ),
        LintAdapter("go vet", "type", (_files("go", "vet", "-json"),), checkers.go_vet, unit="folders", compiles=True),
        LintAdapter("gofmt", "format", (_files("gofmt", "-d"),), formatters.gofmt, soft=frozenset({2})),
        LintAdapter(
            "golangci-lint",
            "lint",
            (
                _files("golangci-lint", "run", "--output.json.path=stdout", "--show-stats=false"),
                _files("golangci-lint", "run", "--out-format=json", "--timeout=10m"),  # its own is a minute
            ),
            linters.golangci,
            unit="folders",
            compiles=True,
        ),
        LintAdapter(
            "clippy",
            "lint",
            (_fixed("cargo", "clippy", "--all-targets", "--quiet", "--message-format=json"),),
            linters.cargo("lint"),
            _RUST,
            unit="project",
            compiles=True,
        ),
        LintAdapter(
            "cargo check",
            "type",
            (_fixed("cargo", "check", "--all-targets", "--quiet", "--message-format=json"),),
            linters.cargo("type"),
            _RUST,
            unit="project",
            compiles=True,
        ),
        LintAdapter(
            "rustfmt",
            "format",
            (_fixed("cargo", "fmt", "--check", "--", "--color", "never"),),
            formatters.rustfmt,
            unit="project",
        ),
        LintAdapter(
            "shellcheck", "lint", (_files("shellcheck", "-f", "json1"),), linters.shellcheck, soft=frozenset({2})
        ),
    )
}
SUITES: Final[Mapping[str, SuiteAdapter]] = {
    each.tool: each
    for each in (
        SuiteAdapter("pytest", (_pytest,), suites.junit, frozenset({0, 1, 2, 5}), writes_report=True),
        # Its cache is in node_modules, which a run cannot write: vitest would fail after tests that passed.
        SuiteAdapter(
            "vitest",
            (_named("vitest", "run", "--no-cache", "--reporter=json"), _named("vitest", "run", "--reporter=json")),
            suites.jest,
            writes_report=True,
        ),
        SuiteAdapter("jest", (_named("jest", "--json"),), suites.jest, writes_report=True),
        SuiteAdapter("go test", (_go_test,), suites.go_test, unit="folders"),
        SuiteAdapter("cargo test", (_cargo_test,), suites.cargo_test, _RUST, unit="project"),
    )
}


def unknown_option(output: ToolOutput) -> bool:
    """Whether this version of the tool refused an option that newer ones know."""
    said = (output.stderr + output.stdout[:2_000]).lower()
    return output.exit_code not in (0, None) and any(each in said for each in _UNKNOWN_OPTION)


def read_lint(adapter: LintAdapter, output: ToolOutput, place: Place) -> LintReport:
    """The issues of a run. A run that failed, or failed without naming an issue, is a problem and never a pass."""
    if output.ended or output.exit_code is None:
        again = ". What it compiled is kept: check again" if adapter.compiles and output.ended == "timeout" else ""
        return LintReport(problem=f"{adapter.tool} was ended: {output.ended or 'it was killed'}{again}")
    try:
        issues = _distinct(adapter, output, place)
    except (Unparsed, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return LintReport(problem=_said(adapter.tool, output, str(error)), parsed=False)
    code = output.exit_code
    if code not in adapter.fine and not (code in adapter.soft and issues):
        return LintReport(issues, _said(adapter.tool, output))
    if code != 0 and not issues:
        return LintReport([], _said(adapter.tool, output))
    if output.truncated:
        return LintReport(issues, f"{adapter.tool} printed more than is kept: these are not all of its findings")
    return LintReport(issues)


def _distinct(adapter: LintAdapter, output: ToolOutput, place: Place) -> list[InspectorIssue]:
    found: dict[tuple[object, ...], InspectorIssue] = {}
    for each in adapter.parse(output, place):
        each["tool"] = adapter.tool
        key = each["file"], each.get("line"), each.get("column"), each.get("code"), each["message"]
        found.setdefault(key, each)
    return [*found.values()]


def read_suite(adapter: SuiteAdapter, output: ToolOutput, place: Place) -> SuiteReport:
    """Results of a run of tests. None collected is a problem, and so is an end that no failure explains."""
    if output.ended or output.exit_code is None:
        return SuiteReport(problem=f"{adapter.tool} was ended: {output.ended or 'it was killed'}")
    try:
        report = adapter.parse(output, place)
    except (Unparsed, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return SuiteReport(problem=_said(adapter.tool, output, str(error)), parsed=False)
    if report.run == 0 and not report.failures:
        report.problem = NO_TESTS if output.exit_code in (*adapter.fine, 5) else _said(adapter.tool, output)
    elif output.exit_code not in adapter.fine or (output.exit_code != 0 and not report.failures):
        report.problem = _said(adapter.tool, output)
    return report


def _said(tool: str, output: ToolOutput, why: str = "") -> str:
    end = f"{tool} failed with exit code {output.exit_code}" if output.exit_code else f"{tool} could not be read"
    said = output.stderr.decode("utf-8", "replace").strip() or output.stdout.decode("utf-8", "replace").strip()
    return ": ".join(part for part in (end, why, said[-600:]) if part)
