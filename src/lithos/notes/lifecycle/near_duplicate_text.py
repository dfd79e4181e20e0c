"""Notes that say nearly the same: found by title and words on the way of a write, in clusters by `validate`. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lithos.notes.format.naming import name_key

NEAR = 0.6  # least share of common words
COMPARED = 30_000  # characters of one text: what comes later changes little
_LONGEST_WORD = 64
_WORD = re.compile(rf"\w{{2,{_LONGEST_WORD}}}")
_SINGLE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_WORDS_ONLY = bytes(ord(char) if (char := chr(code)) in _SINGLE else ord(" ") for code in range(128)) + b" " * 128


@dataclass(frozen=True, slots=True)
class Text:
    """A note's words, for comparison."""

    id: str
    title: str
    words: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    text = text[:COMPARED].lower()
    if text.isascii():  # a quarter of the pattern's cost, which a first scan pays for every note
        words = frozenset(text.encode("ascii").translate(_WORDS_ONLY).decode("ascii").split()) - _SINGLE
        if max(map(len, words), default=0) <= _LONGEST_WORD:
            return words
    return frozenset(_WORD.findall(text))


def likeness(one: Text, other: Text) -> float:
    """1 for the same title, else the share of words that both have."""
    if one.title and name_key(one.title) == name_key(other.title):
        return 1.0
    return common_share(one.words, other.words)


def common_share(one: frozenset[str], other: frozenset[str]) -> float:
    either = len(one | other)
    return len(one & other) / either if either else 0.0


def clusters(texts: Sequence[Text], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Ids that belong together, by any chain of pairs; the largest first."""
    leader = {text.id: text.id for text in texts}

    def lead(each: str) -> str:
        while leader[each] != each:
            leader[each] = leader[leader[each]]
            each = leader[each]
        return each

    for one, other in pairs:
        leader[lead(one)] = lead(other)
    grouped: Mapping[str, list[str]] = defaultdict(list)
    for text in texts:
        grouped[lead(text.id)].append(text.id)
    return sorted((group for group in grouped.values() if len(group) > 1), key=lambda group: (-len(group), group))


def near_pairs(texts: Sequence[Text], least: float = NEAR) -> Iterator[tuple[str, str]]:
    """Pairs above a share of common words, without comparing all with all: two texts that share so much have one of
    their rarest words in common (prefix filter), so that only those are compared."""
    counts: dict[str, int] = defaultdict(int)
    for text in texts:
        for word in text.words:
            counts[word] += 1
    seen: dict[str, list[Text]] = defaultdict(list)
    for text in sorted(texts, key=lambda each: (len(each.words), each.id)):
        rare = sorted(text.words, key=lambda word: (counts[word], word))
        compared: set[str] = set()
        for word in rare[: len(rare) - int(len(rare) * least) + 1]:
            for other in seen[word]:
                if other.id not in compared:
                    compared.add(other.id)
                    if common_share(text.words, other.words) >= least:
                        yield other.id, text.id
            seen[word].append(text)
