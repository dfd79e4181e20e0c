"""Waiting for descriptors with poll: `select.select` fails above descriptor 1024, which a busy host reaches."""

from __future__ import annotations

import math
import select
from collections.abc import Iterable, Mapping


def polled(wanted: Mapping[int, int], seconds: float) -> set[int]:
    """Descriptors for which one of their events came, or that were closed at the other end."""
    waiting = select.poll()
    for number, events in wanted.items():
        waiting.register(number, events)
    return {number for number, _ in waiting.poll(math.ceil(seconds * 1000))}


def readable(numbers: Iterable[int], seconds: float) -> set[int]:
    return polled(dict.fromkeys(numbers, select.POLLIN), seconds)
