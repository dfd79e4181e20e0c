"""Matching: whether two short texts mean the same thing, by their vectors and by their key words."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from lithos.core.lazy import lazy
from lithos.errors import LithosError

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy("numpy")

MOST_VECTORS = 4_096
MOST_REMEMBERED = 400  # characters of a text whose key words are kept
SAME_MEANING, SAME_WORDS = 0.72, 0.5
RELEVANT_MEANING = 0.62  # by meaning alone
SUPPORTED_MEANING, SUPPORTING_WORDS = 0.42, 0.34  # with key words in common
ALIKE = 0.45
BACKGROUND_SHARE = 0.5
NEIGHBOURS = 8
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+|\d+(?:\.\d+)*|[^\W\d_a-zA-Z]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STOP_WORDS = """
a an and are as at be been but by can could did do does for from had has have how i if in into is it its just let make
may might more most must my need no not of off on one only or our out over own same should so some such than that the
their them then there these they this those through to too under up use used using uses very via was we were what when
where which while who why will with without would you your new add adding get set want wants like instead each every all
any also here plan planning going about before after between both because still even never always please try trying code
project app application file files function
"""
_STOP = frozenset(_STOP_WORDS.split())
_ENDINGS: tuple[tuple[str, str], ...] = (
    ("ization", "ize"),
    ("izing", "ize"),
    ("ational", "ate"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ities", "ity"),
    ("ments", "ment"),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("sses", "ss"),
    ("edly", ""),
    ("ed", ""),
    ("ers", "er"),
    ("es", "e"),
    ("s", ""),
)


def stem(word: str) -> str:
    """A crude common form: enough that "caching", "cached" and "caches" are one key word."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + instead
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def split_words(text: str) -> list[str]:
    """Lower-case words of a text; identifiers fall into their parts."""
    return [part.casefold() for word in _WORD.findall(text.replace("_", " ")) for part in _CAMEL.split(word) if part]


def ordered_key_words(text: str) -> list[str]:
    return [stem(word) for word in split_words(text) if word not in _STOP and len(word) > 1]


def key_words(text: str) -> frozenset[str]:
    return _remembered_words(text) if len(text) <= MOST_REMEMBERED else frozenset(ordered_key_words(text))


@lru_cache(maxsize=4_096)  # each check of a dependency asks them of a project's 2,000 descriptions: 7 of its 10 ms
def _remembered_words(text: str) -> frozenset[str]:
    return frozenset(ordered_key_words(text))


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """Shared key words, of the shorter of two texts."""
    first, second = set(one), set(other)
    least = min(len(first), len(second))
    return len(first & second) / least if least else 0.0


@dataclass(frozen=True)
class Likeness:
    meaning: float  # cosine; 0 where no model answers
    words: float  # shared key words
    shared: int
    by_words_only: bool = False

    @cached_property
    def score(self) -> float:
        return max(0.0, min(1.0, self.words if self.by_words_only else 0.7 * self.meaning + 0.3 * self.words))

    @property
    def relevant(self) -> bool:
        if self.by_words_only:
            return self.words >= 0.6 and self.shared >= 2
        if self.meaning >= RELEVANT_MEANING and self.shared >= 1:
            return True
        return self.meaning >= SUPPORTED_MEANING and self.words >= SUPPORTING_WORDS and self.shared >= 2


class Matcher:
    """Vectors are cached by text; without a model key words decide alone.

    `background`: short texts about programming. Their mean is half taken out of a vector, and their words count less:
    both say that a text is about programming, not about what."""

    def __init__(self, embed: Callable[[str], Any], background: Callable[[], Sequence[str]] = tuple) -> None:
        self._embed = embed
        self._background = background
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Any] = OrderedDict()

    @cached_property
    def _near_all(self) -> Any | None:
        """Vectors of the background, by row."""
        found = [vector for text in self._background() if (vector := self.vector(text)) is not None]
        return np.stack(found) if found else None

    @cached_property
    def _mean(self) -> Any | None:
        return None if self._near_all is None else np.mean(self._near_all, axis=0)

    @cached_property
    def _common(self) -> Counter[str]:
        return Counter(word for text in self._background() for word in key_words(text))

    def weight(self, word: str) -> float:
        """From 1 for a word that says much to 0.25 for a common one."""
        times = self._common[word]
        return 1.0 if not times else max(0.25, 1 - math.log1p(times) / math.log(8))

    def apart(self, one: str, other: str) -> float | None:
        """As `meaning`, with half of what all texts share taken out."""
        first, second = self.centred(one), self.centred(other)
        return None if first is None or second is None else float(np.dot(first, second))

    def centred(self, text: str) -> Any | None:
        """The vector of a text with half of what all texts share taken out, of unit length."""
        vector, mean = self.vector(text), self._mean
        if vector is None:
            return None
        moved = vector if mean is None else vector - BACKGROUND_SHARE * mean
        return moved / (float(np.linalg.norm(moved)) or 1.0)

    def rare(self, one: str, other: str) -> float | None:
        """As `meaning`, less how near each is to its neighbours in the background: some texts are near to anything."""
        found = self.meaning(one, other)
        return None if found is None else found - (self._nearness(one) + self._nearness(other)) / 2

    def _nearness(self, text: str) -> float:
        vector, others = self.vector(text), self._near_all
        if vector is None or others is None:
            return 0.0
        return float(np.mean(np.sort(others @ vector)[-NEIGHBOURS:]))

    def vector(self, text: str) -> Any | None:
        """Of unit length; None: no model answers."""
        with self._lock:
            if text in self._vectors:
                self._vectors.move_to_end(text)
                return self._vectors[text]
        try:
            found = self._embed(text)
        except (LithosError, OSError, RuntimeError):
            return None
        length = float(np.linalg.norm(found)) or 1.0
        vector = found / length
        with self._lock:
            self._vectors[text] = vector
            while len(self._vectors) > MOST_VECTORS:
                self._vectors.popitem(last=False)
        return vector

    def meaning(self, one: str, other: str) -> float | None:
        first, second = self.vector(one), self.vector(other)
        return None if first is None or second is None else float(np.dot(first, second))

    def likeness(self, asked: str, known_text: str, context: str = "") -> Likeness:
        wanted, known = key_words(asked), key_words(known_text)
        shared = wanted & known
        words = overlap(wanted, known)
        meaning = self.meaning(asked, known_text)
        if meaning is None:
            return Likeness(0.0, words, len(shared), by_words_only=True)
        if context:
            meaning = max(meaning, self.meaning(asked, f"{known_text} ({context})") or 0.0)
        return Likeness(meaning, words, len(shared))

    def same(self, one: str, other: str) -> bool:
        """The same meaning and the same key words."""
        found = self.likeness(one, other)
        return found.words >= SAME_WORDS and (found.by_words_only or found.meaning >= SAME_MEANING)

    def alike(self, one: str, other: str) -> bool:
        found = self.likeness(one, other)
        return found.words >= SUPPORTING_WORDS if found.by_words_only else found.meaning >= ALIKE or not (one and other)
