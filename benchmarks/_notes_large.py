"""A vault of 100,000 files: a restart with nothing changed. It takes minutes to make, so that it runs by name only."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.notes import opened, vault
from benchmarks.report import line, percentile

FILES = 100_000
TIMES = 5


def main() -> None:
    with vault(FILES, links=1, words=5) as folder:
        memory = opened(folder)
        memory.index.reconcile()
        time.sleep(0.1)  # the dates of the files must be older than their resolution
        memory.index.reconcile()
        memory.close()
        took = percentile([restarted(folder) for _ in range(TIMES)], 0.5)
        bare = percentile([looked_at(folder / "knowledge") for _ in range(TIMES)], 0.5)
    line(f"restart with {FILES:,} unchanged files", took, 1.5, "s")
    line("  the same files only listed and looked at", bare, 1.5, "s")


def restarted(folder: Path) -> float:
    started = time.perf_counter()
    memory = opened(folder)
    memory.index.reconcile()
    took = time.perf_counter() - started
    memory.close()
    return took


def looked_at(folder: Path) -> float:
    started = time.perf_counter()
    for place, _, _ in os.walk(folder):
        with os.scandir(place) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
