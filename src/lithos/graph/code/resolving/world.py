"""World: what resolution may know of other files. Every question is recorded, so that a change finds who asked.

A file publishes (key, value) pairs. Resolving another file looks keys up. When a file changes, exactly the files that
looked up a key whose value changed are resolved again; so an update ends in the graph of a fresh build.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
MOST_REMEMBERED = 15_000  # results with their look-ups: 20 MB; 40,000 saved no CPU on Django
DEEPEST = 60  # nested questions; beyond it an expression means nothing to a reader either


class Published(Protocol):
    """Where the published values are kept: SQLite in the product."""

    def number(self, key: str) -> int:
        """The number under which a key is kept."""
        ...

    def values(self, place: int) -> list[Any]: ...

    def unique(self, name: str) -> str | None:
        """The only function, method or class of that name, as `path#local`; None where there are none or several."""
        ...


class World:
    def __init__(self, published: Published) -> None:
        self._published = published
        self._memo: dict[Any, tuple[Any, frozenset[int]]] = {}
        self._local: dict[Any, tuple[Any, frozenset[int]]] = {}
        self._values: dict[int, list[Any]] = {}
        self._numbers: dict[str, int] = {}
        self._unique: dict[str, str | None] = {}
        self._frames: list[set[int]] = []  # the numbers of the keys that were looked up, by what is being computed
        self._active: dict[Any, int] = {}
        self._cut = (
            10**9
        )  # the outermost frame that a cycle reached back to: results inside it depend on where one began

    def record(self, work: Callable[[], T]) -> tuple[T, set[int]]:
        """Run `work`; also return the number of every key that it looked up."""
        self._frames.append(set())
        result = work()
        return result, self._frames.pop()

    def get(self, key: str) -> list[Any]:
        number = self._numbers.get(key) or self.number(key)
        self._frames[-1].add(number)
        found = self._values.get(number)
        if found is None:
            found = self._values[number] = self._published.values(number)
        return found

    @property
    def is_outermost(self) -> bool:
        """Whether nothing is being computed that will be remembered with its look-ups."""
        return len(self._frames) == 1

    def number(self, key: str) -> int:
        """The number under which a key or an id is kept."""
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = self._published.number(key)
        return known

    def has(self, key: str) -> bool:
        return bool(self.get(key))

    def unique(self, name: str) -> str | None:
        self._frames[-1].add(self.number(f"n:{name}"))
        if name not in self._unique:
            self._unique[name] = self._published.unique(name)
        return self._unique[name]

    def forget_local(self) -> None:
        """Drop what only the file that was just resolved could ask again; and everything once it is much."""
        self._local.clear()
        if len(self._memo) > MOST_REMEMBERED:
            for each in (self._memo, self._values, self._numbers, self._unique):
                each.clear()

    def remembered(self, key: Any, compute: Callable[[], T], *, local: bool = False) -> T | None:
        """`compute()` once, its look-ups charged to all who ask. None inside a cycle or too deep."""
        memo = self._local if local else self._memo
        known = memo.get(key)
        if known is not None:
            self._frames[-1] |= known[1]
            return known[0]  # type: ignore[no-any-return]
        depth = len(self._frames)
        if key in self._active or depth > DEEPEST:
            self._cut = min(self._cut, self._active.get(key, 0))
            return None
        self._active[key] = depth
        self._frames.append(set())
        try:
            result = compute()
        finally:
            del self._active[key]
            asked = self._frames.pop()
            if self._frames:
                self._frames[-1] |= asked
        if self._cut > depth:
            memo[key] = (result, frozenset(asked))
        elif self._cut == depth:  # the cycle begins here; its answer depends on where one enters, so none is kept
            self._cut = 10**9
        return result
