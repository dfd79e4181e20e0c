"""Collection: full text, vectors and filter fields under one small interface."""

from __future__ import annotations

import contextlib
import heapq
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lithos.errors import Damaged, LithosError, Unavailable
from lithos.search.collection.catalogue import IndexEntry
from lithos.search.collection.chunking import PassageLimits, model_text
from lithos.search.collection.indexer import Indexer
from lithos.search.collection.schema import CollectionSchema
from lithos.search.collection.unindexed import MOST, UnindexedChange, UnindexedHit, match_unindexed
from lithos.search.embedding.background import MODEL_UNUSABLE, Embedding
from lithos.search.fusion import JUDGED, NO_WORDS, Fused, LegWeights, PassageKey, Ranked, Words, fuse, leg_weights
from lithos.search.malloc import free_large_blocks_at_once
from lithos.search.text.analysis import STOP_WORDS, identifiers, phrase_terms, readable_share
from lithos.search.text.snippets import snippet
from lithos.search.text.syntax import Reading, read
from lithos.search.values import (
    OPEN,
    CollectionStatus,
    Document,
    DocumentChange,
    Hit,
    Neighbour,
    Passage,
    Query,
    Remove,
    SearchResult,
    Where,
)
from lithos.storage import Faults, derived_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lithos.search.collection.columns import Mask

    Floats = NDArray[np.float32]

_log = logging.getLogger(__name__)
CANDIDATES = 100  # documents that each engine proposes, at least; fewer cost hybrid a little of its quality
CANDIDATES_ALONE = 40  # by words alone: they are ranked by what found them, and more change nothing
SPARE = 20  # ranked beyond twice the limit: some may be gone by the time they are fetched
WAIT = 5.0
LONGEST_SAYING = 64  # words that a passage can say after the question
PASSAGES_COMPARED = 3  # of a document that looks for its like: its beginning says what it is about


def open_collection(
    data_dir: Path,
    name: str,
    *,
    embedding: Embedding,
    keywords: Iterable[str] = (),
    numbers: Iterable[str] = (),
    limits: PassageLimits | None = None,
    wait: float = WAIT,
    parted: bool = False,
    faults: Faults | None = None,
) -> Collection:
    """The collection `name`, derived, under `.tantivy` and `.vectors`; nothing heavy is loaded before the first use.

    `keywords` and `numbers` name its filter fields, `wait` bounds how long a question waits for what is pending.
    `parted`: documents are erased one at a time, and that must not cost the whole text index.
    """
    free_large_blocks_at_once()
    shape = CollectionSchema(name, frozenset(keywords), tuple(sorted(numbers)), limits or PassageLimits(), parted)
    vectors = derived_folder(derived_folder(data_dir / ".vectors") / name) / "rows.bin"
    text = derived_folder(data_dir / ".tantivy") / name
    indexer = Indexer(text, shape, embedding, vectors, faults)
    return Collection(shape, indexer, embedding, wait)


class Collection:
    """Things of one kind, found by words, by meaning, or both.

        collection.apply([Document(id="n1", title="Retries", text="Back off, then retry.", hash="h1"), Remove("n0")])
        found = collection.query(Query("how do we handle flaky calls?", limit=5))
        found.hits[0].passage, found.relevant, found.degraded

    Derived: the owner keeps the truth. `apply` returns at once; each later question sees it. What a kill loses, the
    owner finds by comparing `known()` with what it has.
    """

    def __init__(self, shape: CollectionSchema, indexer: Indexer, embedding: Embedding, wait: float) -> None:
        self._shape = shape
        self._indexer = indexer
        self._embedding = embedding
        self._wait = wait

    def apply(self, changes: Iterable[DocumentChange]) -> int:
        """Acknowledge changes; the newest of each id counts. Waits only when thousands are unindexed already."""
        return self._indexer.put(changes)

    def known(self) -> dict[str, str]:
        """Id and hash of everything that was applied and survived, unindexed changes included."""
        return self._indexer.known()

    def rebuild(self, documents: Iterable[Document]) -> None:
        """Forget everything, then apply these."""
        self._indexer.run(self._indexer.clear)
        self.apply(documents)

    def purge(self, ids: Iterable[str]) -> None:
        """Remove, and rewrite what held these texts, so that no byte of them stays in a file."""
        gone = [*ids]
        self._indexer.indexed(time.monotonic() + 3600)
        ordinals = {ordinal for id in gone if (ordinal := self._indexer.ordinal(id)) is not None}
        self.apply(Remove(id) for id in gone)
        self._indexer.indexed(time.monotonic() + 3600)
        self._indexer.run(lambda: self._indexer.erase(ordinals))

    def verify(self) -> None:
        """Look at every file now, and heal what is not as it was written."""
        self._indexer.run(self._indexer.verify)

    def settle(self, seconds: float = 60.0) -> bool:
        """Wait until everything acknowledged is indexed and embedded."""
        deadline = time.monotonic() + seconds
        if not self._indexer.indexed(deadline):
            return False
        self._indexer.fulltext()
        self._indexer.run(lambda: None)  # after the tasks that the changes left
        meaning = self._indexer.semantic_if_usable()
        return meaning is not None and not meaning.embedded(deadline)

    @property
    def starts(self) -> int:
        """How often it began empty. A higher number than before: it must be filled again."""
        self._indexer.catalogue()
        return self._indexer.starts

    def on_lost(self, tell: Callable[[], None]) -> None:
        """Call `tell` when damage made the collection start empty: its owner applies everything again."""
        self._indexer.on_lost(tell)

    def passages(self, id: str) -> list[Passage]:
        """How a document was cut; empty for an unknown id."""
        unindexed = self._indexer.unindexed().get(id)
        if unindexed is not None:
            return list(unindexed.passages)
        ordinal = self._indexer.ordinal(id)
        entries = list(self._indexer.catalogue().entries([ordinal])) if ordinal is not None else []
        return list(entries[0].passages) if entries else []

    def tokens(self, title: str, passage: Passage) -> int:
        """Tokens of a passage as the model reads it: its context and its two marks included."""
        return self._embedding.embedder.count(model_text(title, passage)) + 2

    def neighbours(self, id: str, limit: int = 5, least: float = 0.8, where: Where = OPEN) -> list[Neighbour]:
        """Documents of nearly the same meaning, nearest first; of a document without vectors there are none yet."""
        ordinal = self._indexer.ordinal(id)
        meaning = self._indexer.semantic_if_usable()
        if ordinal is None or meaning is None:
            return []
        near = meaning.around(ordinal, self._indexer.columns.mask(where), 4 * limit, PASSAGES_COMPARED)
        close = sorted(((share, each) for each, share in near.items() if share >= least), reverse=True)[:limit]
        entries = {entry.ordinal: entry for entry in self._indexer.catalogue().entries([each for _, each in close])}
        return [
            Neighbour(entries[each].document.id, entries[each].document.title, entries[each].document.path, share)
            for share, each in close
            if each in entries and self._indexer.is_live(each, entries[each].document.id)
        ]

    def passage_count(self) -> int:
        return self._indexer.passages_known()

    def size(self) -> int:
        """Bytes on disk."""
        return self._indexer.size()

    def status(self) -> CollectionStatus:
        indexer = self._indexer
        passages, missing = indexer.passages_known(), indexer.passages_missing()
        return CollectionStatus(
            documents=indexer.documents_known(),
            passages=passages,
            embedded=passages - missing,
            unindexed=len(indexer.unindexed()),
            model=self._embedding.embedder.id,
            degraded="; ".join(indexer.problems.values()) or self._embedding.failure,
            bytes=indexer.size(),
        )

    def busy(self) -> bool:
        """Whether something waits to be indexed or embedded."""
        return bool(self._indexer.unindexed()) or self._indexer.passages_missing() > 0

    def difference(self) -> str | None:
        """How the text index differs from the catalogue; None: it holds exactly the same versions."""
        return self._indexer.difference()

    def compare(self) -> None:
        """Compare the text index with the catalogue now, and rebuild it if they differ."""
        self._indexer.run(self._indexer.compare)

    def problem(self) -> str | None:
        """Why answers may be incomplete, without paths; `status` has the details."""
        return f"the search index of {self._shape.name} is incomplete" if self._indexer.problems else None

    def close(self) -> None:
        self._indexer.close()

    # -- questions ----------------------------------------------------------------------------------------------

    def query(self, query: Query) -> SearchResult:
        """Answer with what there is; `degraded` says what there is not."""
        with contextlib.suppress(Unavailable, Damaged):  # an engine may have been exchanged under the question
            return self._answer(query)
        try:
            return self._answer(query)
        except (Unavailable, Damaged) as failure:
            _log.warning("a question failed in %s: %s", self._shape.name, failure)
            self._indexer.verify_soon()
            return SearchResult(
                (), False, degraded=f"the index cannot be read and is being repaired: {failure.message}"
            )

    def _answer(self, query: Query) -> SearchResult:
        deadline = time.monotonic() + self._wait
        return _QueryRun(self._indexer, self._embedding, self._shape, query, deadline).found()


@dataclass
class _QueryRun:
    """One question on its way through the engines."""

    indexer: Indexer
    embedding: Embedding
    shape: CollectionSchema
    query: Query
    deadline: float

    def __post_init__(self) -> None:
        self.degraded: list[str] = []
        self.times: dict[str, float] = {}
        self.reading = Reading([])
        self.met: list[UnindexedHit] = []
        self.shown: list[tuple[str, Ranked]] = []  # id of each hit, and why it is there
        self.unindexed: dict[str, UnindexedChange] = {}
        self.smoothed: dict[PassageKey, float] = {}

    def found(self) -> SearchResult:
        self.unindexed = self._wait_for_index()
        mask = self._mask()
        words, vector = self._asked(mask)
        similarities = self._similarities(words, vector, mask) if vector is not None else {}
        scored = self._scored(similarities)
        weights = leg_weights(words, scored, self._weight_of_meaning(similarities), self._code_share())
        most = 2 * self.query.limit + SPARE + len(self.unindexed)
        several, beside = self.query.per_document > 1, self.indexer.beside if self.query.by == "both" else None
        fused = fuse(words, similarities, scored, weights, most, by_passage=several, beside=beside)
        started = time.perf_counter()
        hits = self._hits(fused)
        self._took("fetch", started)
        return SearchResult(
            tuple(hits),
            relevant=bool(hits) and (fused.relevant or bool(self.met) or self._named(hits[:JUDGED])),
            degraded="; ".join(dict.fromkeys([*self.indexer.problems.values(), *self.degraded])),
            literal=self.reading.literal,
            trace=self._trace(fused, words, weights) if self.query.explain else None,
        )

    def _mask(self) -> Mask:
        """A question by words does not wait until the filter fields are in memory: tantivy has them too."""
        columns = self.indexer.columns
        if self.query.by == "words" and not columns.made and not self.query.where.is_open:
            self.indexer.make_columns_soon()
            return None
        return columns.mask(self.query.where)

    def _asked(self, mask: Mask) -> tuple[Words, Floats | None]:
        """Full text in another thread while the model reads the question: both leave Python's lock alone."""
        if self.query.by == "words":
            return self._words(mask), None
        if self.query.by == "meaning":
            return NO_WORDS, self._vector()
        if self.embedding.remembers(self.query.text):
            return self._words(mask), self._vector()
        beside = self.embedding.beside.submit(self._words, mask)
        vector = self._vector()
        return beside.result(), vector

    def _named(self, best: Sequence[Hit]) -> bool:
        """Whether one of the best has every identifier of the question, or all of it, word by word: that is an answer,
        however it is put."""
        names = identifiers(self.query.text)
        texts = [f"{hit.title}\n{hit.passage}" for hit in best]
        return any((names and all(name in text.lower() for name in names)) or self._said_by(text) for text in texts)

    def _said_by(self, text: str) -> bool:
        terms = self.reading.terms
        if not 0 < len(terms) <= LONGEST_SAYING or STOP_WORDS.issuperset(terms):
            return False
        return f" {' '.join(phrase_terms(self.query.text))} " in f" {' '.join(phrase_terms(text))} "

    def _wait_for_index(self) -> dict[str, UnindexedChange]:
        """A question by meaning waits for vectors; one by words for the index only when much of it is missing."""
        self.degraded += self.indexer.problems.values()  # one that is solved meanwhile counts: it may have cost hits
        if changed := self.indexer.files_changed():
            self.indexer.verify_soon()
            self.degraded.append(changed)
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
            self.met = match_unindexed(self.unindexed.values(), self.reading, weights, self.query.where)
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
        return set().union(*(each.total for each in self.unindexed.values()))

    def _vector(self) -> Floats | None:
        started = time.perf_counter()
        try:
            return self.embedding.question(self.query.text)
        except LithosError as error:
            _log.warning("the model cannot be used: %s", error.message)
            self.degraded.append(MODEL_UNUSABLE)
            return None
        finally:
            self._took("embed", started)

    def _similarities(self, words: Words, vector: Floats, mask: Mask) -> dict[PassageKey, float]:
        """Of the nearest passages, and of every passage of what the words found."""
        started = time.perf_counter()
        count = self._candidates()
        by_words = heapq.nlargest(count // 2, words.scores, key=words.scores.__getitem__)
        near, self.smoothed = self.indexer.semantic().nearest(vector, mask, count, by_words, self.query.limit)
        self._took("vectors", started)
        least = self.query.threshold
        # Rounded as it is shown: the similarity of a result, given as threshold, finds that result.
        return {place: near[place] for place in near if round(near[place], 4) >= least} if least else near

    def _scored(self, similarities: dict[PassageKey, float]) -> dict[PassageKey, float]:
        """By meaning alone a hit ranks by the cosine that it shows; beside words, neighbours count a little."""
        return similarities if self.query.by == "meaning" else {key: self.smoothed[key] for key in similarities}

    def _weight_of_meaning(self, similarities: dict[tuple[int, int], float]) -> float:
        if self.query.by == "words" or not similarities:
            return 0.0
        return 1.0 if self.query.by == "meaning" else readable_share(self.query.text)

    def _code_share(self) -> float:
        """How much of the collection is code; a question that names an identifier means what has it."""
        if self.query.by != "both" or identifiers(self.query.text):
            return 0.0
        return self.indexer.code_share()

    # -- hits ---------------------------------------------------------------------------------------------------

    def _hits(self, fused: Fused) -> list[Hit]:
        """Walk down the ranking; what is gone or waits to be exchanged is passed over."""
        ranked = fused.ranked if self.query.per_document == 1 else self._several(fused.ranked)
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
            snippet=self._snippet(passage.text or document.title) if by_words else "",
            keywords=document.keywords,
            numbers=document.numbers,
        )

    def _snippet(self, text: str) -> str:
        return snippet(text, self.reading.terms, [each.matches for each in self.reading.loose])

    # -- trace --------------------------------------------------------------------------------------------------

    def _took(self, stage: str, started: float) -> None:
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
