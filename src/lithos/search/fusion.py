"""How two rankings become one, and when the best of it is no answer. Pure.

The score of a document is its cosine plus how well its words match, against the best match there is:

    score = meaning · cosine + weight · words / max(best words, a quarter of what the question could reach)

A cosine is absolute: near 0.2 for anything, 0.5 and more for an answer. BM25 is not, so it is measured against the
best document of the same question, unless even that one has little of it. `meaning` is how much of the question the
model can read. `weight` is how much the words say beside the meaning, for this question in this collection:

    weight = 0.7 · (1 - code · (1 - drop of words)) · drop of words · √((1 - best cosine) / drop of cosines)

The drop of a leg is how far its tenth document is below its first: an engine that is sure tells few from the rest (with
fewer than ten documents the weight is 0.5).
`code` is the share of the collection that is program code, where words of a question meet names by chance, unless they
tell few documents from the rest; it is 0 for a question that names an identifier. The sum is brought to the scale of a
weight of 0.5, so that scores of different collections can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

WORDS_WEIGHT = 0.5  # the scale of scores, and the weight where one leg is alone
WORDS_SHARE = 0.7
DROP_PLACE = 10
LEAST_DROP = 0.02
WEIGHTS = (0.02, 2.0)
PASSAGE_WEIGHT = 0.5  # of the best passage's BM25 beside the whole document's
LEAST_REACH = 0.25
RELEVANT = 0.52  # least confidence of an answer
JUDGED = 3  # of the best documents; one of them must be an answer
SATURATION = 2.2  # k1 + 1: what BM25 gives a term of weight 1 that fills a text

BESIDE = 0.2  # of the score of the documents beside it: +.018 to +.024 nDCG on dialogue turns, neutral elsewhere
SHARING = 100  # documents whose neighbours are looked up

# Ordinals → of each that is part of a sequence, those of the documents before and after it.
Beside = Callable[[Sequence[int]], Mapping[int, Sequence[int]]]
PassageKey = tuple[int, int]  # ordinal of a document, position of a passage in it


@dataclass(frozen=True)
class Words:
    """Scores of full text, by ordinal; `possible` is the score of a text made of nothing but the question."""

    documents: Mapping[int, float]
    passages: Mapping[PassageKey, float]  # best first
    possible: float

    @cached_property
    def scores(self) -> dict[int, float]:
        """Of documents: their own, and half of their best passage's."""
        passages = list(self.passages.items())
        passages.reverse()  # the best passage of a document comes last, and stays
        best = {ordinal: PASSAGE_WEIGHT * score for (ordinal, _), score in passages}
        for ordinal, score in self.documents.items():
            best[ordinal] = best.get(ordinal, 0.0) + score
        return best


NO_WORDS = Words({}, {}, 0.0)


class Cosines(dict[PassageKey, float]):
    """Of passages."""

    @cached_property
    def of_documents(self) -> dict[int, float]:
        """Those of their best passages."""
        best: dict[int, float] = {}
        for (ordinal, _), cosine in self.items():
            if cosine > best.get(ordinal, -1.0):
                best[ordinal] = cosine
        return best


class Ranked(NamedTuple):
    ordinal: int
    position: int
    score: float
    similarity: float | None
    words: float  # BM25 of document and passage, as it is

    def trace(self, **more: Any) -> dict[str, Any]:
        shown = {"score": round(self.score, 4), "words": round(self.words, 4)}
        return shown | ({} if self.similarity is None else {"similarity": round(self.similarity, 4)}) | more


class LegWeights(NamedTuple):
    """How much each leg counts for one question, and what that is derived from."""

    meaning: float
    words: float
    best_cosine: float = 0.0
    words_drop: float = 0.0
    cosine_drop: float = 0.0
    code: float = 0.0

    @property
    def scale(self) -> float:
        """Brings scores to the scale of a words' weight of 0.5."""
        return (self.meaning + WORDS_WEIGHT) / (self.meaning + self.words)

    def trace(self) -> dict[str, float]:
        return {name: round(value, 3) for name, value in self._asdict().items()}


def leg_weights(words: Words, scored: Cosines, meaning: float, code: float) -> LegWeights:
    """`code`: how much of the collection is code, 0 where the question names an identifier."""
    if not meaning or not words.scores:
        return LegWeights(meaning, WORDS_WEIGHT)
    cosines = _largest(DROP_PLACE, scored.of_documents.values())
    if len(cosines) < DROP_PLACE:  # a handful of documents says nothing of either leg
        return LegWeights(meaning, WORDS_WEIGHT)
    best, matches = cosines[0], _largest(DROP_PLACE, words.scores.values())
    words_drop = _drop(matches[0], matches[-1] if len(matches) == DROP_PLACE else 0.0)
    cosine_drop = _drop(best, cosines[-1])
    sure = math.sqrt((1.0 - meaning * best) / cosine_drop)
    weight = WORDS_SHARE * (1.0 - code * (1.0 - words_drop)) * words_drop * sure
    return LegWeights(meaning, min(max(weight, WEIGHTS[0]), WEIGHTS[1]), best, words_drop, cosine_drop, code)


def _drop(first: float, last: float) -> float:
    return max((first - last) / first, LEAST_DROP) if first > 0 else LEAST_DROP


@dataclass(frozen=True, slots=True)
class Fused:
    ranked: list[Ranked]  # best first: documents, each with its best passage, or passages, several of one document
    relevant: bool
    confidence: float


def fuse(
    words: Words,
    similarities: Cosines,
    scored: Cosines,
    weights: LegWeights,
    most: int,
    *,
    least: float = 0.0,
    by_passage: bool = False,
    beside: Beside | None = None,
) -> Fused:
    """`similarities` of passages are shown, `scored` (the same keys) ranks them; a meaning of 0 leaves them out of the
    score. Of documents the best `most` that score at least `least`, and those that are judged."""
    reach = max(max(words.scores.values(), default=0.0), LEAST_REACH * words.possible) or 1.0
    meaning, weight = weights.meaning * weights.scale, weights.words * weights.scale / reach
    scores = _scores(words, scored, meaning, weight)
    best = _leading(scores if beside is None else _shared(scores, beside), most, least)
    shown = _best_passages({ordinal for _, ordinal in best}, words, scored, meaning, weight)
    nearest, bm25 = similarities.of_documents, words.scores
    documents = [
        Ranked(ordinal, shown.get(ordinal, 0), -score, nearest.get(ordinal), bm25.get(ordinal, 0.0))
        for score, ordinal in best
    ]
    confidence = max((_confidence(each, words.possible, weights.meaning) for each in documents[:JUDGED]), default=0.0)
    ranked = _passages(words, similarities, scored, meaning, weight) if by_passage else documents
    return Fused(ranked, confidence >= RELEVANT, confidence)


def _scores(words: Words, scored: Cosines, meaning: float, weight: float) -> dict[int, float]:
    """Words and cosine may have their best in different passages of one document: it has the credit of both."""
    scores = {ordinal: weight * score for ordinal, score in words.scores.items()}
    for ordinal, cosine in scored.of_documents.items():
        scores[ordinal] = scores.get(ordinal, 0.0) + meaning * cosine
    return scores


def _leading(scores: Mapping[int, float], most: int, least: float) -> list[tuple[float, int]]:
    """Negative score and ordinal, best first; of equals the oldest. Few are compared as pairs: that costs most."""
    ordered = sorted(scores.values(), reverse=True)[:most]
    if not ordered:
        return []
    enough = max(ordered[-1], min(least, ordered[:JUDGED][-1]))
    return sorted([(-score, ordinal) for ordinal, score in scores.items() if score >= enough])[:most]


def _shared(scores: dict[int, float], beside: Beside) -> dict[int, float]:
    """Each of the best with some of the score of what is beside it, as far as that is above the least candidate."""
    neighbours = beside(best_keys(scores, SHARING)) if scores else {}
    if not neighbours:
        return scores
    floor = min(scores.values())
    shared = dict(scores)
    for ordinal, around in neighbours.items():
        near = 0.0
        for each in around:
            if each in scores:
                near += scores[each] - floor
        shared[ordinal] += BESIDE / 2 * near
    return shared


def best_keys(scores: Mapping[int, float], count: int) -> list[int]:
    """Those with the highest scores, best first. A few hundred are sorted in a third of the time of a heap."""
    return sorted(scores, key=scores.__getitem__, reverse=True)[:count]


def _largest(count: int, values: Iterable[float]) -> list[float]:
    return sorted(values, reverse=True)[:count]


def _best_passages(
    wanted: Collection[int], words: Words, scored: Cosines, meaning: float, weight: float
) -> dict[int, int]:
    """Document: where its best passage is; of equals the first."""
    offers = {place: weight * PASSAGE_WEIGHT * bm25 for place, bm25 in words.passages.items() if place[0] in wanted}
    for place, cosine in scored.items():
        if place[0] in wanted:
            offers[place] = offers.get(place, 0.0) + meaning * cosine
    worst_first = sorted([(offer, -position, ordinal) for (ordinal, position), offer in offers.items()])
    return {ordinal: -position for _, position, ordinal in worst_first}


def _passages(
    words: Words,
    similarities: Cosines,
    scored: Cosines,
    meaning: float,
    weight: float,
) -> list[Ranked]:
    found = []
    for place in similarities.keys() | words.passages.keys():
        bm25 = words.documents.get(place[0], 0.0) + PASSAGE_WEIGHT * words.passages.get(place, 0.0)
        score = meaning * scored.get(place, 0.0) + weight * bm25
        found.append(Ranked(*place, score, similarities.get(place), bm25))
    found.sort(key=_order)
    return found


def _order(ranked: Ranked) -> tuple[float, int, int]:
    return -ranked.score, ranked.ordinal, ranked.position


def _confidence(ranked: Ranked, possible: float, meaning: float) -> float:
    """Cosine and the share of the question that was found; the share alone counts where the model cannot read.

    A text of average length that says every word of the question once has a share of 0.45.
    """
    share = ranked.words / possible if possible else 0.0
    return meaning * (ranked.similarity or 0.0) + (WORDS_WEIGHT + 1.5 * (1.0 - meaning)) * share
