"""The shipped tables: tools, languages with their recommended tools, and patterns that name a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from lithos.workshop.discovery.values import CATEGORIES

Rules = Sequence[tuple[str, str]]  # (tool, category)


@dataclass(frozen=True, slots=True)
class ToolEntry:
    name: str
    languages: tuple[str, ...]
    programs: tuple[str, ...]
    run: Mapping[str, tuple[str, ...]]  # by category
    install: Mapping[str, str]  # package by ecosystem
    pros: tuple[str, ...]
    cons: tuple[str, ...]
    runner: bool = False  # it makes environments and starts another tool in them, as tox does


@dataclass(frozen=True, slots=True)
class Recommendation:
    tool: str
    satisfactory: bool
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    package_manager: str
    recommended: Mapping[str, Recommendation]  # by category


def _loaded(name: str) -> Any:
    return orjson.loads(files("lithos.workshop.discovery").joinpath(f"data/{name}.json").read_bytes())


@cache
def tools() -> Mapping[str, ToolEntry]:
    return {
        name: ToolEntry(
            name,
            tuple(row["languages"]),
            tuple(row["programs"]),
            {category: tuple(vector) for category, vector in row["run"].items()},
            row.get("install", {}),
            tuple(row.get("pros", ())),
            tuple(row.get("cons", ())),
            row.get("runner", False),
        )
        for name, row in _loaded("tools").items()
    }


@cache
def languages() -> Mapping[str, Language]:
    def recommended(row: Mapping[str, Any]) -> dict[str, Recommendation]:
        return {
            category: Recommendation(
                row[category]["tool"], row[category]["satisfactory"], tuple(row[category].get("options", ()))
            )
            for category in CATEGORIES
            if category in row
        }

    return {
        name: Language(name, row["package_manager"], recommended(row)) for name, row in _loaded("languages").items()
    }


@cache
def by_extension() -> Mapping[str, str]:
    rows = _loaded("languages")
    found = {extension: name for name, row in rows.items() for extension in row["extensions"]}
    return found | {name: language for language, row in rows.items() for name in row.get("names", ())}


@cache
def patterns() -> Mapping[str, Any]:
    return dict(_loaded("patterns"))


@cache
def commands() -> Mapping[str, list[tuple[tuple[str, ...], Rules]]]:
    """Beginnings of commands by their program, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], Rules]]] = {}
    for text, rules in patterns()["commands"]:
        words = tuple(text.split())
        found.setdefault(words[0], []).append((words, [tuple(rule) for rule in rules]))
    for rows in found.values():
        rows.sort(key=lambda row: -len(row[0]))
    return found
