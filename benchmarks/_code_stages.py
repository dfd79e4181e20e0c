"""CPU of each stage of a first index, and the speed of the machine that it ran on."""

from __future__ import annotations

import functools
import os
import resource
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lithos.graph.code import index, parser, store
from lithos.graph.code.roots import tree

LOOP = 10_000_000
# What is timed: where it is looked up, its name, its stage. Time of an inner stage is not counted in the outer one.
STAGES: tuple[tuple[Any, str, str], ...] = (
    (tree.Tree, "listed", "list"),
    (tree.Tree, "read", "read and hash"),
    (index.CodeIndex, "_read", "read and hash"),
    (parser.Parser, "_send", "frames to and from the child"),
    (parser.Parser, "_receive", "frames to and from the child"),
    (index, "documents", "cards"),
    (store.Store, "apply", "store"),
    (store.Store, "resolve_stale", "resolve"),
)
ORDER = (
    "list",
    "read and hash",
    "parse (child)",
    "frames to and from the child",
    "cards",
    "store",
    "resolve",
    "rest of the host's thread",
    "full text and catalogue",
)


def machine() -> str:
    """Seconds of CPU for a plain loop: the numbers of two machines, or of two hours of one, divide by it."""
    started = time.process_time()
    product = 0
    for number in range(LOOP):
        product = number * 3
    assert product
    seconds = time.process_time() - started
    return f"plain loop of {LOOP:,} multiplications: {seconds:.2f} s of CPU; load {os.getloadavg()[0]:.0f}"


class StageTimes:
    """Exclusive CPU time of the functions in `STAGES`, per thread."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._local = threading.local()

    def run(self, stage: str, work: Callable[[], Any]) -> Any:
        stack = self._local.__dict__.setdefault("stack", [])
        started = time.thread_time()
        stack.append(0.0)
        try:
            return work()
        finally:
            took = time.thread_time() - started
            self.seconds[stage] += took - stack.pop()
            if stack:
                stack[-1] += took


@contextmanager
def timed_stages() -> Iterator[StageTimes]:
    """While it is open, every stage of an index is timed."""
    times = StageTimes()
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in STAGES]
    for (owner, name, stage), (_, _, real) in zip(STAGES, kept, strict=True):
        setattr(owner, name, _timed(times, stage, real, whole=name == "listed"))
    try:
        yield times
    finally:
        for owner, name, real in kept:
            setattr(owner, name, real)


def _timed(times: StageTimes, stage: str, real: Callable[..., Any], *, whole: bool) -> Callable[..., Any]:
    @functools.wraps(real)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        if whole:  # a generator: its work is done while it is read
            return times.run(stage, lambda: list(real(*arguments, **named)))
        return times.run(stage, lambda: real(*arguments, **named))

    return wrapped


def child_cpu() -> float:
    """Of children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_memory(process: int | str = "self") -> float:
    """The largest resident size, in MB, of a process; of ours since `forget_peak`.

    `ru_maxrss` of children counts what they shared with us before they became another program.
    """
    for row in Path(f"/proc/{process}/status").read_text().splitlines():
        if row.startswith("VmHWM:"):
            return int(row.split()[1]) / 1024
    return 0.0


def forget_peak() -> float:
    """Start a new measurement of the peak; the size now, in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()
