"""Findings: what linters, formatters, type checkers and test runners print, as issues and failed tests."""

from __future__ import annotations

from lithos.workshop.findings.adapters import LINTERS, NO_TESTS, SUITES, read_lint, read_suite, unknown_option
from lithos.workshop.findings.linters import sarif
from lithos.workshop.findings.values import (
    InspectorIssue,
    IssueCategory,
    LintAdapter,
    LintReport,
    Place,
    Request,
    SuiteAdapter,
    SuiteReport,
    TestFailure,
    ToolOutput,
)

__all__ = [
    "LINTERS",
    "NO_TESTS",
    "SUITES",
    "InspectorIssue",
    "IssueCategory",
    "LintAdapter",
    "LintReport",
    "Place",
    "Request",
    "SuiteAdapter",
    "SuiteReport",
    "TestFailure",
    "ToolOutput",
    "read_lint",
    "read_suite",
    "sarif",
    "unknown_option",
]
