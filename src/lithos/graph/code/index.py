"""Index: keeps one root's graph equal to its files. A look at the files decides; events are only hints.

A scan and a hint end in the same code: read what may have changed, parse it in the child, apply it, resolve. An update
therefore ends in the graph of a fresh build, also after a kill: what was not resolved is marked in the store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice

from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound, Unavailable
from lithos.graph.code.cards import card_number, documents
from lithos.graph.code.languages import language_of
from lithos.graph.code.parser import Parser, Source
from lithos.graph.code.roots.tree import Stamp, Tree
from lithos.graph.code.store import NO_GRAMMAR, PARSED, UNPARSED, Parsed, Store
from lithos.search import Document, DocumentChange, Projector, Remove

_log = logging.getLogger("lithos.code")
AT_ONCE = 100  # files in one transaction of a large change; a smaller change is one transaction with its edges
PATIENCE = 2.0  # seconds that a question waits for its file while another update is under way
RESOLVED_AT_ONCE = 200  # files in one transaction: their edges are held in memory; 1,000 took no less CPU
_IGNORE_FILES = (".gitignore", ".git/info/exclude", ".git/index", ".git/HEAD")


@dataclass(slots=True)
class Progress:
    state: str = "starting"  # starting, indexing, current, unavailable
    done: int = 0
    total: int = 0
    problem: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Read:
    path: str
    stamp: Stamp
    version: str
    data: bytes
    reason: str = ""


class CodeIndex:
    def __init__(self, name: str, tree: Tree, store: Store, parser: Parser, projector: Projector) -> None:
        self.name = name
        self.tree = tree
        self.store = store
        self.progress = Progress()
        self.on_change: Callable[[str, Sequence[str]], None] = lambda name, paths: None
        self._parser = parser
        self._projector = projector
        self._lock = threading.RLock()
        self._urgent: deque[tuple[str, threading.Event]] = deque()  # files that questions wait for during an update

    def reconcile(self, *, clear: bool = False) -> None:
        """Compare every file with the graph."""
        with self._lock:
            started = time.monotonic()
            if clear:
                self.store.clear()
            try:
                listed = {each.path: each.stamp for each in self.tree.listed()}
            except Unavailable as error:
                # The root is away (unmounted, moved): keep what is known and say so.
                self.progress = Progress("unavailable", problem=error.message)
                return
            known = self.store.stamps()
            self._update(listed, known, is_first=not known)
            self.progress = Progress("current", self.progress.done, self.progress.total, "", time.monotonic() - started)

    def follow(self, paths: list[str], /) -> None:
        """Look at these files or folders only."""
        if any(path.endswith(_IGNORE_FILES) for path in paths):
            self.reconcile()
            return
        with self._lock:
            try:
                listed = {each.path: each.stamp for each in self.tree.listed(paths)}
            except Unavailable as error:
                self.progress = Progress("unavailable", problem=error.message)
                return
            known = self.store.stamps_beneath(paths)
            self._update(listed, known)
            if self.progress.state != "current":
                self.progress = Progress("current", self.progress.done, self.progress.total)

    # One code for all changes

    def _update(self, listed: dict[str, Stamp], known: dict[str, tuple[Stamp, str]], *, is_first: bool = False) -> None:
        gone = [path for path in known if path not in listed]
        candidates = [path for path, stamp in listed.items() if path not in known or known[path][0] != stamp]
        if candidates or gone:
            self.progress = Progress("indexing", 0, len(candidates) + len(gone))
        changed, same = self._read_changed(candidates, known)
        few = len(candidates) + len(gone) <= AT_ONCE
        with self.store.first_build() if is_first and not few else nullcontext():
            for batch in self._parsed(changed):
                self._apply(batch, gone, resolve=few, is_first=is_first)
                gone = []
                self.progress.done += len(batch)
                self._take_urgent()
            if gone:
                self._apply([], gone, resolve=few)
            self.store.touch(same)
            self.store.resolve_stale(RESOLVED_AT_ONCE)

    def _read_changed(
        self, candidates: Iterable[str], known: dict[str, tuple[Stamp, str]]
    ) -> tuple[Iterator[_Read], list[tuple[str, Stamp]]]:
        same: list[tuple[str, Stamp]] = []

        def reads() -> Iterator[_Read]:
            for path in candidates:
                read = self._read(path)
                if read is None:
                    continue
                if path in known and known[path][1] == read.version:
                    same.append((path, read.stamp))
                else:
                    yield read

        return reads(), same

    def _read(self, path: str) -> _Read | None:
        try:
            data, version, stamp = self.tree.read(path)
        except (NotFound, Forbidden, InvalidInput):
            return None  # gone or replaced by a link since it was listed: the next look decides
        return _Read(path, stamp, version, data, self.tree.rule.refuses_content(data) or "")

    def _parsed(self, reads: Iterable[_Read]) -> Iterator[list[tuple[Parsed, list[Document]]]]:
        """The child's facts of files, in batches; those without a grammar, or left out, do not go there. Between two
        batches the child is idle, and nothing was read that is not applied."""
        iterator = iter(reads)
        while batch := list(islice(iterator, AT_ONCE)):
            for_child = [read for read in batch if not read.reason and language_of(read.path)]
            others = [read for read in batch if read.reason or not language_of(read.path)]
            yield [*map(self._without_grammar, others), *self._from_child(for_child)]

    def _without_grammar(self, read: _Read) -> tuple[Parsed, list[Document]]:
        parsed = Parsed(read.path, "", read.version, read.stamp, read.reason, NO_GRAMMAR)
        parsed.facts.lines = _lines(read.data)
        made = [] if read.reason else documents(self.name, read.path, "", read.data, parsed.facts)
        parsed.cards = {"": card_number(made[0])} if made else {}
        return parsed, made

    def _from_child(self, reads: list[_Read]) -> Iterator[tuple[Parsed, list[Document]]]:
        sources = (Source(read.path, language_of(read.path), read.data) for read in reads)
        for read, (source, facts) in zip(reads, self._parser.parse(sources), strict=True):
            parsed = Parsed(read.path, source.language, read.version, read.stamp, "", PARSED if facts else UNPARSED)
            if facts is not None:
                parsed.facts = facts
            else:
                parsed.facts.lines = _lines(read.data)
            made = documents(self.name, read.path, source.language, read.data, parsed.facts)
            prefix = len(self.name) + 1 + len(read.path) + 1
            parsed.cards = {each.id[prefix:]: card_number(each) for each in made}
            yield parsed, made

    def _apply(
        self,
        batch: Sequence[tuple[Parsed, list[Document]]],
        gone: Sequence[str],
        *,
        resolve: bool,
        is_first: bool = False,
    ) -> None:
        paths = [*(parsed.path for parsed, _ in batch), *gone]
        before = {} if is_first else self.store.card_ids(paths)
        self.store.apply([parsed for parsed, _ in batch], gone, resolve=resolve)
        made = {document.id: document for _, each in batch for document in each}
        changes: list[DocumentChange] = [
            document for id, document in made.items() if before.get(id[len(self.name) + 1 :]) != card_number(document)
        ]
        changes += [Remove(f"{self.name}:{id}") for id in before if f"{self.name}:{id}" not in made]
        if changes:
            self._projector.apply(changes)
        self.on_change(self.name, paths)

    def missing_cards(self, known: dict[str, str]) -> Iterator[list[DocumentChange]]:
        """Changes that bring search, which holds `known` (id within the root → hash), to what the graph has."""
        wanted = self.store.all_cards()
        yield [Remove(f"{self.name}:{id}") for id in known if id not in wanted]
        missing = {id.partition("#")[0] for id, card in wanted.items() if known.get(id) != f"{card:x}"}
        reads = (read for path in sorted(missing) if (read := self._read(path)) is not None)
        for batch in self._parsed(reads):
            yield [
                document
                for parsed, made in batch
                for document in made
                if wanted.get(document.id[len(self.name) + 1 :]) == card_number(document)
            ]

    def reparse(self, paths: Sequence[str]) -> None:
        """Read these files as if their text had changed."""
        with self._lock:
            reads = (read for path in paths if (read := self._read(path)) is not None)
            for batch in self._parsed(reads):
                self._apply(batch, [], resolve=True)

    def refresh(self, path: str) -> None:
        """Bring one file up to date before an answer about it. An update under way takes it in between two batches;
        what does not come within `PATIENCE` is left to that update."""
        try:
            if not self._follow_if_free(path):
                self._wait_for_turn(path)
        except LithosError:
            _log.exception("%s: %s could not be looked at", self.name, path)

    def _follow_if_free(self, path: str) -> bool:
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self.follow([path])
        finally:
            self._lock.release()
        return True

    def _wait_for_turn(self, path: str) -> None:
        done, deadline = threading.Event(), time.monotonic() + PATIENCE
        self._urgent.append((path, done))
        while not done.wait(0.05) and time.monotonic() < deadline:
            if self._follow_if_free(path):  # the update ended before it saw this path
                return

    def _take_urgent(self) -> None:
        """Take in the files that questions wait for; their edges are resolved with those of the update."""
        while self._urgent:
            path, done = self._urgent.popleft()
            try:
                reads = (read for each in self.tree.listed([path]) if (read := self._read(each.path)) is not None)
                for batch in self._parsed(reads):
                    self._apply(batch, [], resolve=False)
            except LithosError:
                _log.exception("%s: %s could not be looked at", self.name, path)
            finally:
                done.set()


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))
