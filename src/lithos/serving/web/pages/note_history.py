"""The versions of a note: who changed it, what changed side by side, and the way back."""

from __future__ import annotations

from starlette.responses import Response

from lithos.serving.web.diffs import side_by_side
from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.templates import path as segment


async def history(page: Page) -> Response:
    found = await page.call("lithos_note_history", id=page.part("id"), cursor=page.given("cursor") or None)
    note = await page.try_call("lithos_read", id=found["id"])  # None: it is deleted
    return page.show("note_history.html", note=note, history=found, id=found["id"])


async def difference(page: Page) -> Response:
    old, new = page.given("old") or None, page.given("new") or None
    found = await page.call("lithos_note_diff", id=page.part("id"), old=old, new=new)
    note = await page.try_call("lithos_read", id=found["id"])
    rows = await page.work(side_by_side, found["diff"])
    return page.show("note_diff.html", note=note, found=found, rows=rows)


async def revert(page: Page) -> Response:
    fields = await page.form()
    await page.call(
        "lithos_note_revert",
        id=page.part("id"),
        version=fields.get("version", ""),
        if_match=fields.get("if_match") or None,
        idempotency_key=fields.get("key"),
    )
    return page.go(f"/note/{segment(page.part('id'))}")


async def restore(page: Page) -> Response:
    fields = await page.form()
    await page.call("lithos_note_restore", note=page.part("id"), idempotency_key=fields.get("key"))
    return page.go(f"/note/{segment(page.part('id'))}")


ROUTES = (
    PageRoute("/note/{id}/history", history),
    PageRoute("/note/{id}/diff", difference),
    PageRoute("/note/{id}/revert", revert, "POST"),
    PageRoute("/note/{id}/restore", restore, "POST"),
)
