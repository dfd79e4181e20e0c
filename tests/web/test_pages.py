"""Every page opens, reads without a script, and has no violation that axe finds, in both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.web.conftest import Site
from tests.web.memory import OPERATOR

SPARE = "users/vera/parts/cellar/notes.md"
PAGES = {
    "home": "/",
    "search": "/search?q=retries",
    "recent": "/search",
    "note": "/note/{Retries}",
    "edit": "/note/{Retries}/edit",
    "history": "/note/{Retries}/history",
    "diff": "/note/{Retries}/diff",
    "new": "/note-new",
    "agents": "/agents",
    "agent": "/agents/bob",
    "health": "/status",
    "graph": "/graph",
    "neighbourhood": "/graph?around={Retries}",
    "board": "/board",
    "task": "/board/{Measure the queue}",
    "ledger": "/ledger",
    "thought": "/ledger/default/2",
    "garden": "/garden",
    "mail": "/mail",
    "thread": "/mail/thread/{thread}",
    "write": "/mail/write",
    "dead": "/mail/dead",
    "sign-in": "/sign-in",
    "error": "/nowhere",
}


def address(site: Site, name: str) -> str:
    path = PAGES[name]
    if name == "thought":
        return path.replace("default", site.call("mentisdb_list_chains")["default_chain_key"])
    return re.sub(r"\{(.+?)\}", lambda found: site.ids[found[1]], path)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_page_has_a_violation_scrolls_sideways_or_weighs_200_kb(
    site: Site, visit: Callable[..., Any], violations: Callable[[Any], list[str]], scheme: str, width: int
) -> None:
    page = visit(operator=True, color_scheme=scheme, viewport={"width": width, "height": 850})
    page.watched.allowed.add(404)
    found, sizes = {}, []
    page.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length") or 0)))
    for name in PAGES:
        sizes.clear()
        page.goto(address(site, name))
        weight = sum(sizes)
        if weight > 200_000:
            found[f"{name} weighs"] = [f"{weight:,} bytes"]
        if bad := violations(page):
            found[name] = bad
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found[f"{name} sideways"] = ["it scrolls"]
    assert not found, "\n".join(f"{name}: {each}" for name, bad in found.items() for each in bad)


def test_a_phone_shows_the_whole_row_of_an_event(site: Site, visit: Callable[..., Any]) -> None:
    page = visit(operator=True, viewport={"width": 390, "height": 850})
    page.goto(address(site, "garden"))
    place = page.locator(".events button").first.bounding_box()
    assert place["x"] + place["width"] <= 390


def test_readers_see_pages_without_a_button_that_changes_anything(site: Site) -> None:
    with httpx.Client(base_url=site.url, headers={"accept": "text/html"}, verify=False) as client:
        for name in PAGES:
            answer = client.get(address(site, name))
            refused = {"error": 404, "thread": 404, "edit": 403, "write": 403, "new": 403}
            assert answer.status_code == refused.get(name, 200), name
            posts = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', answer.text)
            assert posts == (["/sign-in"] if name == "sign-in" else []), name


def test_pages_read_without_a_script(site: Site, visit: Callable[..., Any]) -> None:
    page = visit(operator=True, java_script_enabled=False)
    page.goto(address(site, "board"))
    assert page.get_by_role("link", name="Pick a name").is_visible()
    page.goto(address(site, "graph"))
    assert not page.locator(".graph").is_visible()
    page.get_by_role("link", name="Timeouts").first.click()
    assert page.get_by_role("heading", name="Around Timeouts").is_visible()
    page.goto(address(site, "ledger"))
    assert page.get_by_text("No call may wait longer").is_visible()
    proposed = site.call("lithos_propose_change", path=SPARE, content="# Cellar\n\nIt is dry.\n", user_id="vera")
    page.goto(address(site, "garden"))
    assert page.get_by_text("+It is dry.").is_visible()
    site.call("lithos_proposal_refuse", OPERATOR, proposal_id=proposed["proposal_id"], rationale="seen")
    page.goto(address(site, "thread"))
    assert page.get_by_text("Two, then we stop.").is_visible()
