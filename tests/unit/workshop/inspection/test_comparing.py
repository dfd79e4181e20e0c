"""Which issues are new, which tests a change touches, which lines no test ran."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, cast

from lithos.workshop.findings import LINTERS, SUITES, InspectorIssue, LintReport, Place, ToolOutput, read_suite
from lithos.workshop.inspection import check
from lithos.workshop.inspection.comparing import KnownIssues, Lines, by_lines, new_issues
from lithos.workshop.inspection.coverage import read_coverage, uncovered
from lithos.workshop.inspection.planning import Step, arguments, grouped
from lithos.workshop.inspection.running import Ran
from lithos.workshop.inspection.selection import module_name, select_tests
from tests.support.planted import plant


def found(file: str, line: int, message: str = "unused") -> InspectorIssue:
    return {"file": file, "line": line, "category": "lint", "severity": "error", "message": message, "tool": "ruff"}


def test_a_moved_issue_is_known_and_a_second_like_it_is_new(tmp_path: Path) -> None:
    before = plant(tmp_path / "before", {"a.py": "import os\n", "b.py": "import re\n"})
    now = plant(tmp_path / "now", {"a.py": "x = 1\nimport os\nimport os\n", "moved.py": "\nimport re\n"})
    base = KnownIssues.of([found("a.py", 1), found("b.py", 1)], Lines(before))
    issues = [found("a.py", 2), found("a.py", 3), found("moved.py", 2)]
    new, known = new_issues(issues, base, Lines(now), {"a.py": "a.py", "moved.py": "b.py"})
    assert (new, known) == ([issues[1]], [issues[0], issues[2]])


def test_without_a_base_the_changed_lines_decide() -> None:
    issues = [found("a.py", 2), found("a.py", 9), found("b.py", 1)]
    assert by_lines(issues, {"a.py": {2, 3}}) == ([issues[0]], issues[1:])


def test_tests_are_chosen_by_name_package_coverage_and_graph(tmp_path: Path) -> None:
    everything = ["src/board.py", "tests/test_board.py", "tests/test_far.py", "tests/test_used.py", "web/card.tsx"]
    everything += ["web/card.test.tsx", "go/x.go", "go/y_test.go", "tests/test_other.py"]
    database = sqlite3.connect(tmp_path / ".coverage")
    database.executescript(
        "CREATE TABLE file (id, path); CREATE TABLE context (id, context); CREATE TABLE arc (file_id, context_id);"
        "CREATE TABLE line_bits (file_id, context_id); INSERT INTO file VALUES (1, '/ci/src/board.py');"
        "INSERT INTO context VALUES (1, 'tests/test_far.py::test_x|run'); INSERT INTO line_bits VALUES (1, 1);"
    )
    database.commit()
    database.close()
    (tmp_path / "broken").write_bytes(b"no database")
    touched = ["src/board.py", "web/card.tsx", "go/x.go"]
    maps = [tmp_path / ".coverage", tmp_path / "broken", tmp_path / "none"]
    chosen = select_tests(touched, everything, tmp_path, maps, lambda files: ["tests/test_used.py"])
    assert chosen == {
        "go/y_test.go": ["same package"],
        "tests/test_board.py": ["same name"],
        "tests/test_far.py": ["coverage"],
        "tests/test_used.py": ["code graph"],
        "web/card.test.tsx": ["same name"],
    }
    folder = ["tests/test_board/test_lists.py", "tests/test_boards/test_lists.py", "tests/board/test_lists.py"]
    assert [*select_tests(["src/board.py"], folder, tmp_path, (), lambda files: ())] == folder[:1]
    assert module_name("src/board/__init__.py") == module_name("tests/test_board.py") == "board"


def test_uncovered_lines_of_each_recorder(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": "", "x/a.go": ""})
    place = Place(tmp_path)
    reports: dict[str, tuple[str, str, dict[str, Any]]] = {
        "pytest": ("coverage.json", '{"files": {"a.py": {"missing_lines": [3, 9]}}}', {"a.py": {3, 9}}),
        "go test": ("cover.out", "mode: set\nm.io/x/a.go:3.1,5.2 1 0\nm.io/x/a.go:5.1,5.9 1 1\n", {"x/a.go": {3, 4}}),
        "vitest": (
            "coverage-final.json",
            f'{{"{tmp_path}/b.ts": {{"statementMap": {{"0": {{"start": {{"line": 4}}}}}}, "s": {{"0": 0}}}}}}',
            {"b.ts": {4}},
        ),
    }
    for tool, (name, text, wanted) in reports.items():
        (tmp_path / name).write_text(text)
        assert read_coverage(tool, tmp_path, place) == wanted
    assert read_coverage("jest", tmp_path / "none", place) is None
    assert uncovered({"a.py": {3, 9}}, {"a.py": {1, 3}, "new.py": {1, 2}, "c.py": set()}) == {
        "a.py": [3],
        "new.py": [1, 2],
    }


def test_paths_become_arguments_of_each_kind_of_tool() -> None:
    assert grouped(["b/x.go", "a.py", "README"]) == {("", "python"): ["a.py"], ("b", "go"): ["b/x.go"]}
    tool: Any = {"name": "x"}
    assert arguments(Step(tool, "", LINTERS["ruff", "lint"]), ["-rf.py", "a/b.py"]) == [["./-rf.py", "a/b.py"]]
    assert arguments(Step(tool, "web", LINTERS["eslint", "lint"]), ["web/a.ts"]) == [["a.ts"]]
    assert arguments(Step(tool, "", LINTERS["go vet", "type"]), ["x.go", "b/y.go", "b/z.go"]) == [[".", "./b"]]
    assert arguments(Step(tool, "", LINTERS["clippy", "lint"]), ["src/lib.rs"]) == [[]]
    assert [len(part) for part in arguments(Step(tool, "", None), [f"{n}.py" for n in range(700)])] == [500, 200]


def test_a_linter_does_not_repeat_what_the_type_checker_says() -> None:
    rustc, own = found("a.rs", 2), found("a.rs", 9)
    results = [
        check._StepResult(
            check.Step(cast(Any, {"category": category}), "", None), LintReport([*issues]), Ran(ToolOutput(0, b"", b""))
        )
        for category, issues in (("linter", (rustc, own)), ("type_checker", (rustc,)), ("formatter", (rustc,)))
    ]
    check._drop_repeated(results)
    assert [each.report.issues for each in results] == [[own], [rustc], [rustc]]


def test_both_sides_of_a_failed_go_test_are_read() -> None:
    for said in ("got 2, want 3", "got: 2; want: 3", "Sum(1, 1) = 2, want 3", "Sum(1) = 2; want 3"):
        rows = [{"Action": "output", "Package": "p", "Test": "T", "Output": f"    a_test.go:7: {said}\n"}]
        rows += [{"Action": "fail", "Package": "p", "Test": "T"}]
        output = ToolOutput(1, b"\n".join(json.dumps(row).encode() for row in rows), b"")
        failure = read_suite(SUITES["go test"], output, Place(Path("/w"))).failures[0]
        assert (failure.get("actual"), failure.get("expected")) == ("2", "3"), said
