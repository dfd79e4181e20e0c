"""Agents: who works here, when they were seen, and what they did."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from lithos.serving.web.page import Page, PageRoute

LOOKED_AT = 300  # changes in which the last one of each agent is looked for


async def everyone(page: Page) -> Response:
    found, changes = await asyncio.gather(
        page.call("lithos_agent_list", limit=100, cursor=page.given("cursor") or None),
        page.call_cached("lithos_changes", since="7d", limit=LOOKED_AT, rows=True),
    )
    did = {row["agent"]: row for row in reversed(changes["rows"])}  # the newest of each
    return page.show("agents.html", found=found, did=did)


async def one(page: Page) -> Response:
    agent = await page.call("lithos_agent_info", id=page.part("id"))
    changes = await page.call("lithos_changes", since="30d", limit=50, agent=agent["id"], rows=True)
    claims = await page.try_call("lithos_task_list", claimed_by=agent["id"], limit=20)
    return page.show("agent.html", agent=agent, changes=changes, claims=(claims or {}).get("tasks", []))


ROUTES = (PageRoute("/agents", everyone), PageRoute("/agents/{id:path}", one))
