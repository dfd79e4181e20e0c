"""One question on its way through the engines of a collection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lithos.errors import Damaged, LithosError
from lithos.search.collection.catalogue import IndexEntry
from lithos.search.collection.indexer import Indexer
from lithos.search.collection.schema import CollectionSchema
from lithos.search.collection.unindexed import MOST, UnindexedChange, UnindexedHit, comparable, match_unindexed
from lithos.search.embedding.background import MODEL_UNUSABLE, Embedding
from lithos.search.fusion import (
    JUDGED,
    NO_WORDS,
    Cosines,
    Fused,
    LegWeights,
    Ranked,
    Words,
    best_keys,
    fuse,
    leg_weights,
)
from lithos.search.text.analysis import STOP_WORDS, identifiers, phrase_terms
from lithos.search.text.snippets import Snippets
from lithos.search.text.syntax import Reading, read
from lithos.search.values import Document, Hit, Passage, Query, SearchResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lithos.search.collection.columns import Mask

    Floats = NDArray[np.float32]

_log = logging.getLogger(__name__)
CANDIDATES = 100  # documents by words beside meaning, at least; with 60 hybrid loses .006 nDCG on abstracts
CANDIDATES_ALONE = 40  # by words alone: they are ranked by what found them, and more change nothing
NEAREST = 40  # passages by meaning, and documents by words whose cosines are looked up; 100 change nothing
SPARE = 20  # ranked beyond twice the limit: some may be gone by the time they are fetched
LONGEST_SAYING = 64  # words that a passage can say after the question
LEAST_SAID = 0.1  # of the words' possible score: a text that says the whole question has 0.45 at a usual length


@dataclass
class QueryRun:
    """One question on its way through the engines."""

    indexer: Indexer
    embedding: Embedding
    shape: CollectionSchema
    query: Query
    deadline: float
    damage: str = ""  # what other programs did to the files of the index

    def __post_init__(self) -> None:
        self.degraded: list[str] = []
        self.times: dict[str, float] = {}
        self.reading = Reading([])
        self.met: list[UnindexedHit] = []
        self.shown: list[tuple[str, Ranked]] = []  # id of each hit, and why it is there
        self.unindexed: dict[str, UnindexedChange] = {}
        self.by_words: list[int] = []  # the documents whose cosines are looked up because of their words
        self.mask: Mask = None
        self.words = NO_WORDS
        self.vector: Callable[[], Floats] | None = None  # waits for the model

    def start(self) -> None:
        """Full text, while the model reads the question in another thread: both leave Python's lock alone."""
        self.unindexed = self._wait_for_index()
        self.mask = self._mask()
        if self.query.by != "words":
            self.vector = self.embedding.question_soon(self.query.text)
        if self.query.by != "meaning":
            self.words = self._words(self.mask)
        if self.vector is not None:
            self.by_words = best_keys(self.words.scores, self._nearest())

    def finish(self, least: float = 0.0) -> SearchResult:
        """Hits that score less than `least` are left out, and not fetched."""
        words, mask, vector = self.words, self.mask, self._vector()
        similarities, scored = self._similarities(vector, mask) if vector is not None else (Cosines(), Cosines())
        weights = leg_weights(words, scored, self._weight_of_meaning(similarities), self._code_share())
        most = 2 * self.query.limit + SPARE + len(self.unindexed)
        several, beside = self.query.per_document > 1, self.indexer.beside() if self.query.by == "both" else None
        fused = fuse(words, similarities, scored, weights, most, least=least, by_passage=several, beside=beside)
        started = time.perf_counter()
        good = [each for each in fused.ranked if each.score >= least] if least else fused.ranked
        hits = self._hits(good)
        self._took("fetch", started)
        some = bool(hits) or len(good) < len(fused.ranked)
        return SearchResult(
            tuple(hits),
            relevant=some and (fused.relevant or bool(self.met) or self._named(hits[:JUDGED])),
            degraded="; ".join(dict.fromkeys([*self.indexer.problems.values(), *self.degraded])),
            literal=self.reading.literal,
            trace=self._trace(fused, words, weights) if self.query.explain else None,
        )

    def _mask(self) -> Mask:
        """A question by words does not wait until the filter fields are in memory: tantivy has them too."""
        columns = self.indexer.columns
        if self.query.by == "words" and not columns.made and not self.query.where.is_open:
            self.indexer.run_soon(columns.make)
            return None
        return columns.mask(self.query.where)

    def _named(self, best: Sequence[Hit]) -> bool:
        """Whether one of the best has every identifier of the question, or all of it, word by word: that is an answer,
        however it is put."""
        names = identifiers(self.query.text)
        for hit, (_, ranked) in zip(best, self.shown, strict=False):
            text = f"{hit.title}\n{hit.passage}"
            if names and all(name in text.lower() for name in names):
                return True
            if ranked.words >= LEAST_SAID * self.words.possible and self._said_by(text):
                return True
        return False

    def _said_by(self, text: str) -> bool:
        terms = self.reading.terms
        if not 0 < len(terms) <= LONGEST_SAYING or STOP_WORDS.issuperset(terms):
            return False
        return self._phrase in f" {' '.join(phrase_terms(text))} "

    @cached_property
    def _phrase(self) -> str:
        return f" {' '.join(phrase_terms(self.query.text))} "

    def _wait_for_index(self) -> dict[str, UnindexedChange]:
        """A question by meaning waits for vectors; one by words for the index only when much of it is missing."""
        self.degraded += self.indexer.problems.values()  # one that is solved meanwhile counts: it may have cost hits
        if self.damage:
            self.indexer.run_soon(self.indexer.verify)
            self.degraded.append(self.damage)
        if large := self.indexer.large_unindexed():
            self.degraded.append(f"{large} large documents are not indexed yet")
        if self.query.by == "words":
            if not self.indexer.indexed(self.deadline, most=MOST):
                self.degraded.append(f"{len(self.indexer.unindexed())} changes are not indexed yet")
        elif not self.indexer.indexed(self.deadline):
            self.degraded.append(f"{len(self.indexer.unindexed())} changes are not indexed yet")
        else:
            meaning = self.indexer.semantic_if_usable()
            self.degraded += filter(None, [meaning.embedded(self.deadline)] if meaning else [])
        return self.indexer.unindexed()

    def _words(self, mask: Mask) -> Words:
        started = time.perf_counter()
        fulltext, problems = self.indexer.fulltext_and_problems()
        self.degraded += problems
        reading = self.reading = self._read()
        words = NO_WORDS
        if reading.query is not None:
            words = self._matching(reading, mask)
            if not words.documents and reading.doubtful:
                self.reading = replace(reading, query=None, literal="as query syntax it matches nothing")
        if self.reading.query is None:
            words = fulltext.words(self.reading, self.query.where, mask, self._candidates())
            weights = (
                {term: fulltext.documents.weight(term) for term in set(self.reading.terms)} if self.unindexed else {}
            )
            compared = comparable(self.unindexed.values())
            self.met = match_unindexed(compared, self.reading, weights, self.query.where)
        self._took("words", started)
        return words

    def _matching(self, reading: Reading, mask: Mask) -> Words:
        """Operators are tantivy's alone to judge: what is not in its index yet is waited for."""
        if self.unindexed and self.indexer.indexed(self.deadline):
            self.unindexed = {}
        assert reading.query is not None
        where, most = self.query.where, self._candidates()
        fulltext, problems = self.indexer.fulltext_and_problems()
        self.degraded += problems
        return fulltext.matching(reading, where, mask, most)

    def _candidates(self) -> int:
        least = CANDIDATES_ALONE if self.query.by == "words" else CANDIDATES
        return max(least, 3 * self.query.limit) + len(self.unindexed)

    def _read(self) -> Reading:
        index = self.indexer.fulltext().documents
        plain = self.query.by == "both"
        return read(self.query.text, index, self.shape.keywords, plain=plain, unindexed=self._unindexed)

    def _unindexed(self) -> set[str]:
        return set().union(*(each.total for each in comparable(self.unindexed.values())))

    def _vector(self) -> Floats | None:
        if self.vector is None:
            return None
        started = time.perf_counter()
        try:
            return self.vector()
        except LithosError as error:
            _log.warning("the model cannot be used: %s", error.message)
            self.degraded.append(MODEL_UNUSABLE)
            return None
        finally:
            self._took("embed", started)

    def _nearest(self) -> int:
        return max(NEAREST, 2 * self.query.limit) + len(self.unindexed)

    def _similarities(self, vector: Floats, mask: Mask) -> tuple[Cosines, Cosines]:
        """Of the nearest passages, and of every passage of what the words found: as they are shown, and as they rank.
        By meaning alone a hit ranks by the cosine that it shows; beside words, neighbours count a little."""
        started = time.perf_counter()
        meaning, limit = self.indexer.semantic(), self.query.limit
        near, smoothed = meaning.nearest(vector, mask, self._nearest(), self.by_words, limit)
        self._took("vectors", started)
        if least := self.query.threshold:
            # Rounded as it is shown: the similarity of a result, given as threshold, finds that result.
            near = Cosines({place: cosine for place, cosine in near.items() if round(cosine, 4) >= least})
            smoothed = Cosines({place: smoothed[place] for place in near})
        return near, near if self.query.by == "meaning" else smoothed

    def _weight_of_meaning(self, similarities: Cosines) -> float:
        if self.query.by == "words" or not similarities:
            return 0.0
        return 1.0 if self.query.by == "meaning" else self.embedding.embedder.readable(self.query.text)

    def _code_share(self) -> float:
        """How much of the collection is code; a question that names an identifier means what has it."""
        if self.query.by != "both" or identifiers(self.query.text):
            return 0.0
        return self.indexer.code_share()

    # -- hits ---------------------------------------------------------------------------------------------------

    def _hits(self, ranked: list[Ranked]) -> list[Hit]:
        """Walk down the ranking; what is gone or waits to be exchanged is passed over."""
        ranked = ranked if self.query.per_document == 1 else self._several(ranked)
        ready = sorted(self.met, key=lambda met: -met.ranked.score)
        found: list[Hit] = []
        for entry, each in self._entries(ranked):
            if entry.document.id in self.unindexed:
                continue
            while ready and len(found) < self.query.limit and self._beats(ready[0], each):
                found.append(self._hit(ready[0].document, ready[0].passage, ready.pop(0).ranked))
            if len(found) >= self.query.limit:
                return found
            found.append(self._hit(entry.document, entry.passages[each.position], each))
        missing = self.query.limit - len(found)
        return found + [self._hit(met.document, met.passage, met.ranked) for met in ready[:missing]]

    def _beats(self, met: UnindexedHit, each: Ranked) -> bool:
        return met.ranked.words > each.words

    def _several(self, passages: Sequence[Ranked]) -> list[Ranked]:
        counts: dict[int, int] = {}
        kept = []
        for each in passages:
            counts[each.ordinal] = counts.get(each.ordinal, 0) + 1
            if counts[each.ordinal] <= self.query.per_document:
                kept.append(each)
        return kept

    def _entries(self, ranked: Sequence[Ranked]) -> Iterator[tuple[IndexEntry, Ranked]]:
        page = self.query.limit + 2  # one or two may be gone
        for start in range(0, len(ranked), page):
            part = ranked[start : start + page]
            ordinals = dict.fromkeys(each.ordinal for each in part)
            entries = {entry.ordinal: entry for entry in self.indexer.catalogue().entries(ordinals)}
            # Equal scores in the order of their ids, so that a rebuilt index answers like the one before it.
            there = [each for each in part if each.ordinal in entries]
            if any(each.position >= len(entries[each.ordinal].passages) for each in there):
                raise Damaged("the full-text index names a passage that is not there")
            for each in sorted(there, key=lambda each: (-each.score, entries[each.ordinal].document.id)):
                if self.indexer.is_live(each.ordinal, entries[each.ordinal].document.id):
                    yield entries[each.ordinal], each

    def _hit(self, document: Document, passage: Passage, ranked: Ranked) -> Hit:
        by_words = self.query.by == "words"
        self.shown.append((document.id, ranked))
        return Hit(
            id=document.id,
            title=document.title,
            path=document.path,
            author=document.author,
            version=document.version,
            heading=passage.heading,
            passage=passage.text,
            position=passage.position,
            score=round(ranked.words if by_words else ranked.score, 4),
            similarity=ranked.similarity,
            snippet=self._snippets.of(passage.text or document.title) if by_words else "",
            keywords=document.keywords,
            numbers=document.numbers,
        )

    @cached_property
    def _snippets(self) -> Snippets:
        return Snippets(self.reading.terms, [each.matches for each in self.reading.loose])

    # -- trace --------------------------------------------------------------------------------------------------

    def _took(self, stage: str, started: float) -> None:
        if self.query.explain:
            self.times[stage] = round((time.perf_counter() - started) * 1000, 3)

    def _trace(self, fused: Fused, words: Words, leg: LegWeights) -> dict[str, Any]:
        weights = {term: round(self.indexer.fulltext().documents.weight(term), 3) for term in set(self.reading.terms)}
        return {
            "terms": weights,
            "weights": leg.trace(),
            "confidence": round(fused.confidence, 4),
            "candidates": {"words": len(words.documents), "ranked": len(fused.ranked)},
            "best": [each.trace(rank=rank, id=id) for rank, (id, each) in enumerate(self.shown, 1)],
            "milliseconds": self.times,
        }
