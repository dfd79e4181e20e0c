"""Readers of linters: ruff, flake8, eslint, oxlint, biome, golangci-lint, clippy, shellcheck, and SARIF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lithos.workshop.findings.reading import Unparsed, array_items, json_lines, json_value, positions, text_of
from lithos.workshop.findings.values import InspectorIssue, IssueCategory, Place, Severity, ToolOutput

LONGEST_MESSAGE = 2_000
_BIOME = ("--reporter=json", "--max-diagnostics=none", "--no-errors-on-unmatched", "--colors=off")
BIOME_LINT = ("biome", "lint", *_BIOME)
BIOME_FORMAT = ("biome", "format", *_BIOME)


def issue(
    file: str,
    line: int | None,
    column: int | None,
    category: IssueCategory,
    severity: Severity,
    message: str,
    code: str | None = None,
    suggestion: str | None = None,
) -> InspectorIssue:
    found: InspectorIssue = {"file": file, "category": category, "severity": severity, "message": message.strip()}
    if len(found["message"]) > LONGEST_MESSAGE:
        found["message"] = found["message"][:LONGEST_MESSAGE] + " …"
    if line:
        found["line"] = line
        if column:
            found["column"] = column
    if code:
        found["code"] = code
    if suggestion:
        found["suggestion"] = suggestion[:LONGEST_MESSAGE]
    return found


def ruff(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    data = output.stdout.lstrip()
    rows = array_items(data) if data.startswith(b"[") else json_lines(data)
    for row in rows:
        at, fix = row.get("location") or {}, row.get("fix") or {}
        file, code = place.relative(row["filename"]), row.get("code") or "invalid-syntax"
        yield issue(file, at.get("row"), at.get("column"), "lint", "error", row["message"], code, fix.get("message"))


def flake8(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    for found in positions(text_of(output.stdout)):
        code, _, message = found["message"].partition(" ")
        column = int(found["column"]) if found["column"] else None
        yield issue(place.relative(found["file"]), int(found["line"]), column, "lint", "error", message, code)


def eslint(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    for file in array_items(output.stdout):
        path = place.relative(file["filePath"])
        for row in file["messages"]:
            severity: Severity = "error" if row["severity"] == 2 else "warning"
            if row.get("ruleId") is None and severity == "warning" and "line" not in row:
                continue  # "File ignored …": not about the code
            hints = [each["desc"] for each in row.get("suggestions", ()) if each.get("desc")]
            hint = hints[0] if hints else "eslint --fix corrects it" if row.get("fix") else None
            code = row.get("ruleId")
            yield issue(path, row.get("line"), row.get("column"), "lint", severity, row["message"], code, hint)


def oxlint(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    for row in _rows(json_value(output.stdout), "diagnostics"):
        labels = row.get("labels") or [{}]
        at = labels[0].get("span") or {}
        severity: Severity = "error" if row.get("severity") == "error" else "warning"
        file = place.relative(row.get("filename", ""))
        code, hint = row.get("code"), row.get("help")
        yield issue(file, at.get("line"), at.get("column"), "lint", severity, row["message"], code, hint)


def biome(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    """Lint, parse and format diagnostics. Biome 1 gave spans in bytes, Biome 2 gives lines."""
    for row in _rows(json_value(output.stdout), "diagnostics"):
        code = str(row.get("category") or "")
        where = row.get("location") or {}
        named = where.get("path")
        file = named.get("file", "") if isinstance(named, dict) else named or ""
        line, column = _biome_position(where)
        category: IssueCategory = "format" if code in ("format", "assist") else "lint"
        severity: Severity = "error" if row.get("severity") in ("error", "fatal") else "warning"
        message = row.get("message") or row.get("description") or code
        text = "not formatted" if code == "format" else message if isinstance(message, str) else str(code)
        hints = [each["text"] for each in row.get("advices") or () if isinstance(each, dict) and each.get("text")]
        hint = hints[0] if isinstance(row.get("advices"), list) and hints else None
        yield issue(place.relative(file), line, column, category, severity, text, code, hint)


def _biome_position(where: dict[str, Any]) -> tuple[int | None, int | None]:
    start = where.get("start")
    if isinstance(start, dict):
        return start.get("line"), start.get("column")
    span, source = where.get("span"), where.get("sourceCode")
    if isinstance(span, list) and isinstance(source, str):
        before = source.encode()[: span[0]]
        return before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return None, None


def golangci(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    for row in _rows(json_value(output.stdout), "Issues"):
        at = row.get("Pos") or {}
        severity: Severity = "warning" if row.get("Severity") in ("warning", "info", "low") else "error"
        file, code = place.relative(at.get("Filename", "")), row.get("FromLinter")
        category: IssueCategory = "type" if code == "typecheck" else "lint"
        yield issue(file, at.get("Line"), at.get("Column"), category, severity, row["Text"], code)


def cargo(category: IssueCategory) -> Any:
    """Reader of `cargo … --message-format=json`; clippy and check print the same."""

    def parse(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
        for row in json_lines(output.stdout):
            if row.get("reason") == "compiler-message":
                yield from _rustc(row["message"], place, category)

    return parse


def _rustc(message: dict[str, Any], place: Place, category: IssueCategory) -> Iterator[InspectorIssue]:
    spans = [each for each in message.get("spans", ()) if each.get("is_primary")]
    level = message.get("level", "")
    if not spans or level not in ("error", "warning"):
        return  # "aborting due to …" and summaries name no place
    code = (message.get("code") or {}).get("code")
    severity: Severity = "error" if level == "error" else "warning"
    file = place.relative(spans[0]["file_name"])
    at = spans[0]["line_start"], spans[0]["column_start"]
    yield issue(file, *at, category, severity, message["message"], code, _rust_hint(message))


def _rust_hint(message: dict[str, Any]) -> str | None:
    for child in message.get("children", ()):
        for span in child.get("spans", ()):
            if span.get("suggested_replacement") is not None:
                by = span["suggested_replacement"]
                return f"{child['message']}: `{by}`" if by.strip() else str(child["message"])
    return None


def shellcheck(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    whole = json_value(output.stdout)
    for row in whole if isinstance(whole, list) else _rows(whole, "comments"):
        severity: Severity = "error" if row["level"] == "error" else "warning"
        code = f"SC{row['code']}"
        yield issue(place.relative(row["file"]), row["line"], row["column"], "lint", severity, row["message"], code)


def sarif(output: ToolOutput, place: Place) -> Iterator[InspectorIssue]:
    whole = json_value(output.stdout)
    if not isinstance(whole, dict) or "runs" not in whole:
        raise Unparsed("it printed no SARIF")
    for run in whole["runs"]:
        for row in run.get("results", ()):
            places: list[dict[str, Any]] = row.get("locations") or [{}]
            where: dict[str, Any] = places[0].get("physicalLocation", {})
            region, severity = where.get("region", {}), "error" if row.get("level", "warning") == "error" else "warning"
            file = place.relative(where.get("artifactLocation", {}).get("uri", ""))
            text, code = row.get("message", {}).get("text", ""), row.get("ruleId")
            yield issue(
                file, region.get("startLine"), region.get("startColumn"), "lint", _severity(severity), text, code
            )


def _severity(name: str) -> Severity:
    return "error" if name == "error" else "warning"


def _rows(whole: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(whole, dict) or name not in whole:
        raise Unparsed(f"its JSON has no {name}")
    return whole[name] or []
