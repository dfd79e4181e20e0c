"""Changes that are acknowledged and not indexed yet, and how a query finds them.

A commit of tantivy takes 10 to 140 ms. Until it is done the few documents in question are compared word by word, with
the weights that the index has for these words, so that their scores stand beside those of the index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from lithos.search.collection.columns import matches
from lithos.search.fusion import PASSAGE_WEIGHT, SATURATION, Ranked
from lithos.search.text.analysis import phrase_terms, seam
from lithos.search.text.syntax import Reading
from lithos.search.values import Document, DocumentChange, Passage, Where

LARGE = 200_000  # characters of a document that no query waits for: cutting 1.8 MB takes seconds
MOST = 256  # more are not worth comparing one by one: the question waits for the index
Cut = Callable[[Document], tuple[Passage, ...]]


@dataclass
class UnindexedChange:
    """One acknowledged change; its words are taken apart when the first question meets it."""

    sequence: int
    change: DocumentChange
    cut: Cut

    @property
    def large(self) -> bool:
        return isinstance(self.change, Document) and len(self.change.text) > LARGE

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
        seams = [seam(before.text, after.text) for before, after in pairwise(self.passages)]
        return sum(self.counts, Counter(phrase_terms(" ".join([*words, *seams]))))


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
        if not isinstance(document, Document) or each.large or not matches(document, where):
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
