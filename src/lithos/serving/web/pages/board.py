"""Board: tasks in columns by state, claims, dependencies, findings; people take part as agents do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from lithos.errors import InvalidInput, NotFound
from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.refusals import need_success
from lithos.serving.web.templates import PRIORITIES

MOST_OPEN, MOST_ENDED = 200, 30
SHOWN_ENDED = "14d"
Task = dict[str, Any]


async def board(page: Page) -> Response:
    tag = page.given("tag").strip()
    tags = [tag] if tag else None
    opened, done, dropped = await asyncio.gather(
        page.call("lithos_task_list", status="open", tags=tags, limit=MOST_OPEN),
        page.call("lithos_task_list", status="completed", tags=tags, since=SHOWN_ENDED, limit=MOST_OPEN),
        page.call("lithos_task_list", status="cancelled", tags=tags, since=SHOWN_ENDED, limit=MOST_OPEN),
    )
    ended = sorted([*done["tasks"], *dropped["tasks"]], key=lambda task: str(task["updated_at"]), reverse=True)
    tasks = sorted(opened["tasks"], key=lambda task: (task["priority"], task["created_at"]))
    columns = [
        ("Ready", "Open, waits for no one", [task for task in tasks if not task["claims"] and not task["blocked"]]),
        ("In progress", "Claimed by someone", [task for task in tasks if task["claims"]]),
        ("Blocked", "Waits for other tasks", [task for task in tasks if task["blocked"] and not task["claims"]]),
        ("Ended", "Completed or cancelled in 14 days", ended[:MOST_ENDED]),
    ]
    hidden = max(0, opened["total"] - len(tasks))
    values = {"columns": columns, "tag": tag, "total": opened["total"], "hidden": hidden, "priorities": PRIORITIES}
    return page.show("board.html", **values)


async def create(page: Page) -> Response:
    fields = await page.form()
    tags = [tag.strip().removeprefix("#") for tag in fields.get("tags", "").split(",") if tag.strip()]
    made = await page.call(
        "lithos_task_create",
        title=fields.get("title", ""),
        description=fields.get("description") or None,
        priority=_number(fields.get("priority", "2"), "priority"),
        tags=tags or None,
        depends_on=[fields["depends_on"]] if fields.get("depends_on", "").strip() else None,
        idempotency_key=fields.get("key"),
    )
    return page.go(f"/board/{made['task_id']}")


async def task(page: Page) -> Response:
    status, found = await asyncio.gather(
        page.call("lithos_task_status", task_id=page.part("id")),
        page.call("lithos_finding_list", task_id=page.part("id"), limit=200),
    )
    if not status["tasks"]:
        raise NotFound("there is no such task", hint="The board lists all that are open.")
    shown: Task = status["tasks"][0]
    names = [*shown.get("depends_on", ()), *shown.get("blocks", ())]
    return page.show(
        "task.html",
        task=shown,
        findings=found["findings"],
        others=await task_titles(page, names),
        mine=[claim for claim in shown["claims"] if claim["agent"] == page.visitor.name],
        priorities=PRIORITIES,
    )


async def task_titles(page: Page, ids: Iterable[str]) -> dict[str, Task]:
    """By id: tasks that a page names."""
    found = await asyncio.gather(*(page.try_call("lithos_task_status", task_id=each) for each in dict.fromkeys(ids)))
    return {each["tasks"][0]["id"]: each["tasks"][0] for each in found if each and each["tasks"]}


async def act(page: Page) -> Response:
    """One of the things that a person does to a task."""
    fields, task_id = await page.form(), page.part("id")
    what, key = page.part("what"), fields.get("key")
    aspect = fields.get("aspect", "").strip() or "all"
    if what == "claim":
        minutes = _number(fields.get("minutes", "60"), "minutes")
        answer = await page.call(
            "lithos_task_claim", task_id=task_id, aspect=aspect, ttl_minutes=minutes, idempotency_key=key
        )
    elif what == "release":
        answer = await page.call("lithos_task_release", task_id=task_id, aspect=aspect, idempotency_key=key)
    elif what == "finding":
        answer = await page.call(
            "lithos_finding_post", task_id=task_id, summary=fields.get("summary", ""), idempotency_key=key
        )
    elif what == "reopen":
        answer = await page.call("lithos_task_update", task_id=task_id, status="open", idempotency_key=key)
    elif what in ("complete", "cancel"):
        answer = await page.call(f"lithos_task_{what}", task_id=task_id, idempotency_key=key)
    else:
        raise NotFound("there is no such action", hint="claim, release, finding, complete, cancel or reopen.")
    need_success(answer)
    return page.go(f"/board/{task_id}")


def _number(text: str, name: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise InvalidInput(f"{name} is no whole number: {text[:40]!r}", hint="Choose one from the form.")
    return int(text.strip()[:9])


ROUTES = (
    PageRoute("/board", board),
    PageRoute("/board", create, "POST"),
    PageRoute("/board/{id}", task),
    PageRoute("/board/{id}/{what}", act, "POST"),
)
