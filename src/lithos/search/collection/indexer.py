"""The one thread that changes a collection: batches of acknowledged changes, recovery after a kill, healing."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lithos.core.text import estimate_tokens
from lithos.errors import Damaged, LithosError, Unavailable
from lithos.search.collection.catalogue import Catalogue, FilterFields, IndexEntry, KnownDocument
from lithos.search.collection.code_sample import CodeSample
from lithos.search.collection.columns import Columns
from lithos.search.collection.passages import cut_passages
from lithos.search.collection.rebuild import TextGenerations
from lithos.search.collection.schema import CollectionSchema
from lithos.search.collection.sequences import Sequences
from lithos.search.collection.task import IndexTask
from lithos.search.collection.unindexed import AT_ONCE, IN_BULK, UnindexedChange, UnindexedChanges
from lithos.search.embedding.background import Embedding
from lithos.search.fusion import Beside
from lithos.search.malloc import give_back_memory
from lithos.search.text.fulltext import FullText
from lithos.search.text.parted_index import part_of
from lithos.search.values import Document, DocumentChange, Passage, Remove
from lithos.search.vectors.semantic import SemanticIndex
from lithos.storage import Faults, NoFaults, derived_folder, discard, folder_size, quarantine

_log = logging.getLogger(__name__)
BATCH = 1000  # changes that make a flood
LARGEST_BATCH = 4000  # changes in one commit: each makes a segment, and merging them takes as long as writing them
MOST_UNINDEXED = 4096  # `put` blocks above it: unindexed changes are held in memory
# Seconds without a change until those that came are indexed, and at most while they keep coming; a question does not
# wait so long. A commit takes some 40 ms of CPU, for one as for a hundred. Of a flood more comes.
GROUPING, FLOOD_GROUPING = (0.1, 0.5), (5.0, 30.0)
RETRY = (1.0, 30.0)
VERIFY_EVERY = 600.0  # every file: reads them all
MERGE_AFTER = 5.0  # seconds after a commit and between two parts that are merged: each takes up to a second
COMPARE_EVERY = 60.0  # what the engine holds against the catalogue: 0.1 s at 100,000 documents
LAST_SECONDS = 5.0
CHANGED = "files of the index were changed and are being checked"
DELETED = "the index was deleted and is being rebuilt"


class Indexer:
    def __init__(
        self, folder: Path, shape: CollectionSchema, embedding: Embedding, vectors: Path, faults: Faults | None = None
    ) -> None:
        self._folder = folder
        self._shape = shape
        self._embedding = embedding
        self._vectors_path = vectors
        self._faults = faults or NoFaults()
        self._texts = TextGenerations(folder, shape, self._faults)
        self._changed = threading.Condition()
        self._opening = threading.RLock()
        self._unindexed = UnindexedChanges()
        self._sequence = 0
        self._put_at = 0.0
        self._indexed = 0  # changes since memory was last given back
        self._hurried = 0  # questions that wait for the next commit
        self._is_flood = False  # the last commit was one of many changes: what is left of them waits for more
        self._tasks: list[IndexTask] = []
        self._known: dict[str, KnownDocument] = {}
        self._sequences = Sequences()
        self._catalogue: Catalogue | None = None
        self._fulltext: FullText | None = None
        self._semantic: SemanticIndex | None = None
        self.columns = Columns(self._filter_fields)
        self._thread: threading.Thread | None = None
        self._closed = False
        self._give_up_at = float("inf")
        self._lost: list[Callable[[], None]] = []
        self.problems: dict[str, str] = {}  # engine: why its answers are incomplete
        self._verify_at = time.monotonic() + VERIFY_EVERY
        self._compare_at = time.monotonic() + COMPARE_EVERY
        self._merge_at = float("inf")
        self._failures = 0  # commits in a row
        self._code_sample = CodeSample()
        self.starts = 0  # how often it began empty: a new or damaged catalogue, or cleared

    # -- what the owner does ------------------------------------------------------------------------------------

    def put(self, changes: Iterable[DocumentChange]) -> int:
        with self._changed:
            idle = not self._unindexed  # else the thread gathers already: it need not wake for each change
            for change in changes:
                while len(self._unindexed) >= MOST_UNINDEXED and not self._closed:
                    self._start()
                    self._changed.notify_all()
                    self._changed.wait()
                self._sequence += 1
                self._unindexed.put(self._sequence, change, self.cut)
            if self._closed:
                raise Unavailable("the index is closed", hint="Call again: the host is restarting.")
            self._put_at = time.monotonic()
            self._start()
            if idle or len(self._unindexed) >= BATCH:
                self._changed.notify_all()
            return self._sequence

    def known(self) -> dict[str, str]:
        self.catalogue()
        with self._changed:
            hashes = {id: known.hash for id, known in self._known.items()}
            for id, unindexed in self._unindexed.items():
                if isinstance(unindexed.change, Document):
                    hashes[id] = unindexed.change.hash
                else:
                    hashes.pop(id, None)
            return hashes

    def on_lost(self, tell: Callable[[], None]) -> None:
        self._lost.append(tell)

    def run(self, work: Callable[[], None]) -> None:
        """In the indexer's thread, after what waits now; returns when it is done."""
        task = IndexTask(work)
        with self._changed:
            self._tasks.append(task)
            self._start()
            self._changed.notify_all()
        task.wait()

    def close(self) -> None:
        """Index what still waits, for a few seconds; what is left the owner finds missing at the next start."""
        with self._changed:
            self._closed = True
            self._give_up_at = time.monotonic() + LAST_SECONDS
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        with self._opening:
            if self._semantic is not None:
                self._semantic.close()
            if self._fulltext is not None:
                self._fulltext.close()
            if self._catalogue is not None:
                self._catalogue.close()

    # -- what a question needs ----------------------------------------------------------------------------------

    def unindexed(self) -> dict[str, UnindexedChange]:
        with self._changed:
            return dict(self._unindexed)

    def indexed(self, deadline: float, *, most: int = 0) -> bool:
        """Wait until at most `most` of the changes acknowledged before this call are not indexed, large ones apart."""
        with self._changed:
            if self._unindexed.are_few(self._sequence, most):  # waking the thread for nothing would cost a switch to it
                return True
            target = self._sequence
            self._hurried += 1
            self._changed.notify_all()
            try:
                while not self._unindexed.are_few(target, most):
                    if self._closed or not self._changed.wait(max(0.0, deadline - time.monotonic())):
                        return False
            finally:
                self._hurried -= 1
        return True

    def large_unindexed(self) -> int:
        with self._changed:
            return sum(each.large for each in self._unindexed.values())

    def files_changed(self) -> str:
        """The damage that other programs did to our files under us, or "". A system call for each file, 2 µs."""
        with self._opening:
            there = self._catalogue is None or os.path.lexists(f"{self._folder}/catalogue.db")
            if there and (self._fulltext is None or self._fulltext.is_untouched()):
                return ""
            changed = there and self._fulltext is not None and self._fulltext.exists()
            return CHANGED if changed else DELETED

    def documents_known(self) -> int:
        self.catalogue()
        return len(self._known)

    def passages_known(self) -> int:
        self.catalogue()
        with self._changed:
            return sum(known.passages for known in self._known.values())

    def passages_missing(self) -> int:
        return self._semantic.missing() if self._semantic is not None else 0

    def code_share(self) -> float:
        """How much of the documents is program code."""
        catalogue = self.catalogue()
        with self._changed:
            ordinals = self._code_sample.wanted(self._known)
        if ordinals:
            self._code_sample.take(catalogue.entries(ordinals))
        return self._code_sample.share

    def ordinal(self, id: str) -> int | None:
        self.catalogue()
        with self._changed:
            known = self._known.get(id)
            return None if known is None else known.ordinal

    def beside(self) -> Beside | None:
        """The documents before and after each that is part of a sequence; None: no document is."""
        return self._sequences.beside_each if self._sequences else None

    def is_live(self, ordinal: int, id: str) -> bool:
        """Whether this is the version that counts; one just replaced may still be in an engine's hands."""
        with self._changed:
            known = self._known.get(id)
            return known is not None and known.ordinal == ordinal

    def size(self) -> int:
        return folder_size(self._folder) + folder_size(self._vectors_path.parent)

    def stamp(self) -> tuple[int, int] | None:
        """Equal stamps: the same questions have the same answers. None: something is missing or waits."""
        with self._changed:
            settled = not self._unindexed and not self.problems and self._semantic and not self._semantic.missing()
            return (self._sequence, self.starts) if settled else None

    def is_empty(self) -> bool:
        with self._changed:
            return self._catalogue is not None and not (self._known or self._unindexed or self.problems)

    def catalogue(self) -> Catalogue:
        with self._opening:
            if self._catalogue is None:
                try:
                    self._catalogue = self._opened()
                except Damaged as damage:
                    self._catalogue = self._restarted_empty(damage)
                if self._catalogue.needs_embedding():
                    self.run_soon(self._wake)
            return self._catalogue

    def fulltext(self) -> FullText:
        catalogue = self.catalogue()
        with self._opening:
            if self._fulltext is None:
                self._fulltext = self._open_text(catalogue)
            return self._fulltext

    def fulltext_and_problems(self) -> tuple[FullText, tuple[str, ...]]:
        """Both of one moment: a rebuild that ends during a question must not make the answer of the old index whole."""
        with self._opening:
            return self.fulltext(), tuple(self.problems.values())

    def semantic(self) -> SemanticIndex:
        catalogue = self.catalogue()
        with self._opening:
            if self._semantic is None:
                self._semantic = SemanticIndex(self._vectors_path, catalogue, self._embedding, self._passages())
            return self._semantic

    def semantic_if_usable(self) -> SemanticIndex | None:
        """None while the model cannot be loaded: full text goes on, and what has no vector gets one when it can."""
        try:
            meaning = self.semantic()
        except LithosError as error:
            self.problems["meaning"] = error.message
            return None
        self.problems.pop("meaning", None)
        return meaning

    def _filter_fields(self) -> Iterable[tuple[int, FilterFields]]:
        return self.catalogue().filter_fields()

    def cut(self, document: Document) -> tuple[Passage, ...]:
        if self._shape.uncut:
            return (Passage(0, "", document.text),)
        embedder, limits = self._embedding.embedder, self._shape.limits
        limits = replace(limits, tokens=min(limits.tokens, embedder.longest))
        try:
            return tuple(cut_passages(document.title, document.text, embedder.count, limits))
        except LithosError:  # no tokenizer, so no model either; the next model cuts everything again
            return tuple(cut_passages(document.title, document.text, estimate_tokens, limits))

    # -- opening and recovery -----------------------------------------------------------------------------------

    def _opened(self) -> Catalogue:
        derived_folder(self._folder)
        catalogue = Catalogue(self._folder / "catalogue.db", self._shape.layout(self._embedding.embedder.id))
        try:
            known = {each.id: each for each in catalogue.known()}
        except Damaged:
            catalogue.close()
            raise
        with self._changed:
            self._known = known
            self.starts += not known
            self._sequences = Sequences((each.ordinal, each.sequence) for each in known.values())
        return catalogue

    def _restarted_empty(self, damage: Damaged) -> Catalogue:
        """Move the damaged files aside and start empty: all of it is derived, and the owner applies it again."""
        _log.warning("the index of %s is damaged and starts empty: %s", self._shape.name, damage)
        self.problems["documents"] = "the index was damaged and is being rebuilt"
        quarantine(self._folder, self._folder.with_name(f"{self._folder.name}.damaged"))
        return self._opened()

    def _open_text(self, catalogue: Catalogue) -> FullText:
        try:
            fulltext = self._texts.recovered(catalogue, self._passages())
            if fulltext.worn():
                self.run_soon(self.rebuild_text)
            return fulltext
        except Damaged as damage:
            return self._rebuild_text_later(damage)

    def _rebuild_text_later(self, damage: Damaged) -> FullText:
        """Move the damaged index aside; an empty one serves until the thread has rebuilt it from the catalogue."""
        _log.warning("the full-text index of %s is rebuilt: %s", self._shape.name, damage)
        self.problems["words"] = "the full-text index was damaged and is being rebuilt"
        catalogue = self.catalogue()
        self._forget_moving()
        self._texts.move_damaged_aside(catalogue)
        self.run_soon(self.rebuild_text)
        return self._texts.empty(catalogue)

    def rebuild_text(self) -> None:
        """Rebuild the full-text index from the catalogue, beside the old one, which answers until then."""
        catalogue = self.catalogue()
        with self._changed:
            ordinals = sorted(known.ordinal for known in self._known.values())
        made = self._texts.rebuilt(catalogue, ordinals)
        with self._opening:
            catalogue.use_generation(catalogue.generation() + 1)
            self._fulltext = made
            self.problems.pop("words", None)
        self._texts.discard_others(catalogue.generation())

    def run_soon(self, work: Callable[[], None]) -> None:
        with self._changed:
            self._tasks.append(IndexTask(work))
            self._start()
            self._changed.notify_all()

    def _wake(self) -> None:
        if meaning := self.semantic_if_usable():
            meaning.wake()

    # -- the thread ---------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._serve, name=f"index of {self._shape.name}", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        pause = RETRY[0]
        while (step := self._next_step()) is not None:
            try:
                step()
                self.problems.pop("index", None)
                pause = RETRY[0]
                self._failures = 0
            except Exception as error:  # noqa: BLE001 the thread must live; the changes still wait
                self._step_failed(error, pause)
                pause = min(2 * pause, RETRY[1])

    def _next_step(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._over():
                if self._tasks:
                    return self._tasks.pop(0).run
                if self._unindexed:
                    batch = self._gathered()
                    return partial(self._index, batch)
                if time.monotonic() >= self._verify_at:
                    return self.verify
                if time.monotonic() >= self._compare_at:
                    return self.compare
                if time.monotonic() >= self._merge_at:
                    return self.merge_part
                due = min(self._verify_at, self._compare_at, self._merge_at)
                self._changed.wait(max(0.0, due - time.monotonic()))
        return None

    def _over(self) -> bool:
        done = not self._unindexed and not self._tasks
        return self._closed and (done or time.monotonic() > self._give_up_at or "index" in self.problems)

    def _gathered(self) -> dict[str, UnindexedChange]:
        began = time.monotonic()
        while not (self._hurried or self._tasks or self._closed or self._unindexed.fill(LARGEST_BATCH, IN_BULK)):
            pause, longest = FLOOD_GROUPING if self._is_flood or len(self._unindexed) >= BATCH else GROUPING
            # Since `began`, too: a writer that waited for room has put nothing for a while.
            rest = min(max(self._put_at, began) + pause, began + longest) - time.monotonic()
            if rest <= 0:
                break
            self._changed.wait(rest)
        batch = self._unindexed.batch(LARGEST_BATCH, AT_ONCE if self._hurried else IN_BULK)
        self._is_flood = len(batch) >= BATCH
        return batch

    def _step_failed(self, error: Exception, pause: float) -> None:
        _log.warning("the index of %s: %s", self._shape.name, error, exc_info=not isinstance(error, LithosError))
        self.problems["index"] = f"changes wait to be indexed: {str(error)[:200]}"
        self._failures += 1
        try:
            if isinstance(error, Damaged) or self._failures == 1:  # files may be gone
                self.verify()
            self._undo_half_batch()
            if self._failures == 2:  # once until it succeeds again: if it still fails then, the index is not the cause
                self._rebuild_if_damaged(error)
        except Exception as second:  # noqa: BLE001 the thread must live; the next try repairs first
            _log.warning("the index of %s could not be repaired: %s", self._shape.name, second)
            self._rebuild_if_damaged(second)
        with self._changed:
            if not self._closed:
                self._changed.wait(pause)

    def _rebuild_if_damaged(self, error: Exception) -> None:
        """A commit that fails twice is damage, under any name of the engine; a full disk is not."""
        if isinstance(error, Unavailable):
            return
        try:
            self._heal_words(Damaged(f"it cannot be written: {str(error)[:200]}"))
        except Exception:  # noqa: BLE001 the thread must live; tried again after the pause
            _log.exception("the index of %s could not be rebuilt", self._shape.name)

    def _undo_half_batch(self) -> None:
        """A batch failed half way: forget both versions of its documents; the changes still wait and come again."""
        moving = self.catalogue().unfinished()
        if moving:
            self.fulltext().write(sorted(moving), ())
            self._forget_moving()

    def _forget_moving(self) -> None:
        catalogue = self.catalogue()
        moving = set(catalogue.unfinished())
        catalogue.sweep()
        with self._changed:
            self._known = {id: known for id, known in self._known.items() if known.ordinal not in moving}
            self._sequences.remove(moving)

    def _index(self, batch: dict[str, UnindexedChange]) -> None:
        catalogue, fulltext = self.catalogue(), self.fulltext()
        entries, going = self._prepared(batch, catalogue.next_ordinal())
        if entries or going:
            catalogue.begin(entries, going)
            self._faults.at("search.begun")
            fulltext.write(going, entries)
            self._faults.at("search.committed")
            catalogue.finish()
            self._faults.at("search.finished")
        self._publish(batch, entries, going)

    def _prepared(self, batch: dict[str, UnindexedChange], ordinal: int) -> tuple[list[IndexEntry], list[int]]:
        """Entries to add and ordinals to remove; a document that is there already, equal in hash, does neither."""
        entries: list[IndexEntry] = []
        going: list[int] = []
        for id, unindexed in batch.items():
            change, known = unindexed.change, self._known.get(id)
            if known is not None and isinstance(change, Document) and change.hash == known.hash:
                continue
            if known is not None:
                going.append(known.ordinal)
            if isinstance(change, Document):
                entries.append(IndexEntry(ordinal + len(entries), change, unindexed.passages))
        return entries, going

    def _publish(self, batch: dict[str, UnindexedChange], entries: Sequence[IndexEntry], going: Sequence[int]) -> None:
        if (entries or self._semantic is not None) and (meaning := self.semantic_if_usable()):
            meaning.exchange(going, entries)
        self.columns.add((entry.ordinal, FilterFields.of(entry.document)) for entry in entries)
        worn = self.fulltext().worn()
        if self._shape.parted:
            self._merge_at = time.monotonic() + MERGE_AFTER
        with self._changed:
            for id, unindexed in batch.items():
                if isinstance(unindexed.change, Remove):
                    self._known.pop(id, None)
            self._sequences.remove(going)
            for entry in entries:
                self._known[entry.document.id] = KnownDocument.of(entry)
                self._sequences.add(entry.ordinal, entry.document.sequence)
            for id, unindexed in batch.items():
                if self._unindexed.get(id) is unindexed:
                    del self._unindexed[id]
            self._indexed += len(batch)
            if not self._unindexed:
                self.problems.pop("documents", None)
                if worn:
                    self._tasks.append(IndexTask(self.rebuild_text))
            if self._indexed >= (MOST_UNINDEXED if self._unindexed else BATCH):
                self._indexed = 0
                self._tasks.append(IndexTask(give_back_memory))
            live = {known.ordinal for known in self._known.values()} if self.columns.is_worn(len(self._known)) else None
            self._changed.notify_all()
        if live is not None:  # not under that lock: columns that are being made hold theirs and wait for it
            self.columns.keep_paths(live)

    # -- healing ------------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Look at every file; heal what is not as it was written. In the indexer's thread."""
        self._verify_at = time.monotonic() + VERIFY_EVERY
        try:
            self.catalogue().verify()
        except Damaged as damage:
            self._restart_empty(damage)
            return
        if self._fulltext is not None:
            try:
                self._fulltext.verify()
            except Damaged as damage:
                self._heal_words(damage)
        if self._semantic is not None:
            self._semantic.verify()

    def difference(self) -> str | None:
        found: list[str] = []

        def look() -> None:
            try:
                self.fulltext().compare(self._passages())
            except Damaged as damage:
                found.append(damage.message)

        self.run(look)
        return found[0] if found else None

    def compare(self) -> None:
        """Heal a text index that does not hold exactly what the catalogue does. In the indexer's thread."""
        self._compare_at = time.monotonic() + COMPARE_EVERY
        if self._fulltext is None:
            return
        try:
            self._fulltext.compare(self._passages())
        except Damaged as damage:
            self._heal_words(damage)

    def _passages(self) -> dict[int, int]:
        with self._changed:
            return {known.ordinal: known.passages for known in self._known.values()}

    def _heal_words(self, damage: Damaged) -> None:
        with self._opening:
            self._fulltext = self._rebuild_text_later(damage)

    def _restart_empty(self, damage: Damaged) -> None:
        with self._opening:
            if self._catalogue is not None:
                self._catalogue.close()
            self._fulltext = None
            if self._semantic is not None:
                self._semantic.close()
                self._semantic = None
            self._catalogue = self._restarted_empty(damage)
            self.columns = Columns(self._filter_fields)
        for tell in self._lost:
            tell()

    # -- forgetting ---------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Nothing is known any more; vectors stay as a store of known words until they are compacted."""
        catalogue = self.catalogue()
        self.starts += 1  # first of all: a question under way must see it when it ends
        catalogue.clear()
        with self._opening:
            self._fulltext = self._texts.empty(catalogue)
        self._texts.discard_others(catalogue.generation())
        if meaning := self.semantic_if_usable():
            meaning.exchange([known.ordinal for known in self._known.values()], ())
        with self._changed:
            self._known, self._sequences = {}, Sequences()

    def erase(self, ordinals: Iterable[int]) -> None:
        """Rewrite what held these removed versions, so that no byte of them stays in a file."""
        if self._shape.parted:
            self._rewrite_parts({part_of(ordinal) for ordinal in ordinals})
        else:
            self.rebuild_text()
        if meaning := self.semantic_if_usable():
            meaning.compact()
        self.catalogue().truncate_log()
        discard(self._folder / "damaged")
        discard(self._folder.with_name(f"{self._folder.name}.damaged"))

    def merge_part(self) -> None:
        """Write one full part of the text index again, which came in several commits. In the indexer's thread."""
        first = self.fulltext().part_in_pieces(self.catalogue().next_ordinal())
        if first is not None:
            self._rewrite_parts([part_of(first)])
        self._merge_at = float("inf") if first is None else time.monotonic() + MERGE_AFTER

    def _rewrite_parts(self, parts: Iterable[range]) -> None:
        fulltext, catalogue = self.fulltext(), self.catalogue()
        for part in parts:
            with self._changed:
                living = sorted(known.ordinal for known in self._known.values() if known.ordinal in part)
            fulltext.rewrite_part(part.start, list(catalogue.entries(living)))
