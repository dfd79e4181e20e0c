"""Readers of test runs: JUnit XML (pytest), the JSON of jest and vitest, `go test -json`, the text of cargo test."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any
from xml.etree import ElementTree

from lithos.workshop.findings.linters import LONGEST_MESSAGE
from lithos.workshop.findings.reading import Unparsed, json_lines, json_value, text_of
from lithos.workshop.findings.values import Place, SuiteReport, TestFailure, ToolOutput

LONGEST_TRACE = 8_000
LONGEST_SEARCHED = 4 * LONGEST_TRACE  # characters of a failure that patterns look at: some take the square of it
_COMPARED = re.compile(r"^(?:E\s+)?assert (?P<actual>.+?) == (?P<expected>.+)$", re.MULTILINE)
_PYTHON_LINE = re.compile(r"^(?P<file>[^\s:][^:\n]*\.py):(?P<line>\d+):", re.MULTILINE)
_SCRIPT_LINE = re.compile(r"(?:\(|at |file://)(?P<file>/[^\s():]+|[\w@./-]+\.[cm]?[jt]sx?):(?P<line>\d+):\d+")
_FOREIGN_FRAMES = re.compile(r"\n[ \t]{1,20}at (?:[^\n]{0,500}/node_modules/|new Promise \(<anonymous>\))[^\n]*")
_EXPECTED = re.compile(r"^[ \t]*Expected:?(?: \w+)?: (?P<expected>.+)\n[ \t]*Received: (?P<actual>.+)$", re.MULTILINE)
_VITEST = re.compile(
    r"expected (?P<actual>.+?) to (?:be|equal|deeply equal|strictly equal) (?P<expected>.+?)(?: //.*)?$", re.MULTILINE
)
_GO_LINE = re.compile(r"^[ \t]+(?P<file>[\w.-]+\.go):(?P<line>\d+): (?P<message>.*)", re.MULTILINE)
_GOT = re.compile(r"(?:got:? |\) = )(?P<actual>.+?)[,;]? want:? (?P<expected>.+)")
_RUST_TEST = re.compile(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<result>ok|FAILED|ignored)", re.MULTILINE)
_RUST_PANIC = re.compile(
    r"panicked at (?:'(?P<old>.*?)', )?(?P<file>[^\s:]+\.rs):(?P<line>\d+):\d+:?\n?(?P<message>.*)", re.DOTALL
)
_RUST_SIDES = re.compile(r"^[ \t]*left: (?P<actual>.+)\n[ \t]*right: (?P<expected>.+)$", re.MULTILINE)


def failure(name: str, file: str, message: str, line: int | None = None, trace: str = "") -> TestFailure:
    text = message.strip() or "it failed without a message"
    found: TestFailure = {"test_name": name, "file": file, "message": text[:LONGEST_MESSAGE]}
    if line:
        found["line"] = line
    if trace.strip():
        found["stack_trace"] = trace.strip()[-LONGEST_TRACE:]
    return found


def _compared(found: TestFailure, match: re.Match[str] | None) -> TestFailure:
    if match is not None:
        found["expected"], found["actual"] = match["expected"].strip()[:500], match["actual"].strip()[:500]
    return found


def junit(output: ToolOutput, place: Place) -> SuiteReport:
    if output.report is None:
        raise Unparsed("it wrote no report")
    if b"<!DOCTYPE" in output.report or b"<!ENTITY" in output.report:
        raise Unparsed("its report declares entities")
    try:
        top = ElementTree.fromstring(output.report)
    except ElementTree.ParseError as error:
        raise Unparsed(f"its report is no XML: {error}") from None
    report = SuiteReport()
    for case in top.iter("testcase"):
        broken = [each for each in case if each.tag in ("failure", "error")]
        if broken:
            report.run += 1
            report.failures.append(_junit_failure(case, broken[0], place))
        elif any(each.tag == "skipped" for each in case):
            report.skipped += 1
        else:
            report.run += 1
            report.passed += 1
    return report


def _junit_failure(case: ElementTree.Element, broken: ElementTree.Element, place: Place) -> TestFailure:
    file, names = case.get("file") or "", case.get("classname") or ""
    module = file.removesuffix(".py").replace("/", ".")
    inner = names[len(module) :].strip(".") if module and names.startswith(module) else ("" if file else names)
    parts = [file, *inner.split("."), case.get("name") or ""]
    text, message = (broken.text or "")[-LONGEST_SEARCHED:], (broken.get("message") or "")[:LONGEST_SEARCHED]
    lines = [(match["file"], int(match["line"])) for match in _PYTHON_LINE.finditer(text)]
    own = [line for name, line in lines if name == file]
    line = own[0] if own else lines[-1][1] if lines and not file else None
    if not file and lines:
        file = lines[-1][0]
    name = "::".join(part for part in parts if part)
    found = failure(name, place.relative(file), message or text, line or _declared(case), text)
    return _compared(found, _COMPARED.search(text) or _COMPARED.search(message))


def _declared(case: ElementTree.Element) -> int | None:
    line = case.get("line")
    return int(line) + 1 if line and line.isdigit() else None


def jest(output: ToolOutput, place: Place) -> SuiteReport:
    """The JSON of jest, which vitest writes too."""
    whole = json_value(output.report if output.report is not None else output.stdout)
    if not isinstance(whole, dict) or "testResults" not in whole:
        raise Unparsed("its JSON has no testResults")
    report = SuiteReport()
    for suite in whole["testResults"]:
        file = place.relative(suite.get("name", ""))
        cases = suite.get("assertionResults") or []
        if suite.get("status") == "failed" and not any(case["status"] == "failed" for case in cases):
            message = _plain((suite.get("message") or "the file could not be loaded")[:LONGEST_SEARCHED])
            report.run += 1
            report.failures.append(failure(file, file, message, _script_line(message, file, place)))
        for case in cases:
            _jest_case(report, case, file, place)
    return report


def _jest_case(report: SuiteReport, case: dict[str, Any], file: str, place: Place) -> None:
    if case["status"] not in ("passed", "failed"):
        report.skipped += 1
        return
    report.run += 1
    if case["status"] == "passed":
        report.passed += 1
        return
    trace = _plain("\n".join(case.get("failureMessages") or ())[:LONGEST_SEARCHED])
    message = trace.split("\n    at ")[0]
    frames = _FOREIGN_FRAMES.sub("", trace).replace(f"{place.root}/", "")
    found = failure(case["fullName"], file, message, _script_line(trace, file, place), frames)
    report.failures.append(_compared(found, _EXPECTED.search(trace) or _VITEST.search(message[:LONGEST_MESSAGE])))


def _script_line(trace: str, file: str, place: Place) -> int | None:
    for match in _SCRIPT_LINE.finditer(trace):
        if place.relative(match["file"]) == file:
            return int(match["line"])
    return None


def _plain(text: str) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def go_test(output: ToolOutput, place: Place) -> SuiteReport:
    results: dict[tuple[str, str], str] = {}
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    builds: dict[str, list[str]] = defaultdict(list)
    for event in json_lines(output.stdout):
        action, key = event.get("Action", ""), (event.get("Package", ""), event.get("Test", ""))
        if action == "output":
            said[key].append(event.get("Output", ""))
        elif action == "build-output":
            builds[event.get("ImportPath", "").partition(" ")[0]].append(event.get("Output", ""))
        elif action in ("pass", "fail", "skip"):
            results[key] = action
    report = SuiteReport()
    explained = _failed_inside(results)
    folder_of = cache(partial(_go_folder, place))  # of one report: the next run may find other files
    for (package, test), action in results.items():
        if not test:
            if action == "fail" and (package, "") not in explained:
                report.run += 1
                report.failures.append(_go_package(package, said[package, ""] + builds[package], place))
        elif (package, test) in explained:
            continue  # its subtests say it
        elif action == "skip":
            report.skipped += 1
        else:
            report.run += 1
            report.passed += action == "pass"
            if action == "fail":
                report.failures.append(
                    _go_failure(package, test, "".join(said[package, test])[:LONGEST_SEARCHED], place, folder_of)
                )
    return report


def _failed_inside(results: dict[tuple[str, str], str]) -> set[tuple[str, str]]:
    """Packages (with an empty name) and tests that hold a failed test."""
    found = set()
    for (package, test), action in results.items():
        if action == "fail" and test:
            parts = test.split("/")
            found.add((package, ""))
            found.update((package, "/".join(parts[:count])) for count in range(1, len(parts)))
    return found


def _go_failure(package: str, test: str, text: str, place: Place, folder_of: Callable[[str, str], str]) -> TestFailure:
    match = _GO_LINE.search(text)
    folder = folder_of(package, match["file"] if match else "")
    file = "/".join(part for part in (folder, match["file"] if match else "") if part)
    message = match["message"] if match else text
    found = failure(f"{package}.{test}", place.relative(file), message, int(match["line"]) if match else None, text)
    return _compared(found, _GOT.search(message))


def _go_package(package: str, lines: list[str], place: Place) -> TestFailure:
    """It does not build, or it ended outside of any test."""
    text = "".join(lines)[:LONGEST_SEARCHED]
    match = re.search(r"^(?P<file>\S+\.go):(?P<line>\d+):(?:\d+:)? (?P<message>.+)$", text, re.MULTILINE)
    if match is None:
        return failure(package, _go_folder(place, package, ""), text.strip())
    return failure(package, place.relative(match["file"]), match["message"], int(match["line"]), text)


def _go_folder(place: Place, package: str, file: str) -> str:
    """The folder of an import path: its longest end that is a folder here and holds the file."""
    parts = package.split("/")
    for start in range(len(parts)):
        folder = "/".join(parts[start:])
        if (place.folder / folder).is_dir() and (not file or (place.folder / folder / file).is_file()):
            return folder
    return ""


def cargo_test(output: ToolOutput, place: Place) -> SuiteReport:
    """Test results are text, for want of a stable JSON; what does not compile comes as JSON lines before it."""
    report = SuiteReport()
    text = text_of(b"\n".join(line for line in output.stdout.splitlines() if not line.startswith(b'{"')))
    broken = dict(_rust_sections(text))
    for match in _RUST_TEST.finditer(text):
        if match["result"] == "ignored":
            report.skipped += 1
            continue
        report.run += 1
        report.passed += match["result"] == "ok"
        if match["result"] == "FAILED":
            report.failures.append(_rust_failure(match["name"], broken.get(match["name"], ""), place))
    for row in json_lines(output.stdout):
        message = row.get("message") or {}
        spans = message.get("spans") if row.get("reason") == "compiler-message" else None
        if spans and message.get("level") == "error":
            file, line = place.relative(spans[0]["file_name"]), spans[0]["line_start"]
            if not any(each["file"] == file and each.get("line") == line for each in report.failures):
                report.run += 1
                report.failures.append(failure("compile", file, message["message"], line, message.get("rendered", "")))
    return report


def _rust_sections(text: str) -> Iterator[tuple[str, str]]:
    parts = re.split(r"^---- (\S+) stdout ----$", text, flags=re.MULTILINE)
    for name, body in zip(parts[1::2], parts[2::2], strict=False):
        yield name, re.split(r"^failures:$", body, maxsplit=1, flags=re.MULTILINE)[0]


def _rust_failure(name: str, text: str, place: Place) -> TestFailure:
    text = text[:LONGEST_SEARCHED]
    match = _RUST_PANIC.search(text)
    if match is None:
        return failure(name, "", text)
    message = match["old"] or match["message"].split("stack backtrace:")[0].split("note: run with")[0]
    found = failure(name, place.relative(match["file"]), message, int(match["line"]), text)
    return _compared(found, _RUST_SIDES.search(message))
