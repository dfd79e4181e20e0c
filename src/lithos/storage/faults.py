"""Faults: tests make the disk fail, or the process die, at a named step."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Protocol

Fate = Literal["crash", "kill"] | Exception | Callable[[], None]


class Faults(Protocol):
    def at(self, point: str) -> None:
        """Called at every step where a crash could happen; returns, raises, or ends the process."""
        ...


class NoFaults:
    def at(self, point: str) -> None:
        return


class Crash(BaseException):
    """The process "died" here. Not an Exception: error cleanup must not run after a crash."""


class PlannedFaults:
    """At a named point: `crash`, `kill` (for real), an error to raise, or a function to call.

    Each plan happens once, on the visit that `plan` names; `seen` lists all visited points.
    """

    def __init__(self, plans: dict[str, Fate] | None = None) -> None:
        self.seen: list[str] = []
        self._plans: dict[tuple[str, int], Fate] = {(point, 1): fate for point, fate in (plans or {}).items()}

    def plan(self, point: str, fate: Fate, visit: int = 1) -> None:
        self._plans[point, visit] = fate

    def at(self, point: str) -> None:
        self.seen.append(point)
        fate = self._plans.pop((point, self.seen.count(point)), None)
        if fate is None:
            return
        if fate == "kill":
            os._exit(137)
        if fate == "crash":
            raise Crash(point)
        if isinstance(fate, Exception):
            raise fate
        fate()
