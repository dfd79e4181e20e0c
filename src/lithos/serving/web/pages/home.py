"""Home: what happens in this memory now, what is ready to be done, who was here, what is wrong."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.pages.mail import own_inbox
from lithos.serving.web.templates import PRIORITIES

SHOWN_CHANGES = 40
SHOWN_TASKS = 8
MOST_OPEN = 200  # tasks among which claims are looked for
SHOWN_AGENTS = 8
SHOWN_PROBLEMS = 5  # as the page of health, which shares the cached answer
NO_PROBLEM = frozenset({"links_by_title"})  # advice, which the page of health shows


async def home(page: Page) -> Response:
    stats, changes, beside, waits = await asyncio.gather(
        page.call("lithos_stats"), _changes(page), _beside(page), _waiting(page)
    )
    size = sum(stats["bytes"].values())
    new = not stats["documents"] and not changes["rows"]
    folder = page.site.config.storage.vault if page.site.config and page.visitor.operator else None
    values = {"stats": stats, "changes": changes, "size": size, "waiting": waits, "new": new, "folder": folder}
    return page.show("home.html", **values, **beside)


async def waiting(page: Page) -> Response:
    return page.show("home_waiting.html", waiting=await _waiting(page))


async def side(page: Page) -> Response:
    return page.show("home_side.html", **await _beside(page))


async def _beside(page: Page) -> dict[str, Any]:
    """The right column: who works on what, what may be taken, who was here."""
    ready, opened, agents = await asyncio.gather(
        page.call("lithos_task_ready", limit=SHOWN_TASKS),
        page.call("lithos_task_list", status="open", limit=MOST_OPEN),
        page.call("lithos_agent_list", limit=SHOWN_AGENTS + len(page.own_names)),
    )
    others = [each for each in agents["agents"] if each["id"] not in page.own_names]
    claimed = [task for task in opened["tasks"] if task["claims"]][:SHOWN_TASKS]
    return {"ready": ready, "claimed": claimed, "agents": others[:SHOWN_AGENTS], "priorities": PRIORITIES}


async def _waiting(page: Page) -> list[tuple[str, str, int]]:
    """Decisions of a person: page, words, how many. None for those who may not."""
    if not page.visitor.may_write:
        return []
    proposals, own, dead = await asyncio.gather(
        page.try_call("lithos_proposal_list", limit=20),
        own_inbox(page),
        page.try_call("lithos_dead_letter_list", limit=1) if page.visitor.person else asyncio.sleep(0, None),
    )
    found = [
        ("/garden", "Proposed changes to approve", len((proposals or {}).get("proposals", ()))),
        ("/mail", "Unread messages", int((own or {}).get("waiting", 0))),
        ("/mail/dead", "Dead letters", int((dead or {}).get("total", 0))),
    ]
    return [each for each in found if each[2]]


async def activity(page: Page) -> Response:
    return page.show("activity.html", changes=await _changes(page))


async def _changes(page: Page) -> dict[str, Any]:
    return await page.call("lithos_changes", since="7d", limit=SHOWN_CHANGES, rows=True)


async def problems(page: Page) -> Response:
    """Asked for after the first paint: it looks at every note."""
    found = await page.call_cached("lithos_validate", limit=SHOWN_PROBLEMS)
    counts = [(kind.replace("_", " "), n) for kind, n in found["counts"].items() if n and kind not in NO_PROBLEM]
    return page.show("problems.html", counts=counts, stats=await page.call("lithos_stats"))


ROUTES = (
    PageRoute("/", home),
    PageRoute("/home/activity", activity),
    PageRoute("/home/side", side),
    PageRoute("/home/waiting", waiting),
    PageRoute("/home/problems", problems),
)
