"""Home, search, note, agents and health in a real browser: every page opened, every action done, by keys too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.conftest import SECRET, Site

Visit = Callable[..., Any]


@pytest.fixture
def note(site: Site) -> dict[str, Any]:
    made = site.call("lithos_write", title="A note to look at", content="First [[Retries]] text.", agent="robot")
    return site.call(
        "lithos_write", id=made["id"], content="Second [[Retries]] text.\n\n## Part\n\nMore.", agent="robot"
    )


def test_search_answers_while_a_person_types_and_keys_lead_through_it(site: Site, visit: Visit) -> None:
    page = visit()
    page.goto("/agents")
    page.keyboard.press("/")
    page.keyboard.type("retries")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=retries")
    page.fill("main [data-find]", "")
    page.locator("main [data-find]").press_sequentially("timeouts", delay=10)
    page.locator("#results .hit-title", has_text="Timeouts").first.wait_for()
    page.wait_for_url(re.compile("q=timeouts"))
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('[data-item]') !== null")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.get_by_role("heading", name="Home").wait_for()


def test_a_person_corrects_compares_and_takes_back(site: Site, visit: Visit, note: dict[str, Any]) -> None:
    page = visit(operator=True)
    page.goto(f"/note/{note['id']}")
    page.keyboard.press("e")
    page.fill("#content", "Third text.")
    page.get_by_role("button", name="Save").click()
    page.locator(".prose", has_text="Third text.").wait_for()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="What changed").first.click()
    page.locator(".diff .is", has_text="Third text.").wait_for()
    page.go_back()
    page.get_by_role("button", name="Go back to before this").first.click()
    page.locator(".prose", has_text="Second").wait_for()


def test_a_person_writes_supersedes_and_forgets(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.watched.allowed.add(404)
    for title in ("Old way", "New way"):
        page.goto("/")
        page.get_by_role("link", name="New note").click()
        page.fill("#title", title)
        page.fill("#content", f"The {title.lower()}.")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("heading", name=title).wait_for()
    page.goto("/note/Old way")
    page.get_by_text("Supersede…").click()
    page.fill("#by", "New way")
    page.get_by_role("button", name="Supersede").click()
    page.get_by_text("Superseded by New way").wait_for()
    page.get_by_text("Forget…").click()
    page.get_by_role("button", name="Forget this note").click()
    page.wait_for_url("**/search")
    page.goto("/note/Old way")
    page.get_by_role("heading", name="Not found").wait_for()


def test_the_operator_examines_the_memory_and_sees_settings_without_secrets(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.goto("/status")
    page.get_by_role("button", name="Examine").click()
    page.locator("#doctor .badge").first.wait_for()
    assert page.url.endswith("/status")
    page.get_by_text("storage", exact=True).click()
    assert page.get_by_text("data_dir", exact=True).is_visible()
    assert page.locator("dt", has_text="database_url").is_visible()
    assert SECRET not in page.content()


def test_the_theme_stays_chosen(site: Site, visit: Visit) -> None:
    page = visit(color_scheme="light")
    page.goto("/")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Change between light and dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != ground
    page.goto("/agents")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_reading_pages_read_without_a_script(site: Site, visit: Visit, note: dict[str, Any]) -> None:
    page = visit(java_script_enabled=False)
    page.goto("/search")
    page.fill("main [name=q]", "retries")
    page.get_by_role("button", name="Search").click()
    page.locator(".hit-title").first.click()
    page.locator(".prose").wait_for()
    page.goto(f"/note/{note['id']}/diff")
    assert page.locator(".diff .is").first.is_visible()
    page.goto("/")
    assert page.get_by_role("heading", name="Activity").is_visible()
