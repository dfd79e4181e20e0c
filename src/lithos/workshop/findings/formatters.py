"""Readers of formatters that only check: ruff format, black, prettier, gofmt, cargo fmt. One issue per place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithos.workshop.findings.linters import issue
from lithos.workshop.findings.reading import Unparsed, array_items, diff_starts, positions, text_of
from lithos.workshop.findings.values import InspectorIssue, Place, ToolOutput

NOT_FORMATTED = "not formatted"
_WOULD = re.compile(r"^would reformat:? (?P<file>.+)$", re.IGNORECASE | re.MULTILINE)
_BLACK_ERROR = re.compile(
    r"^error: cannot format (?P<file>.+?): (?P<message>.*?)(?:(?P<line>\d+):(?P<column>\d+).*)?$", re.MULTILINE
)
_PRETTIER = "[error] "  # file: SomeError: message (line:column)
_PRETTIER_PLACE = re.compile(r" \((\d{1,9}):(\d{1,9})\)$")
_PRETTIER_ERROR = re.compile(r": (?=\w*Error: )")
_RUSTFMT = re.compile(r"^Diff in (?P<file>.+?)(?: at line |:)(?P<line>\d+):$")
_PATH = re.compile(r"^\S.*\.\w+$")
_HUNK = re.compile(r"^@@ -(\d+)")


def ruff_format(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    if not output.stdout.lstrip().startswith(b"["):
        yield from would_reformat(output, place)
        return
    for row in array_items(output.stdout):
        at = row.get("location") or {}
        text = NOT_FORMATTED if row.get("code") == "unformatted" else row["message"]
        yield issue(place.relative(row["filename"]), at.get("row"), at.get("column"), "format", "error", text)


def would_reformat(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    """`Would reformat: file` of older versions of ruff, `would reformat file` of black."""
    text = text_of(output.stdout + b"\n" + output.stderr)
    for found in _WOULD.finditer(text):
        yield issue(place.relative(found["file"].strip()), None, None, "format", "error", NOT_FORMATTED)
    for found in _BLACK_ERROR.finditer(text):
        line = int(found["line"]) if found["line"] else None
        yield issue(place.relative(found["file"]), line, None, "format", "error", found["message"].strip(" :"))


def prettier(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    """`--list-different`: paths on stdout, files that do not parse on stderr."""
    broken = [*_broken(text_of(output.stderr), place)]
    if output.exit_code not in (0, 1) and not broken:
        raise Unparsed("it names no file that it cannot parse")
    for line in text_of(output.stdout).splitlines():
        if _PATH.match(line):
            yield issue(place.relative(line), None, None, "format", "error", NOT_FORMATTED)
    yield from broken


def _broken(text: str, place: Place) -> Iterator[InspectorIssue]:
    """By steps: one expression for the whole line would take time by the square of its length."""
    for line in text.splitlines():
        at = _PRETTIER_PLACE.search(line, max(len(line) - 30, 0)) if line.startswith(_PRETTIER) else None
        between = _PRETTIER_ERROR.search(line, len(_PRETTIER), at.start()) if at is not None else None
        if at is not None and between is not None:
            file, message = line[len(_PRETTIER) : between.start()], line[between.end() : at.start()]
            yield issue(place.relative(file), int(at[1]), int(at[2]), "format", "error", message)


def gofmt(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    """`-d`: one issue per hunk, at its first changed line."""
    file, lines = "", text_of(output.stdout).splitlines()
    for at, line in enumerate(lines):
        if line.startswith("+++ "):
            file = line[4:].split("\t")[0].strip()
        found = _HUNK.match(line)
        if found is not None:
            before = diff_starts(lines, at)
            yield issue(place.relative(file), int(found[1]) + before, None, "format", "error", NOT_FORMATTED)
    for match in positions(text_of(output.stderr)):
        column = int(match["column"]) if match["column"] else None
        yield issue(place.relative(match["file"]), int(match["line"]), column, "format", "error", match["message"])


def rustfmt(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    """`--check`: one issue per hunk, at its first changed line."""
    lines = text_of(output.stdout).splitlines()
    for at, line in enumerate(lines):
        found = _RUSTFMT.match(line)
        if found is not None:
            before = diff_starts(lines, at)
            yield issue(
                place.relative(found["file"]), int(found["line"]) + before, None, "format", "error", NOT_FORMATTED
            )
    yield from _rust_errors(text_of(output.stderr), place)


def _rust_errors(text: str, place: Place) -> Iterator[InspectorIssue]:
    """`error: message`, then ` --> file:line:column`."""
    for found in re.finditer(r"^error(?:\[\w+\])?: (.+)\n\s+--> (.+?):(\d+):(\d+)", text, re.MULTILINE):
        yield issue(place.relative(found[2]), int(found[3]), int(found[4]), "format", "error", found[1])
