"""Selection: the best pieces that fit into the budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

LEAST = 0.3
MOST_TOKENS = 8_000
NEAR_EQUAL = 0.85  # shared words of two texts above which they say the same


class Scored(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def quality(self) -> float: ...
    @property
    def tokens(self) -> int: ...


T = TypeVar("T", bound=Scored)


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    pieces: tuple[T, ...]
    tokens: int
    left_out: int  # worth it, but did not fit


def choose(pieces: Sequence[T], budget: int, most: int | None = None) -> Chosen[T]:
    """The best pieces that fit. One that does not fit is skipped, not the end; near-equal ones count once."""
    chosen: list[T] = []
    words: list[frozenset[str]] = []
    spent = left_out = 0
    for piece in sorted(pieces, key=lambda each: -each.quality):
        if piece.quality < LEAST:
            break
        mine = _words(piece.text)
        if any(_shared(mine, other) >= NEAR_EQUAL for other in words):
            continue
        if spent + piece.tokens > budget or (most is not None and len(chosen) >= most):
            left_out += 1
            continue
        chosen.append(piece)
        words.append(mine)
        spent += piece.tokens
    return Chosen(tuple(chosen), spent, left_out)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def _shared(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0
