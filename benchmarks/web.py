"""The page over a vault of 10,000 real notes: weight, CPU, first paint, search as you type, 200 open pages.

    python -m benchmarks.web                  # uses the vault of benchmarks.recall; makes it the first time
    python -m benchmarks.web --vault=FOLDER   # another memory
    python -m benchmarks.web --only=typing,idle   # of weight, cpu, typing, paint, idle

CPU is the host's, taken from the kernel, beside a request for `/health` of the same run. First paint needs a Chromium
and playwright; without them it is left out. Wall times hold on a quiet machine only.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import psutil
from tests.support.served import Served, served

from benchmarks.corpus import sentences
from benchmarks.recall import VAULT, prepare, write_notes
from benchmarks.report import line, percentile
from benchmarks.web_graph import browser_cpu

ASKED = 100
STREAMS = 200
IDLE_SECONDS = 60.0
QUIET_LOOKS = 4
PAGES = ("/", "/search", "/search?q=open+a+file", "/agents", "/status")


def main() -> None:
    given, only = _given("vault"), _given("only")
    if not given:
        write_notes(VAULT)
        prepare(VAULT)
    with served(Path(given) if given else VAULT) as host:
        note = _a_note(host)
        addresses = (*PAGES, note, f"{note}/history")
        process = psutil.Process(host.process.pid)
        _wait_until_idle(process)
        parts = {
            "weight": lambda: measure_weight(host, addresses),
            "cpu": lambda: measure_cpu(host, process, addresses),
            "typing": lambda: measure_typing(host, process),
            "paint": lambda: measure_paint(host, process, ("/", note, "/search?q=open+a+file")),
            "idle": lambda: measure_idle(host, process),
        }
        for name, measure in parts.items():
            if not only or name in only.split(","):
                measure()
        print(f"  load {psutil.getloadavg()[0]:.0f} on {psutil.cpu_count()} cores", flush=True)


def _given(name: str) -> str:
    return next((each.removeprefix(f"--{name}=") for each in sys.argv if each.startswith(f"--{name}=")), "")


def _wait_until_idle(process: psutil.Process) -> None:
    """Until the first scan, the vectors and what the habits read of the notes are through. On a busy machine
    background work pauses for seconds, so that one quiet look proves nothing."""
    quiet = 0
    while quiet < QUIET_LOOKS:
        quiet = quiet + 1 if process.cpu_percent(5.0) < 10 else 0


def _a_note(host: Served) -> str:
    found = re.search(r'href="(/note/[^"/]+)"', host.http.get("/search", headers={"accept": "text/html"}).text)
    assert found is not None
    return found[1]


def measure_weight(host: Served, addresses: tuple[str, ...]) -> None:
    """Everything that a first visit loads, as it travels."""
    for address in addresses:
        text = host.http.get(address, headers={"accept": "text/html"}).text
        assets = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
        parts = [len(gzip.compress(host.http.get(each).content)) for each in dict.fromkeys(assets)]
        weight = len(gzip.compress(text.encode(), 5)) + sum(parts)
        line(f"{_short(address)}: page and its files, compressed", weight / 1000, 200, "kB")


def measure_cpu(host: Served, process: psutil.Process, addresses: tuple[str, ...]) -> None:
    base = _cpu_ms(process, lambda: host.http.get("/health"))
    print(f"  a request for /health: {base:.2f} ms CPU of the host", flush=True)
    for address in addresses:
        took = _cpu_ms(process, lambda path=address: host.http.get(path, headers={"accept": "text/html"}))  # type: ignore[misc]
        print(f"  {_short(address)}: {took:.1f} ms CPU of the host, {took / base:.0f} x /health", flush=True)


def measure_typing(host: Served, process: psutil.Process) -> None:
    """What a browser asks while a person types: after each pause of 120 ms the beginning of a question."""
    walls, before = [], _cpu(process)
    for text in _typed():
        started = time.perf_counter()
        answer = host.http.get(f"/search?q={quote(text)}", headers={"accept": "text/html", "hx-request": "true"})
        walls.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200
    cpu = (_cpu(process) - before) * 1000 / len(walls)
    line(f"search as you type, {_notes(host):,} notes, p95", percentile(walls, 0.95), 100, "ms")
    print(f"  p50 {percentile(walls, 0.5):.1f} ms, {cpu:.1f} ms CPU of the host", flush=True)


def _notes(host: Served) -> int:
    return int(host.call("lithos_stats")["documents"])


def _typed() -> Iterator[str]:
    for sentence in sentences()[:: len(sentences()) // ASKED][: ASKED // 4]:
        words = sentence[:40]
        yield from (words[:length] for length in (3, 8, 15, len(words)))


def measure_paint(host: Served, process: psutil.Process, addresses: tuple[str, ...]) -> None:
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("  first paint: no Chromium or no playwright", flush=True)
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(host.url)  # the browser's own start is no part of it
        for address in addresses:
            paints, shifts = [], 0.0
            hosts, browsers = _cpu(process), browser_cpu()
            for _ in range(5):
                page.goto(host.url + address)
                page.wait_for_timeout(300)
                paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
                shifts = max(shifts, page.evaluate(_SHIFT))
            line(f"{_short(address)}: first paint, median of 5", percentile(paints, 0.5) / 1000, 0.3, "s ")
            hosts, browsers = (_cpu(process) - hosts) * 200, (browser_cpu() - browsers) * 200
            print(f"  CPU of one visit: host {hosts:.0f} ms, browser {browsers:.0f} ms", flush=True)
            print(f"  layout shift {shifts:.4f}", flush=True)
        browser.close()


_SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => { for (const each of list.getEntries()) sum += each.value; })
    .observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 100);
})"""


def measure_idle(host: Served, process: psutil.Process) -> None:
    alone = _share(process)
    with _streams(host.port):
        time.sleep(3)
        held = _share(process)
    line(f"{STREAMS} open pages, idle: CPU of the host", held * 100, 5, "% ")
    print(f"  {alone * 100:.2f}% without them", flush=True)


def _share(process: psutil.Process) -> float:
    before, started = _cpu(process), time.perf_counter()
    time.sleep(IDLE_SECONDS)
    return (_cpu(process) - before) / (time.perf_counter() - started)


@contextlib.contextmanager
def _streams(port: int) -> Iterator[None]:
    opened = []
    try:
        for _ in range(STREAMS):
            stream = socket.create_connection(("127.0.0.1", port), timeout=60)
            stream.sendall(b"GET /live HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n")
            opened.append(stream)
        for stream in opened:
            received = b""
            while b"data: " not in received:
                received += stream.recv(65536)
        yield
    finally:
        for stream in opened:
            stream.close()


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _cpu_ms(process: psutil.Process, ask: Callable[[], httpx.Response], times: int = 40) -> float:
    ask()
    before = _cpu(process)
    for _ in range(times):
        assert ask().status_code == 200
    return (_cpu(process) - before) * 1000 / times


def _short(address: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", address)


if __name__ == "__main__":
    Path(".bench").mkdir(exist_ok=True)
    main()
