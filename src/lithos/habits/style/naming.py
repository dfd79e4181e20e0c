"""How things are named: the case of functions, variables, constants, types, files and components."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from lithos.habits.style.values import StyleValue

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


class Named(NamedTuple):
    path: str
    name: str
    type: int
    line: int


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
    language: str, names: Iterable[Named], value: Callable[[Mapping[str, list[Any]]], StyleValue | None]
) -> dict[str, StyleValue]:
    counted: dict[str, dict[str, list[Any]]] = {}
    files: dict[str, str] = {}
    for each in names:
        files.setdefault(each.path, each.path)
        if each.name.startswith("__"):
            continue
        kind = _KINDS[each.type]
        case = case_of(each.name)
        if kind == "functions" and case == "PascalCase" and each.path.endswith((".tsx", ".jsx")):
            kind = "components"
        if language == "go" and case in ("camelCase", "PascalCase") and kind != "constants":
            case = "MixedCaps"
        if case:
            _add(counted, kind, case, f"{each.path}:{each.line}")
    for path in files:
        stem = path.rpartition("/")[2].split(".")[0]
        case = case_of(stem)
        if case:
            _add(counted, "files", case, f"{path}:1")
    found = {
        kind: value(counted[kind])
        for kind in ("functions", "variables", "constants", "types", "files", "components")
        if kind in counted
    }
    return {kind: each for kind, each in found.items() if each is not None}


def _add(counted: dict[str, dict[str, list[Any]]], kind: str, case: str, where: str) -> None:
    entry = counted.setdefault(kind, {}).setdefault(case, [0, []])
    entry[0] += 1
    if len(entry[1]) < 2:
        entry[1].append(where)
