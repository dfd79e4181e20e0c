"""Garden and audit: proposals to approve or refuse with their diffs, events with filters, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlencode

from starlette.responses import Response

from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.pages.board import task_titles

EVENTS = 50
LONGEST_DIFF = 60_000  # characters of a diff that are shown
FILTERS = ("agent", "type", "status", "path", "since", "until")
STATUSES = ("committed", "pending", "written", "failed", "conflict")
UNDOABLE = ("note", "task")
FINAL = ("finding", "renew", "upload", "supersede")  # `lithos_undo` says why


async def garden(page: Page) -> Response:
    given = {name: page.given(name).strip() for name in FILTERS}
    wanted = {name: value for name, value in given.items() if value}
    caller = page.visitor.caller
    only = None if caller.owner else caller.user  # a token that does not see everybody's events sees its own
    events, proposals = await asyncio.gather(
        page.call("lithos_events_query", limit=EVENTS, cursor=page.given("cursor") or None, user_id=only, **wanted),
        page.try_call("lithos_proposal_list", limit=20),
    )
    tasks = await task_titles(page, (row["thing"] for row in events["rows"] if row["type"] == "task" and row["thing"]))
    more = urlencode({**wanted, "cursor": events["next_cursor"]}) if events["next_cursor"] else ""
    return page.show(
        "garden.html",
        events=events["rows"],
        tasks=tasks,
        more=more,
        given=given,
        only=only,
        filtered=bool(wanted),
        statuses=STATUSES,
        undoable=UNDOABLE,
        final=FINAL,
        proposals=[
            {**each, "lines": list(patch_lines(each["diff"]))} for each in (proposals or {}).get("proposals", ())
        ],
        undone=page.given("undone"),
    )


async def apply(page: Page) -> Response:
    fields = await page.form()
    await page.call(
        "lithos_apply_change",
        proposal_id=page.part("id"),
        rationale=fields.get("rationale", "").strip() or "approved on the page",
        idempotency_key=fields.get("key"),
    )
    return page.go("/garden")


async def refuse(page: Page) -> Response:
    fields = await page.form()
    await page.call(
        "lithos_proposal_refuse",
        proposal_id=page.part("id"),
        rationale=fields.get("rationale", "").strip() or "refused on the page",
        idempotency_key=fields.get("key"),
    )
    return page.go("/garden")


async def undo(page: Page) -> Response:
    fields = await page.form()
    answer = await page.call("lithos_undo", event=page.part("id"), idempotency_key=fields.get("key"))
    return page.go("/garden?" + urlencode({"undone": answer["did"]}))


def patch_lines(diff: str) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff with the class that each is shown in."""
    for line in diff[:LONGEST_DIFF].splitlines():
        if line.startswith(("+++", "---")):
            yield "file", line
        elif line.startswith("@@"):
            yield "at", line
        else:
            yield {"+": "plus", "-": "minus"}.get(line[:1], ""), line
    if len(diff) > LONGEST_DIFF:
        yield "at", f"… {len(diff) - LONGEST_DIFF:,} more characters are not shown"


ROUTES = (
    PageRoute("/garden", garden),
    PageRoute("/garden/proposals/{id}/apply", apply, "POST"),
    PageRoute("/garden/proposals/{id}/refuse", refuse, "POST"),
    PageRoute("/garden/events/{id}/undo", undo, "POST"),
)
