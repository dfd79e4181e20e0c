"""Wording: what a plan or a report of a failure does and what it leaves out, as key words, however it is put."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from lithos.habits.matching import key_words, ordered_key_words, stem

MOST_LEFT_OUT = 2  # key words after "without": what follows belongs to another thought
_LEFT_OUT = re.compile(
    r"\b(?:without|never|avoid(?:s|ing)?|instead of|rather than|in place of|no longer|don'?t|do not|not|no|missing"
    r"|lacking|forget(?:s|ting)?(?: to)?|forgot(?: to)?|forbids?|remov(?:e|es|ing)|drop(?:s|ping)?|replac(?:e|es|ing)"
    r"|skip(?:s|ping)?|omit(?:s|ting)?|leav(?:e|es|ing) out)\b\s{1,4}([^,;.:()]{1,200})"
    r"|\bnon-(\w{1,80})|\bleav(?:e|es|ing) ([^,;.:()]{1,80}?) out\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\b(?:and|but|use|with|by|so|when|because|that|which|in|for|to|from|on|at|of|as)\b", re.IGNORECASE
)
# A plan is often code, a report of a failure seldom.
_IDIOMS = (
    (
        re.compile(r"\bdef \w{1,80}\([^)]{0,400}=\s?(?:\[\]|\{\})|\w=\s?(?:\[\]|\{\})\s?[,)]"),
        "mutable default argument",
    ),
    (re.compile(r"\bexcept\b[^:\n]{0,40}:?\s{0,20}pass\b"), "ignore exception"),
    (re.compile(r"\bgo func\b"), "goroutine"),
    (re.compile(r"[^=!<>]==[^=]"), "compare"),
    (re.compile(r"\bfor \w{1,80} (?:in|of) "), "iterate"),
    (re.compile(r"\bdel \w"), "delete"),
    (re.compile(r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b"), "sql query"),
    (re.compile(r"\bf[\"']"), "string"),
)


@dataclass(frozen=True, slots=True)
class Wording:
    does: frozenset[str]
    leaves_out: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.does | self.leaves_out

    def undoes(self, failed: Wording) -> bool:
        """It does all that was left out when it failed, or leaves out what was done then."""
        return self.restores(failed) or self.leaves_out_done(failed)

    def restores(self, failed: Wording) -> bool:
        return bool(failed.leaves_out) and failed.leaves_out <= self.does

    def leaves_out_done(self, failed: Wording) -> bool:
        return bool(self.leaves_out & failed.does)


@lru_cache(512)  # the same reports are asked again and again
def wording(text: str) -> Wording:
    named = [words for pattern, words in _IDIOMS if pattern.search(text)]
    said = frozenset(_one(word) for word in key_words(" ".join((text, *named))))
    left_out: set[str] = set()
    for found in _LEFT_OUT.finditer(text):
        words = ordered_key_words(_CLAUSE.split(found[found.lastindex or 1], maxsplit=1)[0])
        left_out.update(map(_one, words[:MOST_LEFT_OUT]))
    return Wording(said - left_out, frozenset(left_out))


def _one(word: str) -> str:
    return _same_words().get(word, word)


@cache
def _same_words() -> Mapping[str, str]:
    """A key word → the key word of its group."""
    lines = files("lithos.habits").joinpath("data/same_words.txt").read_text(encoding="utf-8").splitlines()
    rows = [[stem(word) for word in line.split()] for line in lines if not line.startswith("#")]
    return {word: row[0] for row in rows for word in row}
