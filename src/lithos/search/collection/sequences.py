"""Short documents that follow each other, such as turns of a dialogue: which one is beside which."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterable

from lithos.search.values import SequencePlace


class Sequences:
    """In memory, by ordinal; some 300 bytes a document that is part of a sequence. Safe for threads."""

    def __init__(self, known: Iterable[tuple[int, SequencePlace | None]] = ()) -> None:
        self._lock = threading.RLock()
        self._orders: dict[str, list[tuple[float, int]]] = {}  # name → (place, ordinal), in order
        self._places: dict[int, SequencePlace] = {}
        self._around: dict[int, list[int]] = {}  # as `beside` answered since the last change
        for ordinal, place in known:
            self.add(ordinal, place)

    def __bool__(self) -> bool:
        return bool(self._places)

    def add(self, ordinal: int, place: SequencePlace | None) -> None:
        if place is None:
            return
        with self._lock:
            self._places[ordinal] = place
            self._around.clear()
            insort(self._orders.setdefault(place.name, []), (place.at, ordinal))

    def remove(self, ordinals: Iterable[int]) -> None:
        with self._lock:
            for ordinal in ordinals:
                self._remove(ordinal)

    def _remove(self, ordinal: int) -> None:
        place = self._places.pop(ordinal, None)
        if place is None:
            return
        self._around.clear()
        order = self._orders[place.name]
        del order[bisect_left(order, (place.at, ordinal))]
        if not order:
            del self._orders[place.name]

    def beside(self, ordinal: int) -> list[int]:
        """The one before and the one after, where they are near enough."""
        place = self._places.get(ordinal)
        if place is None:
            return []
        name, here, within = place
        order = self._orders[name]
        at = bisect_left(order, (here, ordinal))
        around = []
        if at and here - order[at - 1][0] <= within:
            around.append(order[at - 1][1])
        if at + 1 < len(order) and order[at + 1][0] - here <= within:
            around.append(order[at + 1][1])
        return around

    def beside_each(self, ordinals: Iterable[int]) -> dict[int, list[int]]:
        """As `beside`, of those that have one. A question asks for a hundred: what is known is kept until a change."""
        found: dict[int, list[int]] = {}
        with self._lock:
            for ordinal in ordinals:
                around = self._around.get(ordinal)
                if around is None:
                    around = self._around[ordinal] = self.beside(ordinal)
                if around:
                    found[ordinal] = around
        return found
