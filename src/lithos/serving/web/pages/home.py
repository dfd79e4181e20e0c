"""Home: what happens in this memory now, what is ready to be done, who was here, what is wrong."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.templates import PRIORITIES

SHOWN_CHANGES = 40
SHOWN_TASKS = 8
SHOWN_AGENTS = 8
SHOWN_PROBLEMS = 5  # as the page of health, which shares the cached answer
NO_PROBLEM = frozenset({"links_by_title"})  # advice, which the page of health shows


async def home(page: Page) -> Response:
    stats, changes, ready, agents = await asyncio.gather(
        page.call("lithos_stats"), _changes(page), page.call("lithos_task_ready", limit=SHOWN_TASKS), _agents(page)
    )
    return page.show(
        "home.html",
        stats=stats,
        changes=changes,
        ready=ready,
        agents=agents,
        size=sum(stats["bytes"].values()),
        priorities=PRIORITIES,
    )


async def activity(page: Page) -> Response:
    return page.show("activity.html", changes=await _changes(page))


async def _changes(page: Page) -> dict[str, Any]:
    return await page.call("lithos_changes", since="7d", limit=SHOWN_CHANGES, rows=True)


async def _agents(page: Page) -> dict[str, Any]:
    return await page.call("lithos_agent_list", limit=SHOWN_AGENTS)


async def problems(page: Page) -> Response:
    """Asked for after the page is shown: it looks at every note."""
    found = await page.call_cached("lithos_validate", limit=SHOWN_PROBLEMS)
    counts = [(kind.replace("_", " "), n) for kind, n in found["counts"].items() if n and kind not in NO_PROBLEM]
    return page.show("problems.html", counts=counts, stats=await page.call("lithos_stats"))


ROUTES = (PageRoute("/", home), PageRoute("/home/activity", activity), PageRoute("/home/problems", problems))
