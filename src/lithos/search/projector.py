"""Projector: keeps a collection equal to its owner's rows; one implementation for every owner (notes, thoughts …).

The owner's rows are the truth. An owner that has the documents at hand calls `apply` right after its own commit; one
whose writers must not wait calls `wake`, and the projector reads the feed behind the acknowledgement. After a kill,
damage or a rebuild, `resume` compares what the collection holds with the owner's rows and applies the difference.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from lithos.errors import CursorExpired, LithosError
from lithos.search.collection.answers import Finish
from lithos.search.collection.collection import Collection
from lithos.search.values import DocumentChange, Query, SearchResult
from lithos.storage import Followers, JournalEntry

PAUSE = 0.2  # seconds without a change before the feed is read: indexing would slow a burst of writes
MOST_PAUSES = 25  # a burst without pauses is read every five seconds
RETRY = 5.0
_log = logging.getLogger(__name__)


class Feed(Protocol):
    """The owner's side: what a collection that holds certain documents still lacks."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while a batch is read and applied, and by the owner's own `apply`: no older copy overwrites a newer."""

    def restart(self, known: Mapping[str, str]) -> bool:
        """The collection holds `known` (id → hash). Later batches bring it to the owner's rows; False: those are
        incomplete themselves, and the owner calls `resume` when they are not."""

    def next_batch(self) -> Sequence[DocumentChange]:
        """The next changes, called under `lock`; empty when the collection has everything."""


class ComparedFeed(ABC):
    """A feed of rows that are compared as a whole: a subclass lists in `_missing` what the collection lacks."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._batches: Iterator[Sequence[DocumentChange]] = iter(())

    @property
    def lock(self) -> AbstractContextManager[Any]:
        return self._lock

    def restart(self, known: Mapping[str, str]) -> bool:
        self._batches = self._missing(dict(known))
        return True

    def next_batch(self) -> Sequence[DocumentChange]:
        return next((batch for batch in self._batches if batch), [])

    @abstractmethod
    def _missing(self, known: dict[str, str]) -> Iterator[Sequence[DocumentChange]]:
        """Batches that bring a collection with these documents (id → hash) to the rows."""


class JournalFeed(ComparedFeed):
    """A feed of rows whose changes a journal lists; they are compared as a whole once, and after a loss."""

    def __init__(self, followers: Followers) -> None:
        super().__init__()
        self._followers = followers
        self._cursor: int | None = None
        self._read_at: int | None = None  # the commits of the journal when it was read to its end

    def restart(self, known: Mapping[str, str]) -> bool:
        self._cursor, self._read_at = self._followers.read(None).cursor, None
        return super().restart(known)

    def next_batch(self) -> Sequence[DocumentChange]:
        return super().next_batch() or self._journalled()

    def _journalled(self) -> Sequence[DocumentChange]:
        found: Sequence[DocumentChange] = ()
        while not found and not self._is_read():
            commits = self._followers.commits()
            page = self._followers.read(self._cursor)
            found, self._cursor = self._changed(page.entries) if page.entries else (), page.cursor
            if not page.more:
                self._read_at = commits
            if not page.entries:
                break
        return found

    def _is_read(self) -> bool:
        return self._read_at is not None and self._read_at == self._followers.commits()

    @abstractmethod
    def _changed(self, entries: Sequence[JournalEntry]) -> Sequence[DocumentChange]:
        """The changes of the collection that these entries are about."""


class Projector:
    def __init__(self, collection: Collection, feed: Feed, name: str, *, compares: bool = True) -> None:
        """`compares`: the owner calls `resume` at every start; until then answers are degraded."""
        self.collection = collection
        self._feed = feed
        self._name = name
        self._restart = True  # what the collection holds was not compared yet
        self._behind = False
        self._comparing = -1  # the collection's `starts` at the last comparison; -1: with rows that were incomplete
        self._filled = -1 if compares else None  # the `starts` that it has been filled for; None: as found
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        collection.on_lost(self.lost)

    def start(self) -> None:
        """Read the feed in the background whenever `wake` or damage asks for it."""
        if self._thread is None and not self._stopping:
            self._thread = threading.Thread(target=self._run, name=f"{self._name} to search", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def apply(self, changes: Iterable[DocumentChange]) -> None:
        """The owner committed these. It holds the feed's lock."""
        self.collection.apply(changes)

    def wake(self) -> None:
        """The owner committed something that the feed will tell."""
        self._behind = True
        if not self._wake.is_set():
            self._wake.set()

    def lost(self) -> None:
        """The collection was damaged and starts empty: it is filled again in the background, in any process."""
        self._restart = True
        self.start()
        self.wake()

    def busy(self) -> bool:
        return self._behind

    def query(self, query: Query) -> SearchResult:
        """As `Collection.query`; also degraded while the collection is being filled, before or during the question."""
        return self.begin(query)()

    def begin(self, query: Query) -> Finish:
        starts, filled = self.collection.starts, self._filled
        if filled is None:
            self._filled = filled = starts
        begun = self.collection.begin(query)

        def finish(least: float = 0.0) -> SearchResult:
            found = begun(least)
            if filled == starts == self.collection.starts:
                return found
            reason = f"{self._name}: the index is being rebuilt"
            return replace(found, degraded="; ".join(filter(None, [reason, found.degraded])))

        return finish

    def catch_up(self) -> int:
        """Apply all that the feed has now; the number of changes. A query that must see every write calls it first."""
        self._behind = False
        applied = 0
        while not self._stopping and (count := self._apply_batch()):
            applied += count
        return applied

    def resume(self) -> int:
        """Compare with the owner's rows and apply the difference; the number of changes it took."""
        self._restart = True
        return self.catch_up()

    def rebuild(self) -> None:
        """Empty the collection and apply everything again."""
        with self._feed.lock:
            self.collection.rebuild(())
            self._restart = True
        self.catch_up()

    def purge(self, ids: Iterable[str]) -> None:
        """Remove documents so that no byte of them stays in an index."""
        with self._feed.lock:
            self.collection.purge(ids)

    def _apply_batch(self) -> int:
        with self._feed.lock:
            if self._restart:
                self._restart = False
                starts = self.collection.starts  # asked before `known`: a loss in between has another number
                self._comparing = starts if self._feed.restart(self.collection.known()) else -1
            try:
                changes = self._feed.next_batch()
            except CursorExpired:  # more has changed than the journal keeps: compare once more
                self._restart = True
                return 1
            if changes:
                self.collection.apply(changes)
            else:
                self._filled = self._comparing
            return len(changes)

    def _run(self) -> None:
        while not self._stopping:
            self._wait_for_a_pause()
            try:
                self.catch_up()
            except LithosError as error:
                _log.warning("%s could not be passed to search: %s", self._name, error.message)
                self._behind = True
                if not self._stopping:
                    self._wake.wait(RETRY)
                    self._wake.set()

    def _wait_for_a_pause(self) -> None:
        self._wake.wait()
        for _ in range(MOST_PAUSES):
            self._wake.clear()
            if self._stopping or not self._wake.wait(PAUSE):
                return
