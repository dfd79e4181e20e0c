"""The seam through which tests make the disk fail, or the process die, at a named step."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Protocol

Fate = Literal["crash", "kill"] | Exception | Callable[[], None]


class Faults(Protocol):
    def at(self, point: str) -> None:
        """Called at every step that a crash could fall into; returns, raises, or never comes back."""
        ...


class NoFaults:
    def at(self, point: str) -> None:
        return


class Crash(BaseException):
    """The process "died" here. Not an Exception: tidying up after an error must not run after a death."""


class PlannedFaults:
    """What happens at which point: `crash` and `kill` (for real), an error to raise, or something to do meanwhile.

    Each plan happens once, on the visit that `plan` names; all visited points are kept in `seen`.
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
