"""Soak: a host under a steady load keeps its memory, descriptors and threads. `make soak MINUTES=60`."""

from __future__ import annotations

import datetime
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.support.served import Served, served
from tests.torture import sums

SLOPE_MB_PER_HOUR = 5.0
DESCRIPTORS = THREADS = 8  # that may differ between two moments: pools fill and empty
EVERY_S = 5.0
LEAST_SAMPLES = 4
WARM_UP = 0.4  # of the time: caches fill


@dataclass(frozen=True)
class Sample:
    hours: float
    memory_mb: float
    descriptors: int
    threads: int


def slope(samples: Sequence[Sample]) -> float:
    """Megabytes per hour, by least squares."""
    count = len(samples)
    hours = sum(each.hours for each in samples) / count
    memory = sum(each.memory_mb for each in samples) / count
    spread = sum((each.hours - hours) ** 2 for each in samples)
    return sum((each.hours - hours) * (each.memory_mb - memory) for each in samples) / spread if spread else 0.0


def check(samples: Sequence[Sample], most: float = SLOPE_MB_PER_HOUR) -> dict[str, Any]:
    steady = samples[int(len(samples) * WARM_UP) :]
    grows = slope(steady)
    assert grows <= most, f"the memory grows by {grows:.1f} MB an hour"
    for name, room in (("descriptors", DESCRIPTORS), ("threads", THREADS)):
        values = [getattr(each, name) for each in steady]
        half = len(values) // 2
        assert max(values[half:]) <= max(values[:half]) + room, f"{name} grow: {values[:3]} … {values[-3:]}"
    return {"MB per hour": round(grows, 2), "samples": len(samples), "MB at the end": round(steady[-1].memory_mb)}


def soak(folder: Path, minutes: float) -> list[Sample]:
    """Calls of every kind on a bounded set of notes and tasks; the store itself hardly grows."""
    samples: list[Sample] = []
    with served(folder / "data") as host:
        process = psutil.Process(host.process.pid)
        notes = [host.call("lithos_write", title=f"n{n}", content="w", agent="a")["id"] for n in range(50)]
        began = time.monotonic()
        number = 0
        while (elapsed := time.monotonic() - began) < minutes * 60 or len(samples) < LEAST_SAMPLES:
            _act(host, notes, number)
            number += 1
            if elapsed >= len(samples) * min(EVERY_S, minutes * 60 / 20):
                now = (elapsed / 3600, host.memory_mb, host.descriptors, process.num_threads())
                samples.append(Sample(*now))
    return samples


def _act(host: Served, notes: list[str], number: int) -> None:
    note = notes[number % len(notes)]
    match number % 5:
        case 0:
            host.call("lithos_write", id=note, content=f"words {number}", agent="a")
        case 1:
            host.call("lithos_search", query=f"words {number - 1}")
        case 2:
            host.call("lithos_read", id=note)
        case 3:
            host.call("lithos_task_list")
        case 4:
            host.call("lithos_list", limit=20)
    time.sleep(0.01)  # a steady load, not a full one


def main() -> int:
    minutes = float(os.environ.get("MINUTES", "60"))
    folder = Path(tempfile.mkdtemp(prefix="lithos-soak-"))
    samples = soak(folder, minutes)
    (folder / "samples.json").write_text(json.dumps([each.__dict__ for each in samples]))
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        found = check(samples)
    except AssertionError as grown:
        print(f"FAILED: {grown}; samples in {folder}", file=sys.stderr)
        sums.add("soak", 0, date, {"minutes of soak": round(minutes)}, failed=True)
        return 1
    print(json.dumps(found))
    sums.add("soak", 0, date, {"minutes of soak": round(minutes)}, failed=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
