"""Collection: full text, vectors and filter fields under one small interface."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lithos.errors import Damaged, Unavailable
from lithos.search.collection.answers import Answers, Finish, KeptAnswer
from lithos.search.collection.indexer import Indexer
from lithos.search.collection.passages import PassageLimits, model_text
from lithos.search.collection.query_run import QueryRun
from lithos.search.collection.schema import CollectionSchema
from lithos.search.embedding.background import Embedding
from lithos.search.malloc import collect_garbage_rarely, free_large_blocks_at_once
from lithos.search.values import (
    OPEN,
    CollectionStatus,
    Document,
    DocumentChange,
    Neighbour,
    Passage,
    Query,
    Remove,
    SearchResult,
    Where,
)
from lithos.storage import Faults, derived_folder, restore_access_below

_log = logging.getLogger(__name__)
WAIT = 5.0
NOTHING = SearchResult((), relevant=False)
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
    uncut: bool = False,
    faults: Faults | None = None,
) -> Collection:
    """The collection `name`, derived, under `.tantivy` and `.vectors`; nothing heavy is loaded before the first use.

    `keywords` and `numbers` name its filter fields, `wait` bounds how long a question waits for what is pending.
    `parted`: documents are erased one at a time, and that must not cost the whole text index. `uncut`:
    each is one passage, and its `body` is found by words.
    """
    free_large_blocks_at_once()
    collect_garbage_rarely()
    shape = CollectionSchema(
        name, frozenset(keywords), tuple(sorted(numbers)), limits or PassageLimits(), parted, uncut
    )
    vectors = derived_folder(derived_folder(data_dir / ".vectors") / name) / "rows.bin"
    text = derived_folder(data_dir / ".tantivy") / name
    for folder in (vectors.parent, text):
        restore_access_below(folder)
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
        self._answers = Answers()

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
        self._answers.forget()
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
        return self.begin(query)()

    def begin(self, query: Query) -> Finish:
        """Start the model in another thread and search full text meanwhile; the result finishes the question.

        Who asks several collections begins them all first: their full text then runs beside the one run of the model.
        """
        stamp = None if query.explain else self._indexer.stamp()
        if not query.explain and self._indexer.is_empty():  # nothing to find, and nothing that damage could have lost
            return lambda least=0.0: NOTHING
        damage = self._indexer.files_changed()
        kept = None if stamp is None or damage else self._answers.get(query, stamp)
        if kept is not None:
            known = kept
            return lambda least=0.0: known.found if least >= known.least else self._finished(None, query, least)
        run = self._started(query, damage)

        def finish(least: float = 0.0) -> SearchResult:
            found = self._finished(run, query, least, damage)
            if stamp is not None and not found.degraded and self._indexer.stamp() == stamp:
                self._answers.keep(query, KeptAnswer(stamp, least, found))
            return found

        return finish

    def _run(self, query: Query, damage: str) -> QueryRun:
        run = QueryRun(self._indexer, self._embedding, self._shape, query, time.monotonic() + self._wait, damage)
        run.start()
        return run

    def _started(self, query: Query, damage: str) -> QueryRun | None:
        """None where an engine was exchanged under the question: it is asked once more when it is finished."""
        with contextlib.suppress(Unavailable, Damaged):
            return self._run(query, damage)
        return None

    def _finished(self, run: QueryRun | None, query: Query, least: float, damage: str = "") -> SearchResult:
        """`damage` was found when the question began: its answer says so, also where the index was healed meanwhile."""
        with contextlib.suppress(Unavailable, Damaged):
            if run is not None:
                return run.finish(least)
        try:
            return self._run(query, self._indexer.files_changed() or damage).finish(least)
        except (Unavailable, Damaged) as failure:
            _log.warning("a question failed in %s: %s", self._shape.name, failure)
            self._indexer.run_soon(self._indexer.verify)
            return SearchResult(
                (), False, degraded=f"the index cannot be read and is being repaired: {failure.message}"
            )
