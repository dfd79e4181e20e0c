"""Inspection: checks and tests of what a session touched."""

from __future__ import annotations

from lithos.workshop.inspection.base_tree import BASES
from lithos.workshop.inspection.check import CheckAnswer, ToolRun, Undecided
from lithos.workshop.inspection.inspection import Inspection
from lithos.workshop.inspection.planning import LINT_CATEGORIES
from lithos.workshop.inspection.suite import SuiteRun, TestAnswer, TestQuestion, TestScope

__all__ = [
    "BASES",
    "LINT_CATEGORIES",
    "CheckAnswer",
    "Inspection",
    "SuiteRun",
    "TestAnswer",
    "TestQuestion",
    "TestScope",
    "ToolRun",
    "Undecided",
]
