"""Adapters on outputs that the real tools printed for the planted projects (scripts/record_tool_outputs.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lithos.workshop.findings import (
    LINTERS,
    NO_TESTS,
    SUITES,
    Place,
    Request,
    ToolOutput,
    read_lint,
    read_suite,
    sarif,
    unknown_option,
)
from tests.support import planted

RECORDED = Path(__file__).parents[3] / "fixtures/tool_outputs"
PLACE = Place(Path("/planted/w"))
LINES = {
    ("ruff", "lint"): {("app.py", 1)},
    ("ruff", "format"): {("app.py", 14)},
    ("mypy", "type"): {("app.py", 10)},
    ("pyright", "type"): {("app.py", 10)},
    ("eslint", "lint"): {("bad.js", 1), ("bad.js", 2), ("bad.js", 3), ("syntax.js", 1)},
    ("oxlint", "lint"): {("bad.js", 2), ("syntax.js", 1)},
    ("biome", "lint"): {("bad.js", 1), ("bad.js", 2), ("bad.js", 3), ("syntax.js", 1)},
    ("biome", "format"): {("bad.js", None)},
    ("prettier", "format"): {("bad.js", None), ("syntax.js", 1)},
    ("tsc", "type"): {("types.ts", 4), ("types.ts", 5)},
    ("go vet", "type"): {("sum.go", 6), ("broken/b.go", 3)},
    ("gofmt", "format"): {("sub/sub.go", 3)},
    ("clippy", "lint"): {("src/lib.rs", 2), ("src/lib.rs", 6), ("src/lib.rs", 7)},
    ("cargo check", "type"): {("src/lib.rs", 6)},
    ("rustfmt", "format"): {("src/lib.rs", 7)},
    ("shellcheck", "lint"): {("a.sh", 3), ("a.sh", 5)},
}
FAILED = {
    "pytest": (5, 2, 1, {("test_app.py", 11), ("test_app.py", 17), ("test_app.py", 22)}),
    "vitest": (3, 1, 1, {("sum.test.js", 8), ("load.test.js", None)}),
    "jest": (3, 1, 1, {("sum.test.js", 6), ("load.test.js", 1)}),
    "go test": (3, 1, 1, {("sum_test.go", 14), ("broken/b.go", 3)}),
    "cargo test": (3, 1, 1, {("src/lib.rs", 21), ("tests/outer.rs", 3)}),
}


def recorded(name: str) -> ToolOutput:
    kept = json.loads((RECORDED / f"{name.replace(' ', '-')}.json").read_text())
    report = kept.get("report")
    stdout, stderr = kept["stdout"].encode(), kept["stderr"].encode()
    return ToolOutput(kept["exit_code"], stdout, stderr, report=None if report is None else report.encode())


@pytest.mark.parametrize(("tool", "category"), LINES)
def test_planted_faults_are_found_at_their_lines(tool: str, category: str) -> None:
    report = read_lint(LINTERS[tool, category], recorded(f"{tool}-{category}"), PLACE)
    assert report.problem == ""
    assert {(each["file"], each.get("line")) for each in report.issues} == LINES[tool, category]
    assert {each["category"] for each in report.issues} == {category}
    assert all(each["message"] and each["tool"] == tool for each in report.issues)


@pytest.mark.parametrize("tool", FAILED)
def test_failed_tests_are_found_at_their_lines(tool: str, tmp_path: Path) -> None:
    files = {"go test": planted.GO}.get(tool)
    place = Place(planted.plant(tmp_path, files)) if files else PLACE
    report = read_suite(SUITES[tool], recorded(tool), place)
    run, passed, skipped, lines = FAILED[tool]
    assert (report.run, report.passed, report.skipped, report.problem) == (run, passed, skipped, "")
    assert {(each["file"], each.get("line")) for each in report.failures} == lines
    compared = [each for each in report.failures if "expected" in each]
    assert compared[0]["actual"] in ("3", "2") and compared[0]["expected"] in ("4", "1")


@pytest.mark.parametrize(
    ("tool", "frame"), [("vitest", "at sum.test.js:8:19"), ("jest", "at Object.toBe (sum.test.js:6:19)")]
)
def test_a_trace_has_the_frames_of_the_project_alone(tool: str, frame: str) -> None:
    (trace,) = [
        each["stack_trace"]
        for each in read_suite(SUITES[tool], recorded(tool), PLACE).failures
        if "stack_trace" in each
    ]
    assert trace.split("\n    ")[1:] == [frame] and "3" in trace


def test_names_of_failed_tests_are_those_that_run_them_alone() -> None:
    names = [each["test_name"] for each in read_suite(SUITES["pytest"], recorded("pytest"), PLACE).failures]
    assert names[:2] == ["test_app.py::test_add_is_wrong", "test_app.py::TestGroup::test_n[2]"]
    vector = SUITES["vitest"].vectors[0](Request(["sum.test.js"], report="/r", only=["sum wrong (a|b)"]))
    assert vector[-3:] == ["-t", r"^(sum wrong \(a\|b\))$", "sum.test.js"]
    go = SUITES["go test"].vectors[0](Request(["./sub"], only=["example.com/p/sub.TestA/inner_case"]))
    assert go[-3:] == ["-run", "^TestA$/^inner_case$", "./sub"]


@pytest.mark.parametrize(("tool", "category"), LINTERS)
def test_a_crash_is_a_problem_for_any_output(tool: str, category: str) -> None:
    adapter = LINTERS[tool, category]  # type: ignore[index]
    for output in (
        ToolOutput(1, b"", b"Segmentation fault"),
        ToolOutput(139, b"", b""),
        ToolOutput(-9, b"[]", b""),
        ToolOutput(None, b"", b"", ended="memory"),
        ToolOutput(2, b"Traceback (most recent call last):\n  boom", b""),
        ToolOutput(1, b"\xff\xfe\x00", b"\xff"),
        *(ToolOutput(1, text * 5000, text * 5000) for text in (b"[", b'{"a":', b"[{},\n", b"\n", b"@@ -1\n\n")),
    ):
        assert read_lint(adapter, output, PLACE).problem or output.stdout.startswith(b"@@")


def test_a_tool_that_compiles_says_that_a_second_check_goes_on() -> None:
    ended = ToolOutput(None, b"", b"", ended="timeout")
    assert "check again" in read_lint(LINTERS["go vet", "type"], ended, PLACE).problem
    assert "check again" not in read_lint(LINTERS["ruff", "lint"], ended, PLACE).problem


@pytest.mark.parametrize("tool", SUITES)
def test_a_crash_or_an_empty_run_of_tests_is_a_problem(tool: str) -> None:
    adapter = SUITES[tool]
    empty = {"pytest": b"<testsuites/>", "vitest": b'{"testResults":[]}', "jest": b'{"testResults":[]}'}.get(tool)
    assert read_suite(adapter, ToolOutput(0, b"", b"", report=empty), PLACE).problem == NO_TESTS
    for output in (
        ToolOutput(3, b"", b"INTERNALERROR", report=empty),
        ToolOutput(None, b"", b"", ended="timeout", report=empty),
        ToolOutput(-11, b"", b"", report=None),
        ToolOutput(4, b"", b"usage", report=b"<not xml"),
    ):
        assert read_suite(adapter, output, PLACE).problem


def test_passing_tests_behind_a_failing_exit_are_not_a_pass() -> None:
    whole = b'<testsuites><testsuite><testcase classname="t" name="a" file="t.py"/></testsuite></testsuites>'
    assert read_suite(SUITES["pytest"], ToolOutput(0, b"", b"", report=whole), PLACE).problem == ""
    assert "exit code 1" in read_suite(SUITES["pytest"], ToolOutput(1, b"", b"", report=whole), PLACE).problem


def test_a_clean_run_has_no_issue_and_no_problem() -> None:
    for (tool, category), stdout in {
        ("ruff", "lint"): b"",
        ("mypy", "type"): b"",
        ("eslint", "lint"): b'[{"filePath":"/planted/w/a.js","messages":[]}]',
        ("go vet", "type"): b"{}\n",
        ("golangci-lint", "lint"): b'{"Issues":[],"Report":{}}',
        ("shellcheck", "lint"): b'{"comments":[]}',
    }.items():
        report = read_lint(LINTERS[tool, category], ToolOutput(0, stdout, b""), PLACE)  # type: ignore[index]
        assert (report.issues, report.problem) == ([], "")


def test_golangci_lint_of_both_versions() -> None:
    issue = {"FromLinter": "errcheck", "Text": "unchecked", "Pos": {"Filename": "a/b.go", "Line": 7, "Column": 2}}
    stdout = b"level=warning\n" + json.dumps({"Issues": [issue], "Report": {}}).encode() + b"\n1 issues:\n"
    report = read_lint(LINTERS["golangci-lint", "lint"], ToolOutput(1, stdout, b""), PLACE)
    assert [(each["file"], each.get("line"), each.get("code")) for each in report.issues] == [("a/b.go", 7, "errcheck")]
    assert unknown_option(ToolOutput(3, b"", b"Error: unknown flag: --output.json.path"))
    assert LINTERS["golangci-lint", "lint"].vectors[1](Request(["./a"]))[2] == "--out-format=json"


def test_a_file_that_eslint_ignores_is_no_issue() -> None:
    said = [{"filePath": "/planted/w/x.js", "messages": [{"ruleId": None, "severity": 1, "message": "File ignored"}]}]
    report = read_lint(LINTERS["eslint", "lint"], ToolOutput(0, json.dumps(said).encode(), b""), PLACE)
    assert report.issues == []


def test_a_cut_output_gives_what_came_before_the_cut_and_says_so() -> None:
    row = {"filename": "/planted/w/a.py", "code": "F401", "message": "m", "location": {"row": 1, "column": 1}}
    whole = json.dumps([{**row, "message": f"m{n}"} for n in range(9)]).encode()
    report = read_lint(LINTERS["ruff", "lint"], ToolOutput(1, whole[:500], b"", truncated=True), PLACE)
    assert 0 < len(report.issues) < 9 and "more than is kept" in report.problem


def test_paths_are_relative_to_the_top_wherever_the_tool_ran() -> None:
    place = Place(Path("/planted/w"), "web")
    assert place.relative("src/a.ts") == "web/src/a.ts"
    assert place.relative("./a.ts") == "web/a.ts"
    assert place.relative("/planted/w/web/a.ts") == "web/a.ts"
    assert place.relative("file:///planted/w/a.ts") == "a.ts"
    assert place.relative("/planted/w2/a.ts") == "/planted/w2/a.ts"


def test_sarif_is_read() -> None:
    place = {"artifactLocation": {"uri": "a.c"}, "region": {"startLine": 3, "startColumn": 5}}
    result = {"ruleId": "X1", "level": "error", "message": {"text": "no"}, "locations": [{"physicalLocation": place}]}
    [found] = sarif(ToolOutput(1, json.dumps({"runs": [{"results": [result]}]}).encode(), b""), PLACE)
    assert (found["file"], found.get("line"), found["severity"], found["message"]) == ("a.c", 3, "error", "no")


def test_a_suggestion_to_remove_code_shows_no_empty_code() -> None:
    span = {"file_name": "src/lib.rs", "line_start": 1, "column_start": 1, "is_primary": True}
    child = {"message": "remove it", "spans": [{**span, "suggested_replacement": ""}]}
    message = {"message": "unused", "level": "warning", "spans": [span], "children": [child], "code": {"code": "x"}}
    row = json.dumps({"reason": "compiler-message", "message": message}).encode()
    report = read_lint(LINTERS["clippy", "lint"], ToolOutput(0, row, b""), PLACE)
    assert [each["suggestion"] for each in report.issues] == ["remove it"]
