"""Pictures of every page, to be looked at: light and dark, wide and narrow.

python -m tests.web.screenshots FOLDER [PAGE…]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.web.conftest import FLAGS, PATIENCE_MS, Site, chromium, filled_site
from tests.web.test_pages import PAGES, address

SIZES = {"wide": (1280, 850), "narrow": (390, 800)}


def main(folder: Path, names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, filled_site(Path(data)) as site, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS, timeout=PATIENCE_MS)
        for scheme in ("light", "dark"):
            for size in SIZES:
                _take(site, browser, folder, names or list(PAGES), scheme, size)
        browser.close()


def _take(site: Site, browser: Any, folder: Path, names: list[str], scheme: str, size: str) -> None:
    width, height = SIZES[size]
    context = browser.new_context(
        base_url=site.url, color_scheme=scheme, viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"/enter?code={site.sign_ins.new_code()}")
    for name in names:
        page.goto(address(site, name))
        page.wait_for_load_state("load")
        if "graph" in page.url:
            page.locator("[data-graph][data-ready=yes]").wait_for()
        page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
