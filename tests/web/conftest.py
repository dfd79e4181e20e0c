"""A real browser on the real page over a filled memory. A test fails on a console error, and on a request elsewhere."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from lithos.app import open_lithos
from lithos.settings import LithosConfig, SearchSettings, StorageSettings
from tests.support.wire import serving
from tests.web.memory import Memory, fill

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]
SECRET = "open-sesame"
PATIENCE_MS = 60_000  # a busy machine starts a browser slowly


def chromium() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:  # all of the suite, in every worker
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.web)
            item.add_marker(pytest.mark.timeout(1200))  # 24 pages under axe on a machine with much else to do
            if chromium() is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium: `make test-web` says how to install one"))


@dataclass
class Site:
    url: str
    memory: Memory
    sign_ins: Any
    stored: Counter[str] = field(default_factory=Counter)  # of hostile texts: how many each tool took

    def call(self, tool: str, /, *caller: Any, **arguments: Any) -> dict[str, Any]:
        return self.memory.call(tool, *caller, **arguments)

    @property
    def ids(self) -> dict[str, str]:
        return self.memory.ids


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One host for the tests of the page; each makes what it changes. Those of hostile texts have their own."""
    with filled_site(tmp_path_factory.mktemp("web") / "data") as made:
        yield made


def _with_secret(config: LithosConfig) -> LithosConfig:
    """The settings that the page of health shows, with a password among them."""
    url = SecretStr(f"postgresql://ann:{SECRET}@db.example/lithos")
    return config.model_copy(update={"storage": config.storage.model_copy(update={"database_url": url})})


@contextmanager
def filled_site(
    data_dir: Path, adapt: Callable[[LithosConfig], LithosConfig] = lambda config: config
) -> Iterator[Site]:
    config = LithosConfig(storage=StorageSettings(data_dir=data_dir), search=SearchSettings(wait_seconds=30))
    config = adapt(config)
    lithos = open_lithos(config)
    apps: list[Any] = []
    try:
        memory = fill(lithos)
        with serving(lithos, built=apps.append, config=_with_secret(config)) as (url, _):
            yield Site(url, memory, apps[0].state.sign_ins)
    finally:
        lithos.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import Error as PlaywrightError
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        try:
            opened = driver.chromium.launch(executable_path=chromium(), args=FLAGS, timeout=PATIENCE_MS)
        except PlaywrightError as error:
            if os.environ.get("LITHOS_TEST_WEB") == "required":
                raise
            pytest.skip(f"the Chromium of this machine does not start: {str(error)[:300]}")
        yield opened
        opened.close()


@dataclass
class Watched:
    """What a page did that it must not do."""

    origin: str
    errors: list[str] = field(default_factory=list)
    allowed: set[int] = field(default_factory=set)  # statuses that a test provokes
    cut: bool = False  # a test cuts the connection

    def follow(self, page: Any) -> None:
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(f"error: {error}"))
        page.on("request", self._request)

    def _console(self, message: Any) -> None:
        text = message.text
        # A search that the next letter replaces is aborted: two errors of htmx. One that failed says sendError.
        aborted = text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
        expected = aborted or any(f"status of {status}" in text for status in self.allowed)
        if message.type == "error" and not expected and not (self.cut and "net::ERR_" in text):
            self.errors.append(f"console: {text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.errors.append(f"request: {request.url}")


@pytest.fixture
def visit(site: Site, browser: Any) -> Iterator[Callable[..., Any]]:
    """`visit()` opens a page of a new visitor: a reader, or the operator; options go to the browser's context."""
    opened: list[tuple[Any, Watched]] = []

    def make(operator: bool = False, **options: Any) -> Any:
        options = {"base_url": site.url, "viewport": {"width": 1280, "height": 900}, **options}
        context = browser.new_context(**options)
        page, watched = context.new_page(), Watched(options["base_url"])
        watched.follow(page)
        page.watched = watched
        opened.append((context, watched))
        if operator:
            page.goto(f"/enter?code={site.sign_ins.new_code()}")
        return page

    yield make
    for context, _ in opened:
        context.close()
    assert [error for _, watched in opened for error in watched.errors] == []


@pytest.fixture(scope="session")
def axe() -> str:
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


RULES = {
    "resultTypes": ["violations"],
    "iframes": False,
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
}


@pytest.fixture
def violations(axe: str) -> Callable[[Any], list[str]]:
    def check(page: Any) -> list[str]:
        page.evaluate(axe)  # through the debugger: the page's own policy would block it
        found = page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
        return [
            f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for each in found
            for node in each["nodes"]
        ]

    return check
