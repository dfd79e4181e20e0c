"""Notes for tests: a vault on real files, people who edit them, and the comparison with a rebuild."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from lithos.app import Lithos
from lithos.core.ids import RandomIds
from lithos.notes import NotesEnvironment, ReadNote, open_notes
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue, open_catalogue
from lithos.notes.index.identities import Identities
from lithos.notes.index.index import Index
from lithos.storage import Effects, Faults, Limits, Root, Tx
from tests.support.storage_bench import StorageBench


def rebuilt(lithos: Lithos) -> dict[str, Any]:
    """What an index built from nothing but the files and the recorded ids would know."""
    ground = lithos.storage
    with tempfile.TemporaryDirectory() as folder:
        catalogue = open_catalogue(Path(folder), ground.clock)
        try:
            identities = Identities(ground.database, ground.events.store, ground.clock)
            index = Index(
                ground.roots["vault"], catalogue, identities, clock=ground.clock, rules=lithos.notes.index.rules
            )
            assert index.reconcile().state == "current"
            return dump(catalogue)
        finally:
            catalogue.close()


def assert_index_is_true(lithos: Lithos) -> None:
    """The live index equals a rebuild, and search holds exactly the notes."""
    live = dump(lithos.notes.catalogue)
    fresh = rebuilt(lithos)
    for part in fresh:
        assert live[part] == fresh[part], part
    assert lithos.notes.complete() == 0


class Person:
    """Somebody with an editor."""

    def __init__(self, lithos: Lithos) -> None:
        self._lithos = lithos
        self.folder = lithos.storage.roots["vault"].path

    def save(self, path: str, text: str | bytes) -> Path:
        """As an editor that saves in place does."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def save_by_rename(self, path: str, text: str) -> None:
        beside = self.save(f"{path}.swp", text)
        beside.replace(self.folder / path)

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def rests(self) -> None:
        """Time for the index to notice, without waiting for the watcher."""
        assert self._lithos.notes.index.reconcile().state == "current"


class NotesBench(StorageBench):
    """The vault alone, without the rest of Lithos: quick to open, and to kill."""

    def __init__(self, folder: Path, faults: Faults | None = None, limits: Limits | None = None) -> None:
        super().__init__(folder, faults)
        if limits is not None:
            self.root.close()
            self.root = Root(
                folder / "knowledge", name="vault", keep=folder / ".lithos", clock=self.clock, limits=limits
            )
        self.effects = Effects(
            self.database, self.events, self.once, {"vault": self.root}, clock=self.clock, faults=faults
        )
        self.effects.recover()
        ground = NotesEnvironment(self.root, folder, self.database, self.effects, self.events, self.clock, RandomIds())
        self.notes = open_notes(ground)
        self.notes.ensure_scanned()

    def close(self) -> None:
        self.notes.close()
        super().close()

    def note(self, path: str) -> ReadNote:
        return self.notes.reader.read(path=path)

    def rebuilt(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            catalogue = open_catalogue(Path(folder), self.clock)
            try:
                identities = Identities(self.database, "store-1", self.clock)
                Index(self.root, catalogue, identities, clock=self.clock).reconcile()
                return dump(catalogue)
            finally:
                catalogue.close()


def dump(catalogue: Catalogue) -> dict[str, Any]:
    """Everything that a rebuild must give again, in one comparable form; numbers and times of files apart."""
    return catalogue.read(_dump)


def _dump(tx: Tx) -> dict[str, Any]:
    return {
        "files": sorted([path, version, reason] for path, *_, version, reason in queries.files(tx)),
        "notes": tx.all(f"SELECT {_COMPARED} FROM notes ORDER BY path"),
        "tags": tx.all("SELECT id, tag FROM tags JOIN notes USING (number) ORDER BY id, tag"),
        "names": tx.all("SELECT id, name FROM names JOIN notes USING (number) ORDER BY id, name"),
        "links": tx.all(
            "SELECT one.id, position, target, markdown, name, other.id AS leads_to, links.status FROM links"
            " JOIN notes AS one ON one.number = links.source LEFT JOIN notes AS other ON other.number = note"
            " ORDER BY one.id, position"
        ),
        "rows": [tx.one(f"SELECT count(*) AS n FROM {table}") for table in ("notes", "tags", "names", "links")],
    }


_COMPARED = (
    "id, own_id, path, path_key, title, author, created, updated, version, problem, bare, tags, aliases,"
    " status, ttl_policy, merge_key, claim_id, provenance, supersedes, superseded_by, source,"
    " derived_from, expires, confidence, effective_status, ends, hex(minhash) AS minhash"
)


DEADLINE = 120.0  # longer than a scan takes to come round: an edit before the watch is set up waits for it


def paths(lithos: Lithos) -> dict[str, str]:
    """path → id of every note that is served."""
    lithos.notes.ensure_scanned()
    return {item["path"]: item["id"] for item in lithos.notes.reader.list(limit=1000)["items"]}
