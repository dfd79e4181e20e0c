"""Notes: the vault and what serves it, opened and joined."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from lithos.core.clock import Clock
from lithos.core.ids import Ids
from lithos.notes.changes import NoteChanges
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue, open_catalogue
from lithos.notes.index.identities import Identities
from lithos.notes.index.index import Index, Progress, Rules
from lithos.notes.index.watcher import Watcher
from lithos.notes.lifecycle.effective_status import IsPromoted
from lithos.notes.lifecycle.near_duplicates import NearDuplicates
from lithos.notes.validation import Validator
from lithos.notes.vault.history import History
from lithos.notes.vault.moving import Mover
from lithos.notes.vault.reading import Reader
from lithos.notes.vault.vault import CheckToken, Gates, Vault
from lithos.search import Collection, Projector
from lithos.storage import Database, Effects, Events, Root


@dataclass(frozen=True, slots=True)
class Following:
    """How closely people's edits are followed."""

    watch: bool = True
    debounce_ms: int = 500
    scan_seconds: float = 60.0
    rebuild: bool = False


@dataclass(frozen=True, slots=True)
class Ground:
    """What the notes stand on, as `app` hands it over."""

    root: Root
    graph: Path  # the folder of what is derived
    database: Database
    effects: Effects
    events: Events
    clock: Clock
    ids: Ids
    check_token: CheckToken | None = None


@dataclass
class Notes:
    catalogue: Catalogue
    index: Index
    watcher: Watcher
    _vault: Vault
    _reader: Reader
    _mover: Mover
    _history: History
    _validator: Validator
    changes: NoteChanges
    _projector: Projector | None = None
    _once: threading.Lock = field(default_factory=threading.Lock)
    _is_current: bool = False
    _reindexing: threading.Thread | None = None

    @property
    def vault(self) -> Vault:
        self.be_current()
        return self._vault

    @property
    def reader(self) -> Reader:
        self.be_current()
        return self._reader

    @property
    def mover(self) -> Mover:
        self.be_current()
        return self._mover

    @property
    def history(self) -> History:
        self.be_current()
        return self._history

    @property
    def validator(self) -> Validator:
        self.be_current()
        return self._validator

    def be_current(self) -> None:
        """A process that follows the files waits a moment for its first look; any other looks itself, once."""
        if self.watcher.is_running:
            self.watcher.wait_for_first_look()
            return
        if self._is_current:
            return
        with self._once:
            if not self._is_current:
                self.reindex()

    def reindex(self, *, clear: bool = False) -> Progress:
        """Compare every file with what is known; `clear` builds everything that is derived anew."""
        progress = self.index.reconcile(clear=clear)
        if clear and progress.state == "current" and self._projector is not None:
            self._projector.rebuild()
        else:
            self.complete()
        self._is_current = True
        return progress

    def reindex_soon(self, *, clear: bool = False) -> None:
        """The same behind the call; `index.progress` tells how far it is."""
        self.index.announce()
        self._is_current = True  # nobody else need look meanwhile
        if self.watcher.is_running:
            self.watcher.ask(clear=clear)
        else:
            self._reindexing = threading.Thread(target=self.reindex, kwargs={"clear": clear}, name="reindex")
            self._reindexing.start()

    def join_search(self, collection: Collection) -> None:
        """From here on every change goes to search too; what it has missed it gets with the next scan."""
        self._projector = Projector(collection, self.index, "notes")
        self.index.project = self._projector.apply

    def complete(self) -> int:
        return self._projector.resume() if self._projector is not None else 0

    @property
    def unhurried(self) -> Vault:
        """The vault without a look at the files first, for whoever keeps it."""
        return self._vault

    def live_by(self, is_promoted: IsPromoted, gates: Gates, likes: NearDuplicates) -> None:
        """From here on writes pass these gates, and readers are told of notes that are alike."""
        self.index.is_promoted = is_promoted
        self._vault.gates = gates
        self._reader.neighbours = likes.of_note
        self._validator.clusters = likes.clusters

    def counts(self) -> dict[str, int]:
        return self.catalogue.read(queries.counts)

    def is_working(self) -> bool:
        return self.index.progress.state in ("starting", "scanning")

    def close(self) -> None:
        if self._reindexing is not None:
            self._reindexing.join()
        self.watcher.stop()
        self.catalogue.close()


def open_notes(ground: Ground, *, rules: Rules | None = None, following: Following | None = None) -> Notes:
    rules, following = rules or Rules(), following or Following()
    catalogue = open_catalogue(ground.graph, ground.clock)
    identities = Identities(ground.database, ground.events.store, ground.clock)
    index = Index(ground.root, catalogue, identities, clock=ground.clock, rules=rules)
    vault = Vault(
        ground.root,
        catalogue,
        index,
        ground.effects,
        clock=ground.clock,
        ids=ground.ids,
        largest=rules.largest,
        check_token=ground.check_token,
    )
    notes = Notes(
        catalogue,
        index,
        _watcher(index, ground.root.path, following),
        vault,
        Reader(vault),
        Mover(vault),
        History(vault, ground.database, ground.events),
        Validator(vault, identities),
        NoteChanges(catalogue, ground.database, ground.events),
    )
    notes.watcher.scan = notes.reindex
    return notes


def _watcher(index: Index, folder: Path, following: Following) -> Watcher:
    return Watcher(
        index,
        folder,
        watch=following.watch,
        debounce_ms=following.debounce_ms,
        scan_seconds=following.scan_seconds,
        clear=following.rebuild,
    )
