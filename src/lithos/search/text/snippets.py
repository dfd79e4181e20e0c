"""The part of a passage that shows why it was found, its matching words in <b>."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from lithos.search.text.analysis import UNSPACED, analyzed, folded, foldings, whole_words

LONGEST = 240
STEMMED = 2  # letters at the end of a stem that its words may not have: "die" is the stem of "dying"
# Letters, and the marks inside words of Hebrew, Arabic and the scripts of India, which are no letters to Python.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0df3\u200d"
_LETTER = re.compile(rf"[^\W_]|[{_MARKS}]")
_WORD = re.compile(f"(?:{_LETTER.pattern})+")
# Small letters, and a space for each sign.
_WORDS_APART = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))
_UNSPACED = re.compile(f"[{UNSPACED}]+")

Span = tuple[int, int]


class Snippets:
    """Of the passages of one answer. Most of their words recur: each is judged once."""

    def __init__(self, terms: Collection[str], loose: Collection[Callable[[str], bool]] = ()) -> None:
        """`terms` are stems; each of `loose` says of a whole word whether it is a match."""
        self._terms = frozenset(terms)
        self._loose = loose
        # No stemmer changes the first letter; folding may: "État" is "etat".
        self._first = {term[:1] for term in self._terms} | {term[:1].upper() for term in self._terms}
        self._beginnings = {f" {term[: max(1, len(term) - STEMMED)]}" for term in self._terms}
        self._grams = frozenset(term for term in self._terms if _UNSPACED.match(term))
        self._judged: dict[str, bool] = {}

    def of(self, passage: str) -> str:
        text = unicodedata.normalize("NFC", passage)
        spans = self._in_ascii(text) if text.isascii() else self._in_any_script(text)
        spans = _merged(spans + (_loose_words(text, self._loose) if self._loose else []))
        start, end = _window(text, spans)
        return _marked(text, [span for span in spans if start <= span[0] and span[1] <= end], start, end)

    def _in_ascii(self, text: str) -> list[Span]:
        """Search for how the terms begin, since taking a passage apart into its words costs five times as much."""
        apart = f" {text} ".encode().translate(_WORDS_APART).decode()
        spans = []
        for beginning in self._beginnings:
            at = apart.find(beginning)
            while at >= 0:
                end = apart.index(" ", at + 1)
                if self._is_term(apart[at + 1 : end]):
                    spans.append((at, end - 1))
                at = apart.find(beginning, end)
        return spans

    def _in_any_script(self, text: str) -> list[Span]:
        apart = _UNSPACED.sub(_blank, text)
        words = {word for word in _WORD.findall(apart) if word[0] in self._first or not word[0].isascii()}
        there = [word for word in words if self._is_term(word)]
        return [span for word in there for span in _occurrences(apart, word)] + _pairs(text, self._grams)

    def _is_term(self, word: str) -> bool:
        judged = self._judged.get(word)
        if judged is None:
            judged = self._judged[word] = _term(word) in self._terms
        return judged


def _loose_words(text: str, loose: Collection[Callable[[str], bool]]) -> list[Span]:
    folded = {word: "".join(whole_words(word)) for word in set(_WORD.findall(text))}
    there = [word for word, plain in folded.items() if any(matches(plain) for matches in loose)]
    return [span for word in there for span in _occurrences(text, word)]


def edits(one: str, other: str) -> int:
    """Letters added, left out, replaced or exchanged with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        this = [row]
        for at, candidate in enumerate(other, 1):
            least = min(last[at] + 1, this[-1] + 1, last[at - 1] + (letter != candidate))
            if row > 1 and at > 1 and letter == other[at - 2] and one[row - 2] == candidate:
                least = min(least, before[at - 2] + 1)
            this.append(least)
        before, last = last, this
    return last[-1]


def _occurrences(text: str, word: str) -> Iterator[Span]:
    """Of a whole word. Faster than a pattern by what it skips: most words of a passage are not the wanted ones."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and _LETTER.match(text, at - 1)) and not _LETTER.match(text, end):
            yield at, end
        at = text.find(word, end)


def _term(word: str) -> str:
    """As the index has it. Remembered, but for numbers, which recur seldom: tokens with offsets cost tantivy's binding
    twenty times a look-up."""
    return _analyzed(word) if word.isdecimal() else _remembered(word)


def _analyzed(word: str) -> str:
    terms = analyzed(folded(word))
    return terms[0] if len(terms) == 1 else ""


_remembered = lru_cache(maxsize=20_000)(_analyzed)


def _blank(run: re.Match[str]) -> str:
    return " " * len(run.group())


def _pairs(text: str, grams: frozenset[str]) -> list[Span]:
    if len(text.translate(foldings())) < len(text):
        return [span for run in _UNSPACED.finditer(text) for span in _pairs_of_run(text, run, grams)]
    return [(at, at + len(gram)) for gram in grams for at in _places(text, gram)]


def _places(text: str, gram: str) -> Iterator[int]:
    at = text.find(gram)
    while at >= 0:
        yield at
        at = text.find(gram, at + 1)


def _pairs_of_run(text: str, run: re.Match[str], grams: frozenset[str]) -> Iterator[Span]:
    """Where some characters are not in the index, such as the tones of Thai."""
    places = [at for at in range(*run.span()) if foldings().get(ord(text[at])) != ""]
    for at, (place, after) in enumerate(zip(places, [*places[1:], run.end()], strict=True)):
        if text[place] in grams:
            yield place, after
        if at + 1 < len(places) and text[place] + text[after] in grams:
            yield place, places[at + 2] if at + 2 < len(places) else run.end()


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _window(text: str, spans: list[Span]) -> Span:
    """The stretch with the most matches, widened to whole words."""
    if len(text) <= LONGEST:
        return 0, len(text)
    best, most, behind = 0, -1, 0
    for index, (start, _) in enumerate(spans):
        # Sorted and apart: the end of the stretch only moves forward, so that a text full of matches takes no longer.
        while behind < len(spans) and spans[behind][1] <= start + LONGEST:
            behind += 1
        if behind - index > most:
            best, most = start, behind - index
    start = max(0, min(best - LONGEST // 6, len(text) - LONGEST))
    if start:
        space = text.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + LONGEST)
    if end < len(text):
        space = text.rfind(" ", end - 20, end)
        end = space if space > start else end
    return start, end


def _marked(text: str, spans: list[Span], start: int, end: int) -> str:
    pieces, at = ["… " if start else ""], start
    for first, last in spans:
        pieces += [text[at:first], "<b>", text[first:last], "</b>"]
        at = last
    pieces += [text[at:end], " …" if end < len(text) else ""]
    return " ".join("".join(pieces).split())
