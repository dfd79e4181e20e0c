"""The graph page in a Chromium with software rendering: bytes, layout, frames a second while a hand moves it.

    python -m benchmarks web_graph                       # 10,000 notes made here
    BENCH_DATA=/data/directory python -m benchmarks web_graph

CPU is that of all processes of the browser for one drawn frame. It holds on a busy machine; frames a second do not.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
from tests.support.wire import serving
from tests.web.conftest import FLAGS, chromium

from lithos.app import open_lithos
from lithos.settings import LithosConfig, StorageSettings

NOTES, SECONDS = 10_000, 6.0
READY = "() => document.querySelector('[data-graph]').dataset.ready === 'yes'"
FRAMES = "() => Number(document.querySelector('[data-graph]').dataset.frames)"


def main() -> None:
    if chromium() is None:
        line("no Chromium is installed", "skipped")
        return
    given = os.environ.get("BENCH_DATA")
    folder = Path(given or tempfile.mkdtemp(prefix="lithos-bench-"))
    if given is None:
        _make(folder / "knowledge")
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder)))
    try:
        lithos.notes.ensure_scanned()
        with serving(lithos) as (url, _):
            _data(url)
            _browse(url)
    finally:
        lithos.close()
        if given is None:
            shutil.rmtree(folder)


def line(what: str, value: str) -> None:
    print(f"{what:34} | {value}", flush=True)


def _make(folder: Path) -> None:
    chance = random.Random(7)
    for number in range(NOTES):
        path = folder / f"topic {number % 40}" / f"note {number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        near = [number + 40 * chance.randint(1, 30) for _ in range(3)]
        links = " ".join(f"[[note {each % NOTES}]]" for each in near)
        path.write_text(f"---\ntags: [t{number % 12}]\n---\n# note {number}\n\n{links}\n", encoding="utf-8")


def _data(url: str) -> None:
    with httpx.Client(base_url=url, verify=False, timeout=120) as client:
        answer = client.get("/graph/data", headers={"accept-encoding": "identity"})
    body, found = answer.content, answer.json()
    line("notes", f"{found['titles'].count(chr(10)) + 1:,}")
    line("data, as it is and compressed", f"{len(body) / 1e3:,.0f} kB, {len(gzip.compress(body, 5)) / 1e3:,.0f} kB")


def _browse(url: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(300_000)
        before, started = browser_cpu(), time.perf_counter()
        page.goto(f"{url}/graph")
        page.wait_for_function(READY)
        line("arranged, first visit", f"{time.perf_counter() - started:.1f} s, {browser_cpu() - before:.1f} s CPU")
        _moved(page, "dragging the whole graph", _drag)
        _moved(page, "zooming in and out", _zoom)
        for _ in range(6):
            page.get_by_role("button", name="Zoom in").click()
        _moved(page, "dragging, zoomed in 7 times", _drag)
        if place := os.environ.get("BENCH_PICTURE"):
            page.wait_for_timeout(2000)
            page.screenshot(path=place)
        browser.close()


def _moved(page: Any, what: str, move: Any) -> None:
    page.wait_for_timeout(1500)
    box = page.locator("canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    frames, cpu, started = page.evaluate(FRAMES), browser_cpu(), time.perf_counter()
    step = 0
    page.mouse.move(x, y)
    while (passed := time.perf_counter() - started) < SECONDS:
        move(page, x, y, step)
        step += 1
    drawn = page.evaluate(FRAMES) - frames
    page.mouse.up()
    line(what, f"{drawn / passed:.0f} frames/s, {(browser_cpu() - cpu) / max(drawn, 1) * 1e3:.1f} ms CPU a frame")


def _drag(page: Any, x: float, y: float, step: int) -> None:
    if step == 0:
        page.mouse.down()
    page.mouse.move(x + 150 * ((step % 40) / 20 - 1), y + 100 * ((step % 60) / 30 - 1))


def _zoom(page: Any, x: float, y: float, step: int) -> None:
    page.mouse.wheel(0, -60 if step % 40 < 20 else 60)


def browser_cpu() -> float:
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            if "chrom" not in child.name():  # the driver is no part of the browser
                continue
            times = child.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total
