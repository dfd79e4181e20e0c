"""Filter fields in memory, one entry per ordinal: what both engines are filtered by, in microseconds."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING

from lithos.search.collection.catalogue import FilterFields
from lithos.search.values import RESTRICTED, Document, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_] | None  # by ordinal; None lets everything through

_LAST = chr(0x10FFFF)
LEAST_REPLACED = 1000  # paths of replaced versions that are kept before any is dropped
MASKS_KEPT = 16  # a byte a document each


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
    if not wanted or any(set(values) & set(has(name, ())) for name, values in where.none_of.items()):
        return False
    return all(
        RESTRICTED not in has(name, ()) or set(values) & set(has(name, ())) for name, values in where.only_for.items()
    )


def _numbers_match(document: Document, where: Where) -> bool:
    for name, (low, high) in where.between.items():
        value = document.numbers.get(name)
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            return False
    return True


class Columns:
    """Lists of ordinals for words, a sorted list for paths, an array for each number.

    Made from `fields` at the first filtered query. Versions that are gone stay in the lists: their ordinals are never
    used again, and the engines know which are alive.
    """

    def __init__(self, fields: Callable[[], Iterable[tuple[int, FilterFields]]]) -> None:
        self._fields = fields
        self._lock = threading.Lock()
        self._size: int | None = None  # ordinals it knows of; None before it was made
        self._lists: dict[tuple[str, str], array[int]] = defaultdict(lambda: array("q"))
        self._paths: list[tuple[str, int]] = []
        self._paths_sorted = True
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._masks: OrderedDict[str, NDArray[np.bool_]] = OrderedDict()  # of filters asked since the last change

    @property
    def made(self) -> bool:
        return self._size is not None

    def make(self) -> None:
        with self._lock:
            if self._size is None:
                self._add(self._fields())

    def add(self, entries: Iterable[tuple[int, FilterFields]]) -> None:
        with self._lock:
            if self._size is not None:
                self._add(entries)

    def _add(self, entries: Iterable[tuple[int, FilterFields]]) -> None:
        size = self._size or 0
        for ordinal, fields in entries:
            for key in _words(fields):
                self._lists[key].append(ordinal)
            for name, value in fields.numbers.items():
                self._number(name, ordinal + 1)[ordinal] = value
            self._paths.append((fields.path, ordinal))
            size = max(size, ordinal + 1)
        self._paths_sorted = False
        self._size = size
        self._masks.clear()

    def is_worn(self, live: int) -> bool:
        """Most paths are of versions that were replaced: 150 bytes of each write, and a host may run for months."""
        return len(self._paths) > 2 * live + LEAST_REPLACED

    def keep_paths(self, live: Container[int]) -> None:
        """Drop the paths of all other ordinals: a folder then holds fewer, never more. The lists stay, 8 bytes an
        entry: without its `restricted` a version that a running query still sees would be open to all."""
        with self._lock:
            self._paths = [each for each in self._paths if each[1] in live]
            self._masks.clear()

    def mask(self, where: Where) -> Mask:
        """True at each ordinal that the filter lets through; None where it lets all through. Not to be written to."""
        if where.is_open:
            return None
        self.make()
        asked = repr(where)
        with self._lock:
            mask = self._masks.get(asked)
            if mask is None:
                mask = self._masks[asked] = self._made(where)
                if len(self._masks) > MASKS_KEPT:
                    self._masks.popitem(last=False)
            return mask

    def _made(self, where: Where) -> NDArray[np.bool_]:
        import numpy as np

        size = self._size or 0
        found = np.ones(size, np.bool_)
        for ordinals in self._required(where):
            found &= _at(ordinals, size)
        for name, (low, high) in where.between.items():
            column = self._number(name, size)[:size]
            found &= (column >= (-np.inf if low is None else low)) & (column <= (np.inf if high is None else high))
        for name, values in where.none_of.items():
            for value in values:
                found[_indices(self._lists.get((name, value), ()))] = False
        for name, values in where.only_for.items():
            hidden = _at(self._lists.get((name, RESTRICTED), ()), size)
            for value in values:
                hidden[_indices(self._lists.get((name, value), ()))] = False
            found &= ~hidden
        found.flags.writeable = False
        return found

    def _required(self, where: Where) -> Iterable[Sequence[int]]:
        for tag in where.tags:
            yield self._lists.get(("#", tag), ())
        if where.author is not None:
            yield self._lists.get(("@", where.author), ())
        if where.path_prefix:
            yield self._below(where.path_prefix)
        for name, values in where.any_of.items():
            joined = array("q")
            for value in values:  # a pattern may name 10,000 files: each list is copied once
                joined.extend(self._lists.get((name, value), ()))
            yield joined

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


def _words(fields: FilterFields) -> list[tuple[str, str]]:
    """Keys of the inverted lists; `#` and `@` are no names of keyword fields."""
    keys = [("@", fields.author)]
    keys += [("#", tag) for tag in set(fields.tags)]
    keys += [(name, value) for name, values in fields.keywords.items() for value in set(values)]
    return keys


def _at(ordinals: Sequence[int], size: int) -> NDArray[np.bool_]:
    import numpy as np

    found = np.zeros(size, np.bool_)
    found[_indices(ordinals)] = True
    return found


def _indices(ordinals: Sequence[int]) -> NDArray[np.int64]:
    import numpy as np

    return np.array(ordinals, np.int64)  # a copy: an array that is looked at cannot grow
