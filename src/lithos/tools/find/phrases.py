"""How people and models say what a tool is for, in other words than its description: `lithos_tool_find` reads these."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def phrases() -> Mapping[str, tuple[str, ...]]:
    """By tool, from phrases.txt: a name, then its phrases, indented."""
    known: dict[str, list[str]] = {}
    name = ""
    for line in files(__package__).joinpath("phrases.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            known[name].append(line.strip())
        elif line and not line.startswith("#"):
            name = line.strip()
            known[name] = []
    return {name: tuple(each) for name, each in known.items()}
