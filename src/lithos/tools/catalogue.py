"""Every tool of Lithos, joined: a part adds its tools by adding its module here."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from lithos.tools.registry import Registry, Tool


@cache
def catalogue() -> Registry:
    """The registry that is served; made once, because schemas cost a few milliseconds each."""
    return Registry(each for module in _modules() for each in tools_of(module))


def tools_of(module: ModuleType) -> list[Tool]:
    """The tools that a module defines, in the order in which they stand there."""
    return [each for each in vars(module).values() if isinstance(each, Tool)]


def _modules() -> list[ModuleType]:
    from lithos.tools import (
        agents,
        board,
        events,
        find,
        garden_changes,
        garden_files,
        garden_sections,
        ledger,
        ledger_agents,
        ledger_upkeep,
        lifecycle,
        notes,
        search,
        skills,
        stats,
        tokens,
    )

    garden = [garden_files, garden_sections, garden_changes]
    ours = [notes, search, lifecycle, agents, board, ledger, ledger_agents, ledger_upkeep, skills]
    return [*ours, stats, find, tokens, events, *garden]
