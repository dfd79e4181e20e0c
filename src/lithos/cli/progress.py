"""Progress of anything that takes longer than a second: how many, how fast, how long it will still take."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lithos.cli.terminal import Terminal

AFTER_SECONDS = 1.0
EVERY_SECONDS = 0.2


class Progress:
    """One line on stderr, rewritten in place; nothing in a pipe, with --json, or when it is over within a second."""

    def __init__(
        self, terminal: Terminal, what: str, total: int | None = None, share: Callable[[], float] | None = None
    ) -> None:
        self.what, self.total = what, total
        self._share = share  # how much of the work is done, 0 to 1, where the total is not known
        self.count, self.bytes = 0, 0
        self.already = 0  # done before this began: no part of the rate
        self._quiet = terminal.as_json or not sys.stderr.isatty()
        self._started = time.monotonic()
        self._shown = self._started + AFTER_SECONDS - EVERY_SECONDS
        self._written = False

    def add(self, name: str = "", size: int = 0) -> None:
        self.set(self.count + 1, self.bytes + size)

    def set(self, count: int, size: int = 0) -> None:
        self.count, self.bytes = count, size
        now = time.monotonic()
        if self._quiet or now - self._shown < EVERY_SECONDS:
            return
        self._shown, self._written = now, True
        print(f"\r{self.line(now - self._started)}\x1b[K", end="", file=sys.stderr, flush=True)

    def line(self, seconds: float) -> str:
        rate = (self.count - self.already) / seconds if seconds else 0.0
        of = f" of {self.total:,}" if self.total else ""
        size = f", {self.bytes / 1e6:,.0f} MB" if self.bytes else ""
        left = self._left(seconds, rate)
        return f"{self.count:,}{of} {self.what}{size}, {rate:,.0f}/s{left}"

    def _left(self, seconds: float, rate: float) -> str:
        share = self._share() if self._share else 0.0
        if self.total and rate:
            return f", {_spoken((self.total - self.count) / rate)} left"
        return f", {share:.0%}, {_spoken(seconds / share - seconds)} left" if share else ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _spoken(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
