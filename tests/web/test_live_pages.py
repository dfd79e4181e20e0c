"""Live pages in a real browser: two tabs on one connection, a leader that leaves, two browsers and two agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.cut import Wire
from tests.web.conftest import Site

Visit = Callable[..., Any]


def _streams(page: Any) -> list[str]:
    """Addresses of the event streams that a tab opens from now on."""
    opened: list[str] = []
    page.on("request", lambda request: opened.append(request.url) if "/live?" in request.url else None)
    return opened


def _live(page: Any) -> None:
    page.locator("[data-live-state]:not(.off)").wait_for()


def test_tabs_share_one_connection_and_the_next_takes_over_without_a_gap(site: Site, visit: Visit) -> None:
    first = visit()
    second = first.context.new_page()
    first_streams, second_streams = _streams(first), _streams(second)
    first.goto("/")
    _live(first)
    second.goto("/")
    _live(second)
    assert (len(first_streams), len(second_streams)) == (1, 0)
    site.call("lithos_write", title="Seen by both tabs", content="x", agent="robot")
    for tab in (first, second):
        tab.get_by_role("link", name="Seen by both tabs").wait_for()
    first.close()
    site.call("lithos_write", title="Written while no tab listened", content="x", agent="robot")
    second.get_by_role("link", name="Written while no tab listened").wait_for()
    assert len(second_streams) == 1


def test_a_lost_connection_catches_up_without_a_gap(site: Site, visit: Visit) -> None:
    wire = Wire(site.url)
    page = visit(base_url=f"http://127.0.0.1:{wire.port}")
    page.watched.cut = True
    page.goto("/")
    _live(page)
    opened = _streams(page)
    wire.cut()
    page.locator("[data-live-state].off").wait_for()
    site.call("lithos_write", title="Written while the line was dead", content="x", agent="robot")
    page.get_by_role("link", name="Written while the line was dead").wait_for()
    _live(page)
    assert len(opened) >= 1
    wire.close()


def test_an_open_note_follows_an_agent_and_an_open_form_warns(site: Site, visit: Visit) -> None:
    note = site.call("lithos_write", title="Followed note", content="before", agent="robot")
    reader, writer = visit(), visit(operator=True)
    reader.goto(f"/note/{note['id']}")
    _live(reader)
    writer.goto(f"/note/{note['id']}/edit")
    _live(writer)
    site.call("lithos_write", id=note["id"], content="after", agent="robot")
    reader.locator(".prose", has_text="after").wait_for()
    writer.locator("[data-changed]").wait_for()
    assert writer.locator("#content").input_value() == "before"


def test_two_browsers_and_two_agents_on_one_note_lose_nothing(site: Site, visit: Visit) -> None:
    note = site.call("lithos_write", title="Shared note", content="one\n\ntwo\n\nthree\n\nfour", agent="robot")
    ana, bo = visit(operator=True), visit(operator=True)
    for page in (ana, bo):
        page.watched.allowed.add(409)
        page.goto(f"/note/{note['id']}/edit")
    site.call("lithos_write", id=note["id"], content="ONE by an agent\n\ntwo\n\nthree\n\nfour", agent="robot")
    ana.fill("#content", "one\n\ntwo by Ana\n\nthree\n\nfour")
    ana.get_by_role("button", name="Save").click()
    ana.get_by_role("heading", name="Changed meanwhile").wait_for()
    ana.get_by_role("button", name="Save the joined text").click()
    ana.locator(".prose", has_text="two by Ana").wait_for()
    now = site.call("lithos_read", id=note["id"])
    text = now["content"].replace("three", "three by the other agent")
    site.call("lithos_write", id=note["id"], content=text, agent="robot-2", if_match=now["version"])
    bo.fill("#content", "one\n\ntwo\n\nthree\n\nfour by Bo")
    bo.get_by_role("button", name="Save").click()
    bo.get_by_role("button", name="Save the joined text").click()
    bo.locator(".prose", has_text="four by Bo").wait_for()
    whole = site.call("lithos_read", id=note["id"])["content"]
    for part in ("ONE by an agent", "two by Ana", "three by the other agent", "four by Bo"):
        assert part in whole
    assert "<<<<" not in whole
