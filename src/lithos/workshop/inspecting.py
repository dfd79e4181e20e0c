"""Checks and tests as jobs: refused before anything runs, answered at once or later."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from lithos.core.call import Call
from lithos.workshop.commands import Place
from lithos.workshop.inspection import TestQuestion
from lithos.workshop.inspection.touched import checked_path
from lithos.workshop.runs import Job
from lithos.workshop.workshop import Workshop


async def start_check(
    workshop: Workshop, call: Call, place: Place, paths: Sequence[str], categories: Sequence[str]
) -> Job:
    def start() -> Job:
        worktree = workshop.ready(call, *place)
        for path in paths:
            checked_path(worktree.path, path)

        def work() -> dict[str, Any]:
            return cast(dict[str, Any], workshop.inspection.check(call, worktree, paths, categories))

        return workshop.jobs.start(call, worktree, "check", [*categories, *paths], work)

    return await asyncio.to_thread(start)


async def start_tests(workshop: Workshop, call: Call, place: Place, question: TestQuestion) -> Job:
    def start() -> Job:
        worktree = workshop.ready(call, *place)
        for path in question.paths:
            checked_path(worktree.path, path)

        def work() -> dict[str, Any]:
            return cast(dict[str, Any], workshop.inspection.test(call, worktree, question))

        return workshop.jobs.start(call, worktree, "test", [question.scope, *question.paths], work)

    return await asyncio.to_thread(start)
