"""How things are named: the case of functions, variables, constants, types, files and components."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lithos.habits.style.values import StyleValue
from lithos.storage import Row

_KINDS = {
    2: "functions",
    3: "functions",
    6: "variables",
    7: "constants",
    4: "types",
    5: "types",
    9: "types",
    10: "types",
}
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+\Z")
_UPPER = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\Z")
_PASCAL = re.compile(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*\Z")
_CAMEL = re.compile(r"[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*\Z")
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+\Z")


def case_of(name: str) -> str:
    """Empty for a name that fits several cases: one lower-case word says nothing."""
    plain = name.strip("_$")
    for pattern, case in ((_SNAKE, "snake_case"), (_KEBAB, "kebab-case"), (_CAMEL, "camelCase")):
        if pattern.match(plain):
            return case
    if len(plain) > 1 and _UPPER.match(plain):
        return "UPPER_SNAKE_CASE"
    return "PascalCase" if _PASCAL.match(plain) else ""


def named_values(
    language: str,
    names: Iterable[Row],
    paths: Mapping[int, str],
    value: Callable[[Mapping[str, list[Any]]], StyleValue | None],
) -> dict[str, StyleValue]:
    """`names` has file, name, type and line of each; `paths` the path of each file."""
    counted: dict[str, dict[str, list[Any]]] = {}
    cases: dict[str, str] = {}  # most names come many times
    for each in names:
        name, path = each["name"], paths[each["file"]]
        case = cases.get(name)
        if case is None:
            case = cases[name] = "" if name.startswith("__") else case_of(name)
        if not case:
            continue
        kind = _KINDS[each["type"]]
        if kind == "functions" and case == "PascalCase" and path.endswith((".tsx", ".jsx")):
            kind = "components"
        if language == "go" and case in ("camelCase", "PascalCase") and kind != "constants":
            case = "MixedCaps"
        _add(counted, kind, case, path, each["line"])
    for path in paths.values():
        case = case_of(path.rpartition("/")[2].split(".")[0])
        if case:
            _add(counted, "files", case, path, 1)
    found = {
        kind: value(counted[kind])
        for kind in ("functions", "variables", "constants", "types", "files", "components")
        if kind in counted
    }
    return {kind: each for kind, each in found.items() if each is not None}


def _add(counted: dict[str, dict[str, list[Any]]], kind: str, case: str, path: str, line: int) -> None:
    entry = counted.setdefault(kind, {}).setdefault(case, [0, []])
    entry[0] += 1
    if len(entry[1]) < 2:
        entry[1].append(f"{path}:{line}")
