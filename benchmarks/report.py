"""How a benchmark speaks: one line per number, beside its limit, both measured in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable


def line(name: str, value: float, limit: float, unit: str, *, more_is_better: bool = False) -> None:
    """`name | value | limit | ratio`; a ratio above 1 is better than the limit, whichever way is better."""
    ratio = (value / limit if more_is_better else limit / value) if value and limit else 0.0
    bound = "≥" if more_is_better else "≤"
    kept = value >= limit if more_is_better else value <= limit
    mark = "" if kept else "   MISSED"
    print(f"{name:58} | {value:>12,.3f} {unit} | {bound} {limit:>10,.3f} | {ratio:6.2f}x{mark}", flush=True)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def milliseconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return (time.perf_counter() - started) * 1000
