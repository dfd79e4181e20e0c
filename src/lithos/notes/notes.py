"""Notes: the vault and everything that serves it, built and joined."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from lithos.core.clock import Clock
from lithos.core.ids import Ids
from lithos.core.part import Part
from lithos.errors import Unavailable
from lithos.notes.changes import NoteChanges
from lithos.notes.index import queries
from lithos.notes.index.catalogue import FOLDER, Catalogue, open_catalogue
from lithos.notes.index.identities import Identities
from lithos.notes.index.index import FileRules, Index, Progress
from lithos.notes.index.projection import search_hash
from lithos.notes.lifecycle.near_duplicates import NearDuplicates
from lithos.notes.lifecycle.promotions import Promotions
from lithos.notes.validation import Validator
from lithos.notes.vault.history import History
from lithos.notes.vault.moving import Mover
from lithos.notes.vault.reading import Reader
from lithos.notes.vault.vault import CheckToken, Vault, WriteChecks
from lithos.search import Collection
from lithos.storage import Database, Effects, Events, Root, Watcher, folder_size

REBUILD_SECONDS = 5.0  # a call waits so long for the files to be read again; 5,000 notes take as long


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How closely people's edits are followed."""

    watch: bool = True
    debounce_ms: int = 500
    scan_seconds: float = 60.0
    rebuild: bool = False


@dataclass(frozen=True, slots=True)
class NotesEnvironment:
    """Everything that the notes are built on. Injected by `app`."""

    root: Root
    data_dir: Path  # the catalogue is derived and lives in its folder `.catalogue`
    database: Database
    effects: Effects
    events: Events
    clock: Clock
    ids: Ids
    check_token: CheckToken | None = None
    collection: Collection | None = None  # what search knows of the notes; they close it
    promotions: Promotions | None = None


@dataclass
class Notes(Part):
    catalogue: Catalogue
    index: Index
    watcher: Watcher
    vault: Vault
    reader: Reader
    mover: Mover
    history: History
    validator: Validator
    changes: NoteChanges
    near_duplicates: NearDuplicates
    _identities: Identities
    _folder: Path  # of the catalogue
    _collection: Collection | None = None
    _once: threading.Lock = field(default_factory=threading.Lock)
    _is_current: bool = False
    _reindexing: threading.Thread | None = None

    def ensure_scanned(self) -> None:
        """Before a call that sees notes. A process that watches the files waits a moment for its first scan; any other
        scans them itself, once."""
        if self.watcher.is_running:
            self.watcher.wait_for_first_look()
            self._wait_for_rebuild()
            return
        if self._reindexing is not None:
            self._reindexing.join()
        if self._is_current:
            return
        with self._once:
            if not self._is_current:
                self.reindex()

    def _wait_for_rebuild(self) -> None:
        """An answer from a catalogue that is only half filled would leave notes out without a word."""
        deadline = time.monotonic() + REBUILD_SECONDS
        while self.catalogue.is_rebuilding:
            if time.monotonic() > deadline:
                raise Unavailable(
                    "the catalogue of notes was damaged and is being rebuilt from the files",
                    hint="Call again in a moment; lithos_stats shows how far it is.",
                )
            time.sleep(0.02)

    def _catalogue_lost(self) -> None:
        self._is_current = False
        self.index.announce()
        self.watcher.ask()

    def reindex(self, *, clear: bool = False) -> Progress:
        """Compare every file with what is known; `clear` rebuilds everything that is derived."""
        progress = self._reconcile(clear)
        if self.catalogue.is_rebuilding:  # damage came up behind what the scan had read already
            progress = self._reconcile(clear)
        self._is_current = progress.state != "unreachable"
        return progress

    def _reconcile(self, clear: bool) -> Progress:
        progress = self.index.reconcile(clear=clear)
        if clear and progress.state == "current" and self.index.projector is not None:
            self.index.projector.rebuild()
        else:
            self.complete()
        return progress

    def reindex_soon(self, *, clear: bool = False) -> None:
        """The same in the background; `index.progress` shows how far it is."""
        self.index.announce()
        self._is_current = True  # no other call need scan meanwhile
        if self.watcher.is_running:
            self.watcher.ask(clear=clear)
        else:
            self._reindexing = threading.Thread(target=self.reindex, kwargs={"clear": clear}, name="reindex")
            self._reindexing.start()

    def complete(self) -> int:
        return self.index.projector.resume() if self.index.projector is not None else 0

    def prune(self) -> int:
        """Drop the former paths of notes that moved long ago; returns how many."""
        return self._identities.prune()

    def search_difference(self) -> int:
        """How many notes search lacks, has otherwise, or has although they are gone."""
        if self._collection is None:
            return 0
        known, notes = self._collection.known(), self.catalogue.read(queries.versions)
        missing = sum(known.get(note_id) != search_hash(*rest) for note_id, rest in notes.items())
        return missing + sum(note_id not in notes for note_id in known)

    def counts(self) -> dict[str, int]:
        return self.catalogue.read(queries.counts)

    def start(self) -> None:
        self.watcher.start()

    def busy(self) -> bool:
        indexing = self._collection is not None and self._collection.busy()
        return indexing or self.index.progress.state in ("starting", "scanning")

    def sizes(self) -> dict[str, int]:
        sizes = {"catalogue": folder_size(self._folder)}
        return sizes if self._collection is None else {**sizes, "search": self._collection.size()}

    def problem(self) -> str | None:
        if self.index.progress.state == "unreachable":
            return "the folder of notes cannot be read"
        if self.catalogue.is_rebuilding:
            return "the catalogue of notes was damaged and is being rebuilt"
        if self.watcher.problem is not None:
            return "the file watcher stopped: edits by people are found by the next scan only"
        return self._collection.problem() if self._collection is not None else None

    def close(self) -> None:
        if self._reindexing is not None:
            self._reindexing.join()
        self.watcher.stop()
        if self.index.projector is not None:
            self.index.projector.close()
        self.catalogue.close()
        if self._collection is not None:
            self._collection.close()


def open_notes(
    ground: NotesEnvironment,
    *,
    rules: FileRules | None = None,
    following: WatchOptions | None = None,
    near_duplicates: bool = True,
    refuse_secrets: bool = False,
) -> Notes:
    rules, following, collection = rules or FileRules(), following or WatchOptions(), ground.collection
    catalogue = open_catalogue(ground.data_dir, ground.clock)
    identities = Identities(ground.database, ground.events.store, ground.clock)
    index = Index(
        ground.root,
        catalogue,
        identities,
        clock=ground.clock,
        rules=rules,
        collection=collection,
        is_promoted=ground.promotions.is_promoted if ground.promotions is not None else lambda note: False,
    )
    duplicates = NearDuplicates(collection, catalogue, index.minhashes, index.texts_at)
    vault = Vault(
        ground.root,
        catalogue,
        index,
        ground.effects,
        clock=ground.clock,
        ids=ground.ids,
        largest=rules.largest,
        check_token=ground.check_token,
        checks=_write_checks(ground.promotions, duplicates if near_duplicates else None, refuse_secrets),
    )
    notes = Notes(
        catalogue,
        index,
        _watcher(index, ground.root.path, following),
        vault,
        Reader(vault, duplicates.of_note),
        Mover(vault),
        History(vault, ground.database, ground.events),
        Validator(vault, identities, duplicates.clusters),
        NoteChanges(catalogue, index.allows_note, ground.database, ground.events),
        duplicates,
        identities,
        ground.data_dir / FOLDER,
        collection,
    )
    notes.watcher.scan = notes.reindex
    catalogue.on_lost(notes._catalogue_lost)
    if collection is not None:
        collection.on_lost(notes.watcher.ask)
    return notes


def _write_checks(
    promotions: Promotions | None, duplicates: NearDuplicates | None, refuse_secrets: bool
) -> WriteChecks:
    nothing = WriteChecks()
    return WriteChecks(
        promotions.check if promotions is not None else nothing.firewall,
        promotions.use if promotions is not None else nothing.use_promotion,
        duplicates.of_text if duplicates is not None else nothing.similar,
        refuse_secrets,
    )


def _watcher(index: Index, folder: Path, following: WatchOptions) -> Watcher:
    return Watcher(
        index,
        folder,
        watch=following.watch,
        debounce_ms=following.debounce_ms,
        scan_seconds=following.scan_seconds,
        clear=following.rebuild,
    )
