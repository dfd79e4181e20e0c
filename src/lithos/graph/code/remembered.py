"""Remembered: results of a pure function by its argument. The same names and expressions recur in all files.

Here, and not in `core` or shared with search: the parsing child imports nothing above this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import TypeVar

Key = TypeVar("Key", bound=Sized)
Result = TypeVar("Result")


class Remembered(dict[Key, Result]):
    """A look-up costs a tenth of a call. Emptied when it is full, so that new code makes room for itself."""

    def __init__(self, work: Callable[[Key], Result], most: int, longest: int = 80) -> None:
        super().__init__()
        self._work, self._most, self._longest = work, most, longest

    def __missing__(self, key: Key) -> Result:
        result = self._work(key)
        if len(key) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[key] = result
        return result
