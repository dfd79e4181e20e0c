"""Index: brings the catalogue and search to the state of the files, by one code for writes, edits and rebuilds."""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache

from lithos.core.canonical import version_of
from lithos.core.clock import Clock, micros, rfc3339
from lithos.core.listeners import Listeners
from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound, TooLarge, Unavailable
from lithos.notes.format.document import Unreadable
from lithos.notes.format.naming import is_note_path, path_id
from lithos.notes.format.note import Note, read_note
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue, CatalogueChanges, KnownFile, ReadFile, portions
from lithos.notes.index.identities import IdClaim, Identities, IdRecord, Renamed, assign
from lithos.notes.index.link_names import NOT_CALLED
from lithos.notes.index.note_rule import NoteRule
from lithos.notes.index.projection import search_document, search_hash
from lithos.notes.index.scan_diff import ScanDiff, diff_scan
from lithos.notes.lifecycle.effective_status import IsPromoted, effective_status
from lithos.notes.lifecycle.minhash import MinHashes, minhash_of
from lithos.notes.lifecycle.near_duplicates import words_of
from lithos.search import Collection, Document, DocumentChange, Projector, Remove
from lithos.storage import FileChange, FileEntry, Rebuilding, Root, is_conflict_copy

Look = ReadFile | KnownFile | None  # a note or a reason why not; only its date where the bytes are known; None: gone

_PORTION = 256  # files taken in at once: fewer cost twice the work of SQLite, more let a writer wait over 100 ms
# A file saved again within the resolution of its date looks unchanged; it is read once more at the next scan.
_RACY_NS = 50_000_000
_ROUNDS = 4  # an id that becomes free may go to a file whose own id becomes free …
_log = logging.getLogger("lithos.notes")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the index is; `lithos_stats` shows it."""

    state: str = "starting"  # starting | scanning | current | unreachable
    done: int = 0
    total: int = 0
    held: int = 0  # notes that are served although their folder or disk is out of reach
    problem: str | None = None
    current_at: str | None = None  # when the last scan ended
    scans: int = 0  # that have ended
    links_open: bool = False  # a scan has read files and not resolved their links yet

    @property
    def behind(self) -> str:
        """Which files a search does not see yet; empty once all have been read."""
        if self.state == "scanning" and self.done < self.total:
            return f"files not read yet: {self.total - self.done}"
        if self.state == "starting" and not self.scans:
            return "the files were not looked at yet"
        if self.links_open:
            return "the links between notes are not resolved yet"
        return self.problem or "" if self.state == "unreachable" else ""


@dataclass(frozen=True, slots=True)
class FileRules:
    largest: int = 4 * 2**20
    ignored: tuple[str, ...] = ()


class Index:
    def __init__(
        self,
        root: Root,
        catalogue: Catalogue,
        identities: Identities,
        *,
        clock: Clock,
        rules: FileRules | None = None,
        collection: Collection | None = None,
        is_promoted: IsPromoted = lambda note: False,
    ) -> None:
        self._root = root
        self._catalogue = catalogue
        self._identities = identities
        self._clock = clock
        self.rules = rules or FileRules()
        self._note_rule = NoteRule(self.rules.ignored)
        self.projector = Projector(collection, self, "notes") if collection is not None else None
        self.is_promoted = is_promoted
        self.minhashes = MinHashes(lambda: catalogue.read(queries.minhashes))
        # What is read under this lock is at least as new as what was applied before: nothing older ever wins.
        self._lock = threading.RLock()
        try:
            self._complete, self._last_change = catalogue.is_complete(), catalogue.last_change()
        except Rebuilding:  # it was damaged, and is empty now
            self._complete, self._last_change = False, 0
        self._asked: deque[_RefreshRequest] = deque()
        self._scanning = threading.Lock()
        self._unknown_ids: list[str] = []  # in search and not in the catalogue
        self._unprojected: list[str] = []  # paths whose note search lacks, last first
        self.progress = Progress(links_open=not catalogue.is_settled())
        self.changed = Listeners("the files of notes")

    # Three ways to learn of a change

    def refresh(self, paths: Iterable[str], written: Sequence[FileChange] = ()) -> None:
        """Something happened to these files just now; `written` is what we did to them ourselves."""
        own = _RefreshRequest(tuple(paths), written)
        self._asked.append(own)
        with self._lock:
            if not own.done:
                self._refresh([own, *self._asked_by_others(own)])

    def _asked_by_others(self, own: _RefreshRequest) -> Iterator[_RefreshRequest]:
        """Requests that wait for the lock meanwhile: one transaction for all takes half of what each alone would."""
        while self._asked:
            asked = self._asked.popleft()
            if asked is not own and not asked.done:
                yield asked

    def _refresh(self, asked: Sequence[_RefreshRequest]) -> None:
        written = [change for each in asked for change in each.written]
        made = {change.path for change in written if change.before is None}
        paths = dict.fromkeys(path for each in asked for path in each.paths if path not in made)
        known = {path: _unknown(path) for path in made} | self._known(paths)
        ours = made | {path for change in written for path in (change.path, change.move_to) if path}
        looks = self._take(list(known), [], known, ours=ours)
        for change in written:
            if change.after is not None:
                self._check_written(change.move_to or change.path, version_of(change.after), looks)
        for each in asked:
            each.done = True

    def _check_written(self, path: str, version: str, looks: Mapping[str, Look]) -> None:
        """A person may have saved over it before we read it."""
        look = looks.get(path)
        seen = look.seen if isinstance(look, ReadFile) else look
        if seen is None or seen.version != version:
            self._root.keep_overwritten(path, version)

    def follow(self, paths: Iterable[str]) -> None:
        """A hint that something happened to these files or folders."""
        known: dict[str, KnownFile] = {}
        entries: dict[str, FileEntry] = {}
        for path in paths:
            known.update(self._catalogue.files(path))
            entries.update((entry.path, entry) for entry in self._entries(path))
        self._carry_out(diff_scan(entries.values(), known, self._note_rule, cache(self._device)))

    def reconcile(self, *, clear: bool = False) -> Progress:
        """Compare every file with what is known. `clear` reads all of them again, and gives up what is out of reach."""
        with self._scanning:
            try:
                self._reopen()
                if clear:
                    self._catalogue.forget()
                self._scan(clear)
            except LithosError as error:
                scans = self.progress.scans + 1
                if isinstance(error, Rebuilding):  # not the vault's fault: the caller scans again
                    return self.progress
                self.progress = replace(self.progress, state="unreachable", problem=error.message, scans=scans)
                _log.warning("the vault was not scanned: %s", error.message)
        return self.progress

    def announce(self) -> None:
        """A scan is about to begin: a caller that waits for it must not take the last one for it."""
        self.progress = replace(self.progress, state="starting")

    def expect(self, path: str, note_id: str) -> None:
        """Record that the file about to appear at this path, rewritten and without an id, is still this note."""
        self._identities.keep({path: IdRecord(note_id)})

    # A scan

    def _scan(self, clear: bool) -> None:
        # Known first: a note that is made meanwhile is then new to us, and never mistaken for one that is gone.
        restarts = self._catalogue.restarts
        known = self._catalogue.files()
        found = diff_scan(self._root.scan(), known, self._note_rule, cache(self._device))
        if found.problem:
            raise Unavailable(found.problem, hint="Mount it again, or correct its permissions.")
        if clear:
            found.gone += found.held
            found.held = []
        total = len(found.changed) + len(found.gone)
        before = self.progress
        self.progress = replace(before, state="scanning", done=0, total=total, held=len(found.held), problem=None)
        self._carry_out(found)
        self._settle()  # what a scan that was killed has left open
        self._complete = True
        problem = f"{len(found.held)} notes are out of reach and kept as they were" if found.held else None
        now = rfc3339(self._clock.now())
        self.progress = Progress("current", total, total, len(found.held), problem, now, before.scans + 1)
        self._catalogue.filled(restarts)

    def _carry_out(self, found: ScanDiff) -> None:
        with self._lock:
            self._catalogue.touch(self._still_known(found.dated))
            if found.listed:
                self._apply([ReadFile(seen) for seen in found.listed], [], settle=True)
            if len(found.changed) + len(found.gone) <= _PORTION:
                gone = [path for path in found.gone if self._is_gone(path)]
                self._take(found.changed, gone, self._known_now([*found.changed, *gone]))
                return
        self._carry_out_in_portions(found)

    def _known_now(self, paths: Iterable[str]) -> dict[str, KnownFile]:
        """Read again under the lock: an agent may have written since the scan began, and its answer counts."""
        return {path: known for path in paths if (known := self._catalogue.files(path).get(path)) is not None}

    def _still_known(self, dated: Sequence[KnownFile]) -> list[KnownFile]:
        now = self._known_now(each.path for each in dated)
        return [each for each in dated if each.path in now and now[each.path].version == each.version]

    def _carry_out_in_portions(self, found: ScanDiff) -> None:
        self.progress = replace(self.progress, links_open=True)
        renamed = self._renames(found.gone)
        records = self._identities.records
        ordered = sorted(found.changed, key=lambda path: (path in records, path))
        for portion in portions(ordered, _PORTION):
            with self._lock:
                self._take(portion, [], self._known_now(portion), renamed=renamed, settle=False)
            self._advance(len(portion))
        for portion in portions(found.gone, _PORTION):
            with self._lock:
                gone = [path for path in portion if self._is_gone(path)]
                self._take([], gone, self._known_now(gone), settle=False)
            self._advance(len(portion))
        self._settle()

    def _settle(self) -> None:
        """Resolve the links that a scan left open; search learns the names that they give their notes."""
        called = self._catalogue.settle()
        for portion in portions(called, _PORTION):
            with self._lock:
                self._project(self.documents_at(portion))
        self.progress = replace(self.progress, links_open=False)

    def _advance(self, count: int) -> None:
        self.progress = replace(self.progress, done=self.progress.done + count)

    # Reading and applying, always under the lock

    def _take(
        self,
        paths: Sequence[str],
        gone: Sequence[str],
        known: Mapping[str, KnownFile],
        *,
        renamed: Mapping[str, Renamed] | None = None,
        settle: bool = True,
        ours: Set[str] = frozenset(),
    ) -> dict[str, Look]:
        """Read these files and apply them; returns the state of each. `ours` names those that Lithos wrote just now."""
        first: dict[str, Look] = {}
        pending = list(paths)
        for path in gone:
            self._keep_overwritten(known.get(path), None)
        for _ in range(_ROUNDS):
            looks = {path: self._look(path, known.get(path)) for path in pending}
            first = first or looks
            self._catalogue.touch(look for look in looks.values() if isinstance(look, KnownFile))
            found = [look for look in looks.values() if isinstance(look, ReadFile)]
            lost = [*gone, *(path for path, look in looks.items() if look is None and path in known)]
            if not found and not lost:
                break
            before = self._renames(lost) if renamed is None else renamed
            identified = self._marked(self._identified(found, lost, before), ours)
            applied = self._apply(identified, lost, settle=settle)
            pending, gone, known = applied.again, (), {}
            if not pending:
                break
        return first

    def _apply(self, found: list[ReadFile], gone: list[str], *, settle: bool) -> CatalogueChanges:
        found = [each if each.note is None else self._standing(each, each.note) for each in found]
        applied = self._catalogue.apply(found, gone, settle=settle)
        self._identities.remember(applied.moved)
        self.minhashes.change({**dict.fromkeys(applied.gone), **{each.id: each.minhash for each in found if each.note}})
        if self.projector is not None:
            called = applied.called
            documents = [self._document(each, called.pop(each.seen.path, NOT_CALLED)) for each in found if each.note]
            self._project([*map(Remove, applied.gone), *documents, *self.documents_at([*called])])
        self.changed.wake()
        return applied

    def _project(self, changes: Sequence[DocumentChange]) -> None:
        if self.projector is not None:
            self.projector.apply(changes)

    def _marked(self, found: list[ReadFile], ours: Set[str]) -> list[ReadFile]:
        """Mark whose change it is, and what is a change although the catalogue has no such note: one that Lithos made
        or restored, one that was deleted and is back, and one that arrives, each with the date that it had."""
        ids = {each.id for each in found if each.note is not None and each.seen.path not in ours}
        new: Set[str] = frozenset()
        back: Set[str] = frozenset()
        if ids and self._complete:
            new = ids.difference(self._catalogue.read(lambda tx: queries.owners(tx, sorted(ids))))
            back = self._identities.written_before(new)
        marked = []
        for each in found:
            own = each.seen.path in ours
            marked.append(replace(each, by_us=own, edited=own or each.id in back, arrived=each.id in new))
        return marked

    def _standing(self, found: ReadFile, note: Note) -> ReadFile:
        status = effective_status(note, self.is_promoted)
        words = words_of(f"{note.title}\n{note.search_text}") if status == "active" else frozenset()
        return replace(found, effective_status=status, minhash=minhash_of(words), changed=self._changed(found.seen))

    def _changed(self, seen: KnownFile) -> int:
        """When the change was seen, in microseconds: a list of changes that was read a moment before must not miss
        it. Of a catalogue that is built from scratch: when the file got its bytes or its name (a rename leaves the
        date of the bytes alone), for a rebuild announces no change."""
        now = micros(self._clock.now())
        if self._complete:
            self._last_change = max(now, self._last_change + 1)  # a clock set back must not hide it
            return self._last_change
        renamed = now if seen.ctime_ns < 0 else seen.ctime_ns // 1000
        return min(now, max(seen.mtime_ns // 1000, renamed))

    def _document(self, found: ReadFile, called: str) -> DocumentChange:
        assert found.note is not None
        updated = found.note.updated(found.seen.mtime_ns)
        return search_document(found.note, found.id, updated, found.effective_status, called)

    def allows_note(self, path: str) -> bool:
        """Whether a file at this path is served; hidden and ignored files and conflict copies never are."""
        return self._note_rule.allows_note(path)

    def _look(self, path: str, known: KnownFile | None) -> Look:
        if not self.allows_note(path):
            return None
        try:
            file = self._root.read(path)
        except NotFound:
            self._keep_overwritten(known, None)
            return None
        except (Forbidden, InvalidInput, TooLarge, Unavailable) as error:
            return self._unread(path, known, error)
        seen = self._seen(path, file.stat, file.version)
        if known is not None and known.version == file.version and known.reason is None:
            return seen
        self._keep_overwritten(known, file.version)
        if len(file.data) > self.rules.largest:
            return ReadFile(seen._replace(reason=_too_large(len(file.data), self.rules.largest)))
        note = read_note(path, file.data)
        return ReadFile(seen._replace(reason=note.reason)) if isinstance(note, Unreadable) else ReadFile(seen, note)

    def _keep_overwritten(self, known: KnownFile | None, now: str | None) -> None:
        """Keep what an agent wrote a while ago and an editor with an older text has replaced."""
        if known is not None and known.version not in (now, ""):
            self._root.keep_overwritten(known.path, known.version)

    def _unread(self, path: str, known: KnownFile | None, error: LithosError) -> Look:
        """A regular file that cannot be read now may be readable again: what is known of it stays."""
        try:
            found = self._root.stat(path)
        except LithosError:
            return None
        seen = self._seen(path, found, "")._replace(reason=error.message, mtime_ns=-1)
        if not stat.S_ISREG(found.st_mode) or isinstance(error, TooLarge):
            return ReadFile(seen._replace(mtime_ns=found.st_mtime_ns))
        return seen if known is None else seen._replace(version=known.version)

    def _seen(self, path: str, found: os.stat_result, version: str) -> KnownFile:
        now = micros(self._clock.now()) * 1000
        changed = -1 if abs(now - found.st_ctime_ns) < _RACY_NS else found.st_ctime_ns
        return KnownFile(path, found.st_size, found.st_mtime_ns, changed, found.st_ino, found.st_dev, version)

    # Who is who

    def _identified(self, found: list[ReadFile], gone: list[str], renamed: Mapping[str, Renamed]) -> list[ReadFile]:
        notes = [(each.seen, each.note.own_id) for each in found if each.note is not None]
        nameless = [seen.path for seen, own_id in notes if own_id is None]
        served = self._catalogue.read(lambda tx: queries.ids_at(tx, nameless)) if nameless else {}
        claims = [IdClaim(seen.path, own_id, _before(seen, served, renamed)) for seen, own_id in notes]
        assigned = assign(claims, self._identities.records, self._owner(claims, set(gone)))
        self._identities.keep(assigned.records)
        return [replace(each, id=assigned.ids.get(each.seen.path, "")) for each in found]

    def _owner(self, claims: list[IdClaim], gone: set[str]) -> Callable[[str], str | None]:
        """A lookup of the file served under an id, now or before a rebuild; files that are gone own none."""
        asked = {claim.own_id or path_id(claim.path) for claim in claims}
        asked |= {claim.before.id for claim in claims if claim.before}
        owners = self._catalogue.read(lambda tx: queries.owners(tx, sorted(asked)))
        recorded = {record.id: path for path, record in self._identities.records.items()}
        asking = {claim.path for claim in claims}

        def owner(note_id: str) -> str | None:
            if note_id not in asked:
                owners.update(self._catalogue.read(lambda tx: queries.owners(tx, [note_id])))
            for path in (owners.get(note_id), recorded.get(note_id)):
                if path is not None and path not in gone and (path in asking or not self._is_gone(path)):
                    return path
            return None

        return owner

    def _renames(self, gone: Sequence[str]) -> dict[str, Renamed]:
        """By the bytes that moved: what a new file without an id may have been until now."""
        if not gone:
            return {}
        rows = self._catalogue.read(lambda tx: queries.without_own_id(tx, gone))
        return {version: Renamed(path, note_id) for path, note_id, version in reversed(rows)}

    # Search

    @property
    def lock(self) -> threading.RLock:
        return self._lock

    def restart(self, known: Mapping[str, str]) -> bool:
        """Compare what search holds (id → hash) with the catalogue; `next_batch` gives the difference."""
        notes = self._catalogue.read(queries.versions)
        if self._catalogue.is_rebuilding:  # what a half-filled catalogue lacks is not gone
            self._unknown_ids, self._unprojected = [], []
            return False
        self._unknown_ids = [note_id for note_id in known if note_id not in notes]
        missing = [rest[0] for note_id, rest in notes.items() if known.get(note_id) != search_hash(*rest)]
        self._unprojected = sorted(missing, reverse=True)
        return True

    def next_batch(self) -> Sequence[DocumentChange]:
        if self._unknown_ids:
            removed, self._unknown_ids = self._unknown_ids, []
            return [Remove(note_id) for note_id in removed]
        while self._unprojected:
            portion = self._unprojected[-_PORTION:][::-1]
            del self._unprojected[-_PORTION:]
            if documents := self.documents_at(portion):
                return documents
        return ()

    def documents_at(self, paths: Sequence[str]) -> list[Document]:
        rows = self._catalogue.read(lambda tx: [queries.note_by_path(tx, path) for path in paths])
        found: list[Document] = []
        for row in filter(None, rows):
            look = self._look(row["path"], None)
            if isinstance(look, ReadFile) and look.note is not None and look.seen.version == row["version"]:
                known = (row["id"], row["updated"], row["effective_status"], row["called"])
                found.append(search_document(look.note, *known))
        return found

    def texts_at(self, versions: Mapping[str, str]) -> dict[str, str]:
        """Path → text as search has it, of those files that still have this version."""
        found: dict[str, str] = {}
        for path, version in versions.items():
            look = self._look(path, None)
            if isinstance(look, ReadFile) and look.note is not None and look.seen.version == version:
                found[path] = look.note.search_text
        return found

    # The folder

    def _reopen(self) -> None:
        if self._root.reopen():
            _log.info("the vault's folder was replaced by another one of the same name")

    def _known(self, paths: Iterable[str]) -> dict[str, KnownFile]:
        known: dict[str, KnownFile] = {}
        for path in paths:
            known[path] = self._catalogue.files(path).get(path) or _unknown(path)
        return known

    def _entries(self, path: str) -> Iterable[FileEntry]:
        try:
            found = self._root.stat(path)
        except NotFound:
            return []
        except LithosError as error:
            return [FileEntry(path, 0, 0, 0, "unreadable", error.message)]
        if stat.S_ISDIR(found.st_mode):
            return self._root.scan(path)
        if not stat.S_ISREG(found.st_mode) or not is_note_path(path):
            return []
        facts = (path, found.st_size, found.st_mtime_ns, found.st_ino)
        if is_conflict_copy(path):
            return [FileEntry(*facts, "conflict", "a conflict copy", found.st_ctime_ns, found.st_dev)]
        return [FileEntry(*facts, ctime_ns=found.st_ctime_ns, device=found.st_dev)]

    def _is_gone(self, path: str) -> bool:
        """Only what is surely not there is gone; a folder that may not be entered hides, it does not delete."""
        if not self.allows_note(path):
            return True
        try:
            return not stat.S_ISREG(self._root.stat(path).st_mode)
        except NotFound:
            return True
        except LithosError:
            return False

    def _device(self, folder: str) -> int | None:
        try:
            return (self._root.stat(folder) if folder else os.stat(self._root.path)).st_dev  # noqa: PTH116 a stat result
        except (LithosError, OSError):
            return None


@dataclass(slots=True)
class _RefreshRequest:
    """Files that a caller waits for to be indexed."""

    paths: tuple[str, ...]
    written: Sequence[FileChange]
    done: bool = False


def _unknown(path: str) -> KnownFile:
    return KnownFile(path, 0, -1, -1, 0, 0, "")


def _before(seen: KnownFile, served: Mapping[str, str], renamed: Mapping[str, Renamed]) -> Renamed | None:
    """The note that a file without an id was: the one served from its path (an editor may be in the middle of a save),
    or the file with these bytes that is no longer where it was."""
    known = served.get(seen.path)
    return renamed.get(seen.version) if known is None else Renamed(seen.path, known)


def _too_large(size: int, largest: int) -> str:
    return f"larger than the limit: {size} of {largest} bytes"
