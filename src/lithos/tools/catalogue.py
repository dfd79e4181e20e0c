"""The registry of all tools: a part adds its tools by adding its module here."""

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
        changes,
        code,
        doctor,
        entries,
        events,
        handover,
        lifecycle,
        notes,
        search,
        sessions,
        skills,
        stats,
        tokens,
    )
    from lithos.tools.find import find
    from lithos.tools.garden import changes as garden_changes
    from lithos.tools.garden import files, sections
    from lithos.tools.graph import academic, asking, edges, history
    from lithos.tools.habits import memory, writing
    from lithos.tools.ledger import agents as ledger_agents
    from lithos.tools.ledger import thoughts, upkeep
    from lithos.tools.messages import inbox, sending
    from lithos.tools.workshop import files as work_files
    from lithos.tools.workshop import inspection, merges, runs, worktrees

    ledger = [thoughts, ledger_agents, upkeep]
    garden = [files, sections, garden_changes]
    habits = [memory, writing]
    workshop = [worktrees, work_files, runs, inspection, merges]
    graph = [history, academic, edges, asking]
    return [
        notes,
        search,
        changes,
        lifecycle,
        agents,
        board,
        *ledger,
        skills,
        sessions,
        entries,
        handover,
        sending,
        inbox,
        stats,
        doctor,
        find,
        tokens,
        events,
        *garden,
        code,
        *habits,
        *graph,
        *workshop,
    ]
