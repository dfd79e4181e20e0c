"""Coverage: how a run of tests records it, and which touched lines no test ran."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from lithos.workshop.findings import Place
from lithos.workshop.inspection.running import LARGEST_REPORT
from lithos.workshop.run_files import read_beneath

SUPPORTED = ("pytest", "go test", "vitest", "jest")
_GO_LINE = re.compile(r"^(?P<file>.+?):(?P<start>\d+)\.\d+,(?P<end>\d+)\.\d+ \d+ (?P<count>\d+)$", re.MULTILINE)
Missing = dict[str, set[int]]  # path → lines that could run and did not


def recording(tool: str, argv: Sequence[str], folder: str) -> list[str]:
    """The vector of a run that records coverage into a folder."""
    if tool == "pytest":
        return ["coverage", "run", f"--data-file={folder}/data", "-m", *argv]
    if tool == "go test":
        return [*argv[:2], f"-coverprofile={folder}/cover.out", *argv[2:]]
    if tool == "vitest":
        options = [
            "--coverage.enabled",
            "--coverage.reportOnFailure",
            "--coverage.reporter=json",
            f"--coverage.reportsDirectory={folder}",
        ]
        return [*argv[:2], *options, *argv[2:]]
    return [*argv[:1], "--coverage", "--coverageReporters=json", f"--coverageDirectory={folder}", *argv[1:]]


def reporting(tool: str, folder: str) -> list[str]:
    """A second vector that writes what the run recorded as JSON; empty: the run wrote it itself."""
    return (
        ["coverage", "json", f"--data-file={folder}/data", "-o", f"{folder}/coverage.json"] if tool == "pytest" else []
    )


def read_coverage(tool: str, folder: Path, place: Place) -> Missing | None:
    """None: nothing was recorded."""
    name = {"pytest": "coverage.json", "go test": "cover.out"}.get(tool, "coverage-final.json")
    data = read_beneath(folder.parent, f"{folder.name}/{name}", LARGEST_REPORT)
    if data is None:
        return None
    if tool == "go test":
        return _go(data.decode("utf-8", "replace"), place)
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return _python(whole, place) if tool == "pytest" else _istanbul(whole, place)


def _python(whole: Mapping[str, Any], place: Place) -> Missing:
    return {place.relative(path): set(facts["missing_lines"]) for path, facts in whole.get("files", {}).items()}


def _istanbul(whole: Mapping[str, Any], place: Place) -> Missing:
    found: Missing = {}
    for path, facts in whole.items():
        statements, counts = facts.get("statementMap", {}), facts.get("s", {})
        lines = {statements[key]["start"]["line"] for key, count in counts.items() if not count and key in statements}
        found[place.relative(path)] = lines
    return found


def _go(text: str, place: Place) -> Missing:
    ran: Missing = {}
    could: Missing = {}
    for match in _GO_LINE.finditer(text):
        path = _go_path(match["file"], place)
        lines = range(int(match["start"]), int(match["end"]) + 1)
        (ran if int(match["count"]) else could).setdefault(path, set()).update(lines)
    return {path: could.get(path, set()) - ran.get(path, set()) for path in {*ran, *could}}


def _go_path(path: str, place: Place) -> str:
    """An import path with a file: its longest end that is a file here."""
    parts = path.split("/")
    for start in range(len(parts)):
        name = "/".join(parts[start:])
        if (place.folder / name).is_file():
            return place.relative(name)
    return path


def uncovered(missing: Missing, changed: Mapping[str, set[int]]) -> dict[str, list[int]]:
    """Touched lines that no test ran. A file that no test loaded is not in the report: all of its lines count."""
    found = {path: sorted(lines & missing[path] if path in missing else lines) for path, lines in changed.items()}
    return {path: lines for path, lines in found.items() if lines}
