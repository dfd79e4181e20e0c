"""Filter fields in memory, one entry per ordinal: what the vectors are filtered by, in microseconds."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from lithos.search.values import Document, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LAST = chr(0x10FFFF)


def matches(document: Document, where: Where) -> bool:
    """The meaning of a filter, said once plainly; both engines must agree with it."""
    if not set(where.tags) <= set(document.tags):
        return False
    if where.author is not None and document.author != where.author:
        return False
    if where.path_prefix and not document.path.startswith(where.path_prefix):
        return False
    return _keywords_match(document, where) and _numbers_match(document, where)


def _keywords_match(document: Document, where: Where) -> bool:
    has = document.keywords.get
    wanted = all(set(values) & set(has(name, ())) for name, values in where.any_of.items())
    return wanted and not any(set(values) & set(has(name, ())) for name, values in where.none_of.items())


def _numbers_match(document: Document, where: Where) -> bool:
    for name, (low, high) in where.between.items():
        value = document.numbers.get(name)
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            return False
    return True


class Columns:
    """Inverted lists of ordinals for words, a sorted list for paths, an array for each number.

    Versions that are gone stay: their ordinals are never used again, and the vectors know which are alive.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._paths: list[tuple[str, int]] = []
        self._paths_sorted = True
        self._numbers: dict[str, NDArray[np.float64]] = {}

    def add(self, ordinal: int, document: Document) -> None:
        for key in _words(document):
            self._lists[key].add(ordinal)
        for name, value in document.numbers.items():
            self._number(name, ordinal + 1)[ordinal] = value
        self._paths.append((document.path, ordinal))
        self._paths_sorted = False

    def mask(self, where: Where, size: int) -> NDArray[np.bool_] | None:
        """True at each ordinal that the filter lets through; None where it lets all through."""
        if where.is_open:
            return None
        import numpy as np

        found = np.ones(size, np.bool_)
        for ordinals in self._required(where):
            found &= _at(ordinals, size)
        for name, (low, high) in where.between.items():
            column = self._number(name, size)[:size]
            found &= (column >= (-np.inf if low is None else low)) & (column <= (np.inf if high is None else high))
        for name, values in where.none_of.items():
            for value in values:
                found &= ~_at(self._lists.get((name, value), ()), size)
        return found

    def _required(self, where: Where) -> Iterable[Collection[int]]:
        for tag in where.tags:
            yield self._lists.get(("#", tag), ())
        if where.author is not None:
            yield self._lists.get(("@", where.author), ())
        if where.path_prefix:
            yield self._below(where.path_prefix)
        for name, values in where.any_of.items():
            yield set[int]().union(*(self._lists.get((name, value), set()) for value in values))

    def _number(self, name: str, size: int) -> NDArray[np.float64]:
        """NaN, which no bound lets through, where a document has no such number."""
        import numpy as np

        held = self._numbers.get(name)
        if held is None or len(held) < size:
            grown = np.full(max(size, 1024, 2 * (0 if held is None else len(held))), np.nan)
            grown[: 0 if held is None else len(held)] = () if held is None else held
            self._numbers[name] = held = grown
        return held

    def _below(self, prefix: str) -> list[int]:
        self._sort_paths()
        first = bisect_left(self._paths, (prefix, -1))
        last = bisect_left(self._paths, (prefix + _LAST, -1))
        return [ordinal for _, ordinal in self._paths[first:last]]

    def _sort_paths(self) -> None:
        if not self._paths_sorted:
            self._paths.sort()  # nearly sorted already, which is what timsort is best at
            self._paths_sorted = True


def _words(document: Document) -> Iterable[tuple[str, str]]:
    """Keys of the inverted lists; `#` and `@` are no names of keyword fields."""
    yield from (("#", tag) for tag in set(document.tags))
    yield "@", document.author
    for name, values in document.keywords.items():
        yield from ((name, value) for value in set(values))


def _at(ordinals: Collection[int], size: int) -> NDArray[np.bool_]:
    import numpy as np

    found = np.zeros(size, np.bool_)
    found[np.fromiter(ordinals, np.int64, len(ordinals))] = True
    return found
