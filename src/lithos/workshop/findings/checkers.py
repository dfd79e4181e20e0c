"""Readers of type checkers: mypy, pyright, tsc, go vet. cargo check is read as clippy is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithos.workshop.findings.linters import issue
from lithos.workshop.findings.reading import Unparsed, json_lines, json_value, json_values, text_of
from lithos.workshop.findings.values import InspectorIssue, Place, Severity, ToolOutput

_TSC = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+),(?P<column>\d+)\): (?P<level>error|warning) (?P<code>TS\d+): (?P<message>.*)"
)
_MYPY = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?: (?:error|warning): "
    r"(?P<message>.*?)(?:  \[(?P<code>[\w-]+)\])?$"
)
_GO = re.compile(r"^(?:vet: )?(?P<file>[^\s:#][^:\n]*\.go):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.+)$")


def mypy(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    rows = [*json_lines(output.stdout)]
    if not rows:
        yield from _mypy_text(output, place)
    for row in rows:
        if row.get("severity") != "note":
            at = row.get("line"), (row.get("column") or 0) + 1
            file = place.relative(row["file"])
            yield issue(file, *at, "type", "error", row["message"], row.get("code"), row.get("hint"))


def _mypy_text(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    for line in text_of(output.stdout).splitlines():
        found = _MYPY.match(line)
        if found is not None:
            column = int(found["column"]) if found["column"] else None
            file = place.relative(found["file"])
            yield issue(file, int(found["line"]), column, "type", "error", found["message"], found["code"])


def pyright(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    whole = json_value(output.stdout)
    if not isinstance(whole, dict) or "generalDiagnostics" not in whole:
        raise Unparsed("its JSON has no generalDiagnostics")
    for row in whole["generalDiagnostics"]:
        at = (row.get("range") or {}).get("start") or {"line": -1, "character": -1}
        severity: Severity = "error" if row.get("severity") == "error" else "warning"
        file = place.relative(row.get("file", ""))
        message = " ".join(row["message"].split())
        yield issue(file, at["line"] + 1, at["character"] + 1, "type", severity, message, row.get("rule"))


def tsc(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    found: InspectorIssue | None = None
    for line in text_of(output.stdout).splitlines():
        start = _TSC.match(line)
        if start is not None:
            if found is not None:
                yield found
            severity: Severity = "error" if start["level"] == "error" else "warning"
            at = int(start["line"]), int(start["column"])
            found = issue(place.relative(start["file"]), *at, "type", severity, start["message"], start["code"])
        elif found is not None and line.startswith("  "):  # the reasons of the same error
            found["message"] += " " + line.strip()
    if found is not None:
        yield found


def go_vet(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    """JSON by package and analyzer; what does not compile is plain text beside it."""
    for data in (output.stdout, output.stderr):
        for packages in json_values(data):
            for analyzers in packages.values():
                for name, rows in analyzers.items() if isinstance(analyzers, dict) else ():
                    for row in rows if isinstance(rows, list) else ():
                        file, line, column = row["posn"].rsplit(":", 2)
                        at = int(line), int(column)
                        yield issue(place.relative(file), *at, "type", "error", row["message"], name)
    for line in text_of(output.stderr).splitlines():
        found = _GO.match(line)
        if found is not None:
            column = int(found["column"]) if found["column"] else None
            yield issue(place.relative(found["file"]), int(found["line"]), column, "type", "error", found["message"])
