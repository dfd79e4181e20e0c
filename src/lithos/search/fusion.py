"""How two rankings become one, and when the best of it is no answer. Pure.

The score of a document is its cosine plus half of how well its words match, against the best match there is:

    score = meaning · cosine + 0.5 · words / max(best words, a quarter of what the question could reach)

A cosine is absolute: near 0.2 for anything, 0.5 and more for an answer. BM25 is not, so it is measured against the
best document of the same question, unless even that one has little of it. So an engine that is sure outweighs one
that is not, whatever the question is like; ranks, which plain rank fusion goes by, have lost that. `meaning` is how
much of the question is in the script that the model was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

WORDS_WEIGHT = 0.5
PASSAGE_WEIGHT = 0.5  # of the best passage's BM25 beside the whole document's
LEAST_REACH = 0.25
RELEVANT = 0.52
SATURATION = 2.2  # k1 + 1: what BM25 gives a term of weight 1 that fills a text


@dataclass(frozen=True)
class Words:
    """What full text found, by ordinal; `possible` is the score of a text made of nothing but the question."""

    documents: Mapping[int, float]
    passages: Mapping[tuple[int, int], float]
    possible: float

    @cached_property
    def scores(self) -> dict[int, float]:
        """Of documents: their own, and half of their best passage's."""
        tops: dict[int, float] = {}
        for (ordinal, _), score in self.passages.items():
            if score > tops.get(ordinal, 0.0):
                tops[ordinal] = score
        best = dict(self.documents)
        for ordinal, score in tops.items():
            best[ordinal] = best.get(ordinal, 0.0) + PASSAGE_WEIGHT * score
        return best


NO_WORDS = Words({}, {}, 0.0)


class Ranked(NamedTuple):
    ordinal: int
    position: int
    score: float
    similarity: float | None
    words: float  # BM25 of document and passage, as it is

    def trace(self, **more: Any) -> dict[str, Any]:
        shown = {"score": round(self.score, 4), "words": round(self.words, 4)}
        return shown | ({} if self.similarity is None else {"similarity": round(self.similarity, 4)}) | more


@dataclass(frozen=True, slots=True)
class Fused:
    documents: list[Ranked]  # best first, each with its best passage
    passages: list[Ranked]  # best first, several of one document
    relevant: bool
    confidence: float


def fuse(words: Words, similarities: Mapping[tuple[int, int], float], meaning: float) -> Fused:
    """`similarities` of passages; `meaning` 0 leaves them out of the score."""
    reach = max(max(words.scores.values(), default=0.0), LEAST_REACH * words.possible) or 1.0
    passages = _passages(words, similarities, meaning, WORDS_WEIGHT / reach)
    documents = sorted(_documents(words.scores, passages, meaning, WORDS_WEIGHT / reach), key=_order)
    confidence = _confidence(documents[0], words.possible, meaning) if documents else 0.0
    return Fused(documents, passages, confidence >= RELEVANT, confidence)


def _passages(
    words: Words, similarities: Mapping[tuple[int, int], float], meaning: float, weight: float
) -> list[Ranked]:
    found = []
    whole, parts = words.documents.get, words.passages.get
    for place in similarities.keys() | words.passages.keys():
        bm25 = whole(place[0], 0.0) + PASSAGE_WEIGHT * parts(place, 0.0)
        similarity = similarities.get(place)
        found.append(Ranked(*place, meaning * (similarity or 0.0) + weight * bm25, similarity, bm25))
    found.sort(key=_order)
    return found


def _documents(scores: Mapping[int, float], passages: list[Ranked], meaning: float, weight: float) -> list[Ranked]:
    """Words and cosine may have their best in different passages of one document: it has the credit of both."""
    shown: dict[int, int] = {}
    nearest: dict[int, float] = {}
    for ordinal, position, _, similarity, _ in passages:
        if ordinal not in shown:
            shown[ordinal] = position
        if similarity is not None and similarity > nearest.get(ordinal, -1.0):
            nearest[ordinal] = similarity
    found = []
    for ordinal in shown.keys() | scores.keys():
        bm25, similarity = scores.get(ordinal, 0.0), nearest.get(ordinal)
        score = meaning * (similarity or 0.0) + weight * bm25
        found.append(Ranked(ordinal, shown.get(ordinal, 0), score, similarity, bm25))
    return found


def _order(ranked: Ranked) -> tuple[float, int, int]:
    return -ranked.score, ranked.ordinal, ranked.position


def _confidence(best: Ranked, possible: float, meaning: float) -> float:
    """Cosine and the share of the question that was found; the share alone counts where the model cannot read.

    A text of average length that says every word of the question once has a share of 0.45.
    """
    share = best.words / possible if possible else 0.0
    return meaning * (best.similarity or 0.0) + (WORDS_WEIGHT + 1.5 * (1.0 - meaning)) * share
