"""Whose turn is it: deficit round robin over contenders of which each work costs one.

The host's queue of calls and the queues of messages share it. A contender keeps the turn for as many picks as its
weight says; then the one that was served longest ago comes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Contender(Generic[K]):
    key: K
    served: int = 0  # number of the pick that ended its last turn
    credit: int = 0  # picks left of the turn that it has
    weight: int = 1


def next_turn(contenders: Iterable[Contender[K]]) -> Contender[K] | None:
    """The contender to serve next: the one whose turn goes on, else the one served longest ago."""
    return min(contenders, key=lambda each: (each.credit <= 0, each.served), default=None)


def after_turn(served: Contender[K], pick: int) -> Contender[K]:
    """Its state after the pick of this number."""
    left = (served.credit if served.credit > 0 else served.weight) - 1
    return Contender(served.key, pick if left <= 0 else served.served, left, served.weight)
