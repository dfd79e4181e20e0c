"""Notes: writing and reading over MCP, links three steps deep, the first scan and a restart with nothing changed."""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import UUID

import psutil

from benchmarks.board import Client, served
from benchmarks.report import line, percentile
from lithos.core.clock import SystemClock
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue, open_catalogue
from lithos.notes.index.identities import Identities
from lithos.notes.index.index import Index
from lithos.storage import Database, Root, coordination_migrations, open_database

WRITERS, WRITES, READS = 16, 20, 200
NOTES, LARGE, LINKS = 6_500, 10_000, 6
WORDS = ("index", "vault", "agent", "lease", "ledger", "claim", "note", "link", "merge", "slug", "disk", "graph")


def main() -> None:
    over_mcp()
    first_scan()
    large_graph()


# Over MCP


def over_mcp() -> None:
    with served() as port:
        client = Client(port)
        dice = random.Random(2)
        times, made = [], list[str]()
        for number in range(WRITES * 4):
            started = time.perf_counter()
            made.append(client.call("lithos_write", agent="bench", title=f"Note {number}", content=prose(dice))["id"])
            times.append((time.perf_counter() - started) * 1000)
        line("create a 1 kB note over MCP, durable, p50", percentile(times, 0.5), 10, "ms")
        line("  the same with bare files: write, fsync, rename, fsync, p50", bare_durable_write(), 10, "ms")
        times = []
        for number in range(READS):
            started = time.perf_counter()
            client.call("lithos_read", id=made[number % len(made)])
            times.append((time.perf_counter() - started) * 1000)
        line("read a note over MCP, p50", percentile(times, 0.5), 2, "ms")
        line(f"create over MCP with {WRITERS} writers", many_writers(port), 150, "1/s", more_is_better=True)


@cache
def vocabulary() -> tuple[str, ...]:
    """The words of our own pages."""
    pages = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))
    return tuple(sorted({word.lower() for page in pages for word in re.findall(r"[A-Za-z]{3,14}", page.read_text())}))


def prose(dice: random.Random) -> str:
    """About 1 kB in which no two notes say the same."""
    return " ".join(" ".join(dice.choices(vocabulary(), k=12)) + "." for _ in range(11))


def many_writers(port: int) -> float:
    def work(writer: int) -> None:
        client, dice = Client(port), random.Random(100 + writer)
        for number in range(WRITES):
            client.call("lithos_write", agent=f"w{writer}", title=f"Writer {writer} note {number}", content=prose(dice))

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(WRITERS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return WRITERS * WRITES / (time.perf_counter() - started)


def bare_durable_write() -> float:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    times = []
    try:
        directory = os.open(folder, os.O_RDONLY)
        for number in range(50):
            started = time.perf_counter()
            with open(folder / "new", "wb") as file:
                file.write(b"x" * 1000)
                file.flush()
                os.fsync(file.fileno())
            os.rename(folder / "new", folder / f"{number}.md")
            os.fsync(directory)
            times.append((time.perf_counter() - started) * 1000)
        os.close(directory)
    finally:
        shutil.rmtree(folder)
    return percentile(times, 0.5)


# In process


@dataclass
class Opened:
    root: Root
    database: Database
    catalogue: Catalogue
    index: Index

    def close(self) -> None:
        self.catalogue.close()
        self.database.close()
        self.root.close()


def opened(folder: Path) -> Opened:
    clock = SystemClock()
    root = Root(folder / "knowledge", name="vault", keep=folder / ".lithos", clock=clock)
    database = open_database(folder / ".lithos/coordination.db", coordination_migrations(), clock=clock)
    catalogue = open_catalogue(folder, clock)
    return Opened(root, database, catalogue, Index(root, catalogue, Identities(database, "s", clock), clock=clock))


@contextmanager
def vault(notes: int, links: int, words: int) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    try:
        fill(folder / "knowledge", notes, links, words)
        yield folder
    finally:
        shutil.rmtree(folder)


def fill(folder: Path, notes: int, links: int, words: int) -> None:
    dice = random.Random(1)
    names = [f"{dice.choice(('projects', 'people', 'area/deep', 'log'))}/note-{number:06d}" for number in range(notes)]
    for number, name in enumerate(names):
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = " ".join(dice.choices(WORDS, k=words))
        targets = "\n".join(f"- [[{dice.choice(names).rpartition('/')[2]}]]" for _ in range(links))
        note_id = UUID(int=dice.getrandbits(128), version=4)
        front = f"id: {note_id}\ntitle: Note {number}\nupdated_at: 2026-01-01T00:00:00Z\ntags: [t{number % 50}]\n"
        file.write_text(f"---\n{front}---\n\n# Note {number}\n\n{body}\n\n{targets}\n")


def first_scan() -> None:
    with vault(NOTES, LINKS, 250) as folder:
        memory = opened(folder)
        started = time.perf_counter()
        memory.index.reconcile()
        rate = NOTES / (time.perf_counter() - started)
        started = time.perf_counter()
        for file in (folder / "knowledge").rglob("*.md"):
            file.read_bytes()
        bare = NOTES / (time.perf_counter() - started)
        memory.close()
    line(f"first scan and link graph of {NOTES:,} notes", rate, 2_000, "notes/s", more_is_better=True)
    line("  the same files only listed and read", bare, 2_000, "notes/s", more_is_better=True)


def large_graph() -> None:
    with vault(LARGE, LINKS, 20) as folder:
        process = psutil.Process()
        idle = process.memory_info().rss
        memory = opened(folder)
        memory.index.reconcile()
        grown = (process.memory_info().rss - idle) / 2**20
        time.sleep(0.1)  # the dates of the files must be older than their resolution
        memory.index.reconcile()
        depth_three(memory.catalogue)
        memory.close()
        started = time.perf_counter()
        memory = opened(folder)
        memory.index.reconcile()
        line(f"restart with {LARGE:,} unchanged files", time.perf_counter() - started, 0.5, "s")
        memory.close()
    line(f"memory above idle with {LARGE:,} notes, after a first scan", grown, 60, "MB")


def depth_three(catalogue: Catalogue) -> None:
    numbers = [row["number"] for row in catalogue.read(lambda tx: tx.all("SELECT number FROM notes LIMIT 200"))]
    times = []
    for number in numbers:
        started = time.perf_counter()
        catalogue.read(lambda tx, number=number: queries.reach(tx, number, "outgoing", 3))  # type: ignore[misc]
        catalogue.read(lambda tx, number=number: queries.reach(tx, number, "incoming", 3))  # type: ignore[misc]
        times.append((time.perf_counter() - started) * 1000)
    line(f"links 3 deep, both ways, {LARGE:,} notes and {LARGE * LINKS:,} links, p50", percentile(times, 0.5), 5, "ms")


if __name__ == "__main__":
    main()
