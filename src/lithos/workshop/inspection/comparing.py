"""Comparing: which issues of now were there at the base. Lines move, so an issue is known by the text of its line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lithos.workshop.findings import InspectorIssue
from lithos.workshop.run_files import read_beneath

LARGEST_FILE = 16 * 2**20  # a source file; the names come from the output of a tool
_NUMBER = re.compile(r"\d+")
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class KnownIssues:
    """Issues of the base, counted by what identifies them; the base's files need not be there any more."""

    counts: Mapping[Key, int]

    @classmethod
    def of(cls, issues: Iterable[InspectorIssue], lines: Lines) -> KnownIssues:
        return cls(Counter(_key(each, each["file"], lines) for each in issues))


class Lines:
    """Lines of the files of a folder, each file read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._held: dict[str, list[str]] = {}

    def text(self, file: str, line: int | None) -> str:
        if not line:
            return ""
        if file not in self._held:
            data = read_beneath(self._root, file, LARGEST_FILE) or b""
            self._held[file] = data.decode("utf-8", "replace").splitlines()
        lines = self._held[file]
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def new_issues(
    now: Iterable[InspectorIssue], base: KnownIssues, lines: Lines, names: Mapping[str, str]
) -> tuple[list[InspectorIssue], list[InspectorIssue]]:
    """(new, known). `names`: path of now → path at the base, for files that moved."""
    left = Counter(base.counts)
    new: list[InspectorIssue] = []
    known: list[InspectorIssue] = []
    for each in now:
        key = _key(each, names.get(each["file"]) or each["file"], lines)
        if left[key] > 0:
            left[key] -= 1
            known.append(each)
        else:
            new.append(each)
    return new, known


def _key(each: InspectorIssue, file: str, lines: Lines) -> Key:
    """Numbers in a message are often positions, which move with the lines."""
    line = "" if each["category"] == "format" else lines.text(each["file"], each.get("line"))
    code = each.get("code") or ""
    return file, each.get("tool", ""), code, _NUMBER.sub("#", each["message"]), line


def by_lines(
    now: Iterable[InspectorIssue], changed: Mapping[str, set[int]]
) -> tuple[list[InspectorIssue], list[InspectorIssue]]:
    """Where the base cannot be checked: an issue is new if its line is, or if it names no line."""
    new: list[InspectorIssue] = []
    known: list[InspectorIssue] = []
    for each in now:
        line = each.get("line")
        is_new = each["file"] in changed and (line is None or line in changed[each["file"]])
        (new if is_new else known).append(each)
    return new, known
