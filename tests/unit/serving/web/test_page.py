"""Answers that a page keeps for a minute."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lithos.errors import LithosError, Unavailable
from lithos.serving.web.page import Page, Site
from lithos.serving.web.visitors import Visitor
from lithos.tools.caller import Caller


def test_tabs_that_open_at_once_ask_for_a_costly_answer_once() -> None:
    page, asked = _page(fails=0)

    async def five() -> list[Any]:
        return await asyncio.gather(*(page.call_cached("lithos_validate", limit=3) for _ in range(5)))

    assert asyncio.run(five()) == [{"ok": True}] * 5
    assert asked == ["lithos_validate"]


def test_a_visitor_who_leaves_does_not_take_the_answer_from_the_others() -> None:
    page, asked = _page(fails=0)

    async def one_leaves() -> Any:
        leaves = asyncio.ensure_future(page.call_cached("lithos_validate"))
        stays = asyncio.ensure_future(page.call_cached("lithos_validate"))
        await asyncio.sleep(0)
        leaves.cancel()
        return await stays

    assert asyncio.run(one_leaves()) == {"ok": True}
    assert asked == ["lithos_validate"]


def test_an_error_is_not_kept() -> None:
    page, asked = _page(fails=1)

    async def twice() -> Any:
        with pytest.raises(LithosError):
            await page.call_cached("lithos_validate")
        return await page.call_cached("lithos_validate")

    assert asyncio.run(twice()) == {"ok": True}
    assert asked == ["lithos_validate"] * 2


def _page(fails: int) -> tuple[Page, list[str]]:
    asked: list[str] = []

    async def call_tool(request: Any, caller: Any, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append(tool)
        await asyncio.sleep(0)
        if len(asked) <= fails:
            raise Unavailable("not now", hint="Ask again.")
        return {"ok": True}

    anything: Any = None
    site = Site(anything, call_tool, anything, anything, None, anything, anything)
    return Page(site, anything, Visitor(Caller())), asked
