"""Short documents that follow each other, such as turns of a dialogue: which one is beside which."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from lithos.search.values import SequencePlace


class Sequences:
    """In memory, by ordinal; some 300 bytes a document that is part of a sequence. The owner guards it with a lock."""

    def __init__(self, known: Iterable[tuple[int, SequencePlace | None]] = ()) -> None:
        self._orders: dict[str, list[tuple[float, int]]] = {}  # name → (place, ordinal), in order
        self._places: dict[int, SequencePlace] = {}
        for ordinal, place in known:
            self.add(ordinal, place)

    def add(self, ordinal: int, place: SequencePlace | None) -> None:
        if place is None:
            return
        self._places[ordinal] = place
        insort(self._orders.setdefault(place.name, []), (place.at, ordinal))

    def remove(self, ordinals: Iterable[int]) -> None:
        for ordinal in ordinals:
            place = self._places.pop(ordinal, None)
            if place is None:
                continue
            order = self._orders[place.name]
            del order[bisect_left(order, (place.at, ordinal))]
            if not order:
                del self._orders[place.name]

    def has(self, ordinal: int) -> bool:
        return ordinal in self._places

    def beside(self, ordinal: int) -> list[int]:
        """The one before and the one after, where they are near enough."""
        place = self._places.get(ordinal)
        if place is None:
            return []
        order = self._orders[place.name]
        at = bisect_left(order, (place.at, ordinal))
        around = [order[each] for each in (at - 1, at + 1) if 0 <= each < len(order)]
        return [other for when, other in around if abs(when - place.at) <= place.within]
