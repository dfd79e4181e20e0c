"""The vectors of a collection and the passages that still wait for one."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lithos.search.collection.catalogue import Catalogue, IndexEntry
from lithos.search.collection.passages import model_text
from lithos.search.embedding.background import MODEL_UNUSABLE, Embedding, Job
from lithos.search.fusion import Cosines
from lithos.search.vectors.vectors import Vectors, Wanted, key_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lithos.search.collection.columns import Mask

    Floats = NDArray[np.float32]

_log = logging.getLogger(__name__)
BULK = 100  # passages after which freed memory is worth giving back
PAGE = 32  # documents whose texts are fetched at a time


class SemanticIndex:
    def __init__(self, path: Path, catalogue: Catalogue, embedding: Embedding, passages: Mapping[int, int]) -> None:
        self._catalogue = catalogue
        self._embedding = embedding
        self._path = path
        self._model = embedding.embedder.id
        self._vectors = Vectors(path, self._model, embedding.embedder.dimension, catalogue.epoch)
        self._changed = threading.Condition()
        self._taking = threading.RLock()  # held while texts are read or vectors written; close() waits for it
        self._ready: list[Job] = []
        self._under_way: dict[bytes, list[Wanted]] = {}  # words in the hands of the model, and who waits for them
        self._closed = False
        self._stored = 0  # since memory was last given back
        self._next = catalogue.next_ordinal()
        # Ordinal: positions without a vector, as bits: a set each took 250 bytes of every note that waits.
        self._missing: dict[int, int] = defaultdict(int)
        for ordinal, position in self._vectors.keep(passages):
            self._missing[ordinal] |= 1 << position
        self._line = list(
            self._missing
        )  # ordinals whose texts were not fetched yet; the newest at the end, taken first
        embedding.add_source(self._take)
        self.wake()

    def wake(self) -> None:
        if self._missing:
            self._embedding.wake()

    def exchange(self, going: Sequence[int], coming: Sequence[IndexEntry]) -> None:
        with self._changed:
            self._vectors.drop(going)
            self._vectors.revive([entry.ordinal for entry in coming])
            for ordinal in going:
                self._missing.pop(ordinal, None)
            for entry in coming:
                self._missing[entry.ordinal] = sum(1 << passage.position for passage in entry.passages)
                self._line.append(entry.ordinal)
                self._next = max(self._next, entry.ordinal + 1)
            self._changed.notify_all()
        self.wake()

    # -- embedding ----------------------------------------------------------------------------------------------

    def _take(self) -> Job | None:
        with self._taking:
            while not self._ready and not self._closed:
                with self._changed:
                    page = [self._line.pop() for _ in range(min(PAGE, len(self._line)))]
                if not page:
                    return None
                try:
                    self._ready = self._jobs(page)
                except Exception:  # any failure: these passages still need their vectors
                    self._line[:0] = page
                    raise
            return None if self._closed else self._ready.pop()

    def _jobs(self, ordinals: list[int]) -> list[Job]:
        """One job for all passages of equal words; none for words whose vector is known or being made."""
        texts: dict[bytes, str] = {}
        wanted: list[Wanted] = []
        for entry in self._catalogue.entries(ordinals):
            for passage in entry.passages:
                if self._is_missing(entry.ordinal, passage.position):
                    text = model_text(entry.document.title, passage)
                    key = key_of(self._model, text)
                    texts[key] = text
                    wanted.append(Wanted(entry.ordinal, passage.position, key))
        unknown = self._vectors.reuse(wanted)
        left = set(unknown)
        self._have([each for each in wanted if each not in left])
        fresh: dict[bytes, list[Wanted]] = {}
        for each in unknown:
            waiting = self._under_way.get(each.key)
            if waiting is None:
                waiting = fresh[each.key] = self._under_way[each.key] = []
            waiting.append(each)
        return [self._job(texts[key], key, group) for key, group in fresh.items()]

    def _job(self, text: str, key: bytes, group: list[Wanted]) -> Job:
        def done(vector: Floats) -> None:
            with self._taking:
                self._under_way.pop(key, None)
                if self._closed:
                    return
                for each in group:
                    if self._is_missing(each.ordinal, each.position):
                        self._vectors.add(each, vector)
                self._have(group)

        def put_back() -> None:
            with self._taking, self._changed:
                self._under_way.pop(key, None)
                self._line[:0] = [each.ordinal for each in group]

        return Job(text, done, put_back)

    def _have(self, group: Sequence[Wanted]) -> None:
        with self._changed:
            for each in group:
                left = self._missing.get(each.ordinal, 0) & ~(1 << each.position)
                if left:
                    self._missing[each.ordinal] = left
                else:
                    self._missing.pop(each.ordinal, None)
            self._stored += len(group)
            drained = not self._missing
            self._changed.notify_all()
        if drained and group:
            self._catalogue.all_embedded(self._next)
            self._vectors.compact()
            if self._stored >= BULK:
                self._stored = 0
                self._embedding.embedder.give_back()

    def missing(self) -> int:
        with self._changed:
            return sum(map(int.bit_count, self._missing.values()))

    def _is_missing(self, ordinal: int, position: int) -> bool:
        return bool(self._missing.get(ordinal, 0) >> position & 1)

    def embedded(self, deadline: float) -> str:
        """Wait for the passages that are missing now; returns why some still are, or nothing."""
        self._embedding.start()
        if not self._missing:
            return ""
        with self._embedding.awaited(), self._changed:
            target = set(self._missing)
            while True:
                left = sum(self._missing.get(ordinal, 0).bit_count() for ordinal in target)
                reason = self._hopeless(left, deadline - time.monotonic())
                if not left or reason:
                    return reason if left else ""
                self._changed.wait(min(0.05, max(0.0, deadline - time.monotonic())))

    def _hopeless(self, left: int, seconds: float) -> str:
        """Why waiting will not help: then the question is answered at once with what there is."""
        if self._embedding.failure:
            return MODEL_UNUSABLE
        if self._embedding.paused:
            return f"embedding is paused; {left} passages have no vector yet"
        if left > self._embedding.rate * seconds:
            return f"{left} passages have no vector yet"
        return ""

    # -- searching ----------------------------------------------------------------------------------------------

    def nearest(
        self, vector: Floats, mask: Mask, count: int, also: Sequence[int], documents: int
    ) -> tuple[Cosines, Cosines]:
        return self._vectors.nearest(vector, count, mask, also, documents)

    def around(self, ordinal: int, mask: Mask, count: int, passages: int) -> dict[int, float]:
        """Other documents → their nearest passage to one of the first few of this one."""
        found = dict[int, float]()
        for vector in self._vectors.own(ordinal, self._embedding.embedder.dimension)[:passages]:
            for (other, _), similarity in self._vectors.nearest(vector, count, mask)[0].items():
                if other != ordinal:
                    found[other] = max(similarity, found.get(other, 0.0))
        return found

    # -- upkeep -------------------------------------------------------------------------------------------------

    def verify(self) -> None:
        if not self._vectors.verify():
            _log.warning("the vectors in %s were not what was written, and were written again", self._path.parent.name)

    def compact(self) -> None:
        self._vectors.compact(always=True)

    def size(self) -> int:
        return self._vectors.size()

    def close(self) -> None:
        """A text in the hands of the model may still come back: it is not taken any more. What is being fetched or
        stored is waited for, since the files are closed next."""
        self._embedding.remove_source(self._take)
        with self._taking, self._changed:
            self._closed = True
