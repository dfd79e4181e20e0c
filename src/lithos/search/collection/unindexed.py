"""Changes that are acknowledged and not indexed yet, and how a query finds them.

A commit of tantivy takes 10 to 140 ms. Until it is done the few documents in question are compared word by word, with
the weights that the index has for these words, so that their scores stand beside those of the index.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lithos.search.collection.columns import matches
from lithos.search.fusion import PASSAGE_WEIGHT, SATURATION, Ranked
from lithos.search.text.analysis import phrase_terms, seam
from lithos.search.text.syntax import Reading
from lithos.search.values import Document, DocumentChange, Passage, Where

LARGE = 200_000  # characters, of one or in sum, that a query takes apart itself: 1.8 MB take seconds
MEDIUM = 20_000  # characters from which documents count against that sum; the few notes that are longer can wait
MOST = 256  # more are not worth comparing one by one: the question waits for the index
AT_ONCE = 1_000_000  # characters in one commit that a question waits for
IN_BULK = 4 * AT_ONCE  # where none does: a quarter of the commits, and a third less to merge
Cut = Callable[[Document], tuple[Passage, ...]]


@dataclass
class UnindexedChange:
    """One acknowledged change; its words are taken apart when the first question meets it."""

    sequence: int
    change: DocumentChange
    cut: Cut
    large: bool = False  # no query waits for it

    @property
    def size(self) -> int:
        """Characters to take apart."""
        return len(self.change.text) + len(self.change.body) if isinstance(self.change, Document) else 0

    @property
    def left(self) -> int:
        """Characters that the next question would take apart."""
        return 0 if "total" in self.__dict__ else self.size

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        return self.cut(self.change) if isinstance(self.change, Document) else ()

    @cached_property
    def terms(self) -> list[list[str]]:
        """Of each passage."""
        title = self.change.title if isinstance(self.change, Document) else ""
        return [phrase_terms(f"{title}\n{each.heading}\n{each.text}") for each in self.passages]

    @cached_property
    def counts(self) -> list[Counter[str]]:
        return [Counter(terms) for terms in self.terms]

    @cached_property
    def total(self) -> Counter[str]:
        """Of the whole document; most questions have no word in common with it and end here."""
        words = (*self.change.names, *self.change.tags, self.change.body) if isinstance(self.change, Document) else ()
        seams = [seam(before.text, after.text) for before, after in itertools.pairwise(self.passages)]
        return sum(self.counts, Counter(phrase_terms(" ".join([*words, *seams]))))


class UnindexedChanges(dict[str, UnindexedChange]):
    """By document, the newest of each last. Not safe for threads: the indexer holds its lock."""

    def put(self, sequence: int, change: DocumentChange, cut: Cut) -> None:
        self.pop(change.id, None)  # the newest change goes to the end of the line
        fresh = UnindexedChange(sequence, change, cut)
        if fresh.size > MEDIUM:
            fresh.large = (
                fresh.size + sum(each.size for each in self.values() if each.size > MEDIUM and not each.large) > LARGE
            )
        self[change.id] = fresh

    def batch(self, most: int, characters: int = AT_ONCE) -> dict[str, UnindexedChange]:
        """For one commit: the oldest up to a bound, large ones last and one at a time."""
        chosen: dict[str, UnindexedChange] = {}
        size = 0
        for id, each in self.items():
            if not each.large:
                size += each.size
                if chosen and (size > characters or len(chosen) >= most):
                    return chosen
                chosen[id] = each
        return chosen or dict(itertools.islice(self.items(), 1))

    def fill(self, most: int, characters: int) -> bool:
        """Whether they are enough for one commit."""
        return len(self) >= most or (len(self) > 1 and sum(each.size for each in self.values()) >= characters)

    def are_few(self, target: int, most: int) -> bool:
        """Whether at most so many up to this sequence are left, large ones apart, and a question can compare them."""
        left = [each for each in self.values() if each.sequence <= target and not each.large]
        return not left or (len(left) <= most and sum(each.left for each in left) <= LARGE)


def comparable(unindexed: Iterable[UnindexedChange]) -> list[UnindexedChange]:
    """Those that a question takes apart: up to a sum, also where it gave up the wait for the others."""
    chosen, left = [], LARGE
    for each in unindexed:
        if not each.large and each.left <= left:
            left -= each.left
            chosen.append(each)
    return chosen


@dataclass(frozen=True, slots=True)
class UnindexedHit:
    document: Document
    passage: Passage
    ranked: Ranked


def match_unindexed(
    unindexed: Iterable[UnindexedChange], reading: Reading, weights: Mapping[str, float], where: Where
) -> list[UnindexedHit]:
    """The unindexed documents that have any of the terms, each with its best passage."""
    terms = reading.terms
    found = []
    for each in unindexed:
        document = each.change
        if not isinstance(document, Document) or not matches(document, where):
            continue
        whole = _bm25(each.total, terms, weights)
        if whole > 0:
            joined = [_joined(passage, reading.compounds, weights) for passage in each.terms]
            scores = [_bm25(counts, terms, weights) + more for counts, more in zip(each.counts, joined, strict=True)]
            position = max(range(len(scores)), key=scores.__getitem__)
            words = whole + max(joined) + PASSAGE_WEIGHT * scores[position]
            found.append(UnindexedHit(document, each.passages[position], Ranked(-1, position, words, None, words)))
    return found


def _joined(passage: Sequence[str], compounds: Iterable[Sequence[str]], weights: Mapping[str, float]) -> float:
    """The score that compounds add which are together in a passage."""
    said = f" {' '.join(passage)} " if compounds else ""
    return sum(weights.get(term, 0.0) for each in compounds if f" {' '.join(each)} " in said for term in each)


def _bm25(counts: Mapping[str, int], terms: Sequence[str], weights: Mapping[str, float]) -> float:
    """BM25 of a text of average length."""
    return sum(
        weights[term] * counts[term] * SATURATION / (counts[term] + SATURATION - 1)
        for term in terms
        if counts.get(term)
    )
