"""Root: reads and durable writes confined beneath one folder; no save of another program is lost."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lithos.core.canonical import version_of
from lithos.core.clock import Clock
from lithos.errors import Forbidden, NotFound
from lithos.storage.faults import Faults, NoFaults
from lithos.storage.files import replacing
from lithos.storage.files.archive import Archive, Bounds
from lithos.storage.files.kernel import Kernel, best_kernel, held_by_others, look
from lithos.storage.files.open_folder import OpenFolder
from lithos.storage.files.os_errors import changed, translated
from lithos.storage.files.paths import checked, checked_new, joined, split
from lithos.storage.files.recent_writes import RecentWrites
from lithos.storage.files.staged import HELD, NEW, Sighting, StagedFile, judge, new_name
from lithos.storage.files.tree import Tree
from lithos.storage.files.values import File, FileEntry, KeptVersion, Limits, Replaced

_LOCKS = 64  # stripes: two paths rarely share one
_MOST_WATCHED = 2_000  # staged files beyond this are settled early rather than pile up in people's folders


@dataclass(frozen=True, slots=True)
class _Watched:
    folder: str
    staged: StagedFile
    since: float


class Root:
    """`name` identifies the root in `.lithos/`; `keep` is that folder, with history and trash."""

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        keep: Path,
        clock: Clock,
        faults: Faults | None = None,
        kernel: Kernel | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self._clock = clock
        self._limits = limits or Limits()
        kernel, faults = kernel or best_kernel(), faults or NoFaults()
        largest = self._limits.largest_file
        self._tree = Tree(path, kernel, faults, largest)
        self._kept = Tree(keep, kernel, faults, largest, mode=0o700)
        self._history = Archive(self._kept, f"history/{name}", clock, _history_bounds(self._limits))
        self._trash = Archive(self._kept, f"trash/{name}", clock, _trash_bounds(self._limits))
        self._recent = RecentWrites(keep / "recent" / f"{name}.log")
        self._locks = [threading.RLock() for _ in range(_LOCKS)]
        self._watched: deque[_Watched] = deque()
        self._copies: deque[str] = deque(maxlen=_MOST_WATCHED)

    @property
    def path(self) -> Path:
        return self._tree.path

    def reopen(self) -> bool:
        """Open the folder at the path again (restored, mounted again); True if it is another one."""
        with translated(str(self.path)):
            return self._tree.reopen()

    def close(self) -> None:
        self._tree.close()
        self._kept.close()

    # Reading

    def read(self, path: str) -> File:
        with translated(checked(path)):
            try:
                return self._read(path)
            except FileNotFoundError:
                if self._tree.kernel.exchanges:
                    raise
            with self._locked(path):  # without an exchange, a file that is being replaced is missing for a moment
                return self._read(path)

    def _read(self, path: str) -> File:
        folder, name = split(path)
        with self._tree.place(folder) as place:
            return place.read(name)

    def version(self, path: str) -> str | None:
        try:
            return self.read(path).version
        except NotFound:
            return None

    def stat(self, path: str) -> os.stat_result:
        """Of the entry of this name, link or special file included; nothing is opened or followed."""
        with translated(checked(path)):
            return look(self._tree.kernel, self._tree.descriptor, path)

    def exists(self, path: str) -> bool:
        """Whether there is an entry of this name."""
        try:
            self.stat(path)
        except NotFound:
            return False
        return True

    def scan(self, folder: str = "", *, hidden: bool = False) -> Iterator[FileEntry]:
        """Every file; entries that are not served come with a reason. Never raises for an entry."""
        return self._tree.scan(checked(folder) if folder else "", hidden)

    def contents(self, folder: str = "") -> Iterator[tuple[str, bytes]]:
        """(path, bytes) of every file that can be read; 4x as fast as `read` one by one."""
        return self._tree.contents(checked(folder) if folder else "")

    # Writing

    def replace(self, path: str, data: bytes, before: str | None, *, history: bool = True) -> Replaced:
        """Write durably if the file is at version `before` (None: if there is none); else Conflict, nothing changed."""
        if before is None:
            checked_new(path)
        self.sweep()
        folder, name = split(checked(path))
        fresh = new_name()
        with translated(path), self._locked(path):
            if before is None:
                with self._tree.place(folder, make=True) as place:
                    place.write_durably(fresh, data)
                    try:
                        replacing.put_new(place, fresh, name, data, self._tree.descriptor)
                    except FileExistsError:
                        raise changed(path, place.version(name)) from None
                self._recent.add(data)
                return Replaced(version_of(data))
            try:
                with self._tree.place(folder) as place:
                    old = place.read(name)
                    if old.version != before:
                        raise changed(path, old.version)
                    if old.data == data:
                        return Replaced(before, data)
                    if history:
                        self._history.keep(path, old.data)
                    place.write_durably(fresh, data, like=old.stat)
                    change = self._change(place, name, before, data)
                    replacing.put(change, fresh)
            except FileNotFoundError:
                raise changed(path, None) from None
            self._recent.drop(before)
            self._recent.add(data)
            return Replaced(change.after, old.data)

    def move(self, path: str, to: str, before: str) -> None:
        """Move the file; Conflict if it is not at version `before` or the new path is taken."""
        folder, name = split(checked(path))
        to_folder, to_name = split(checked_new(to))
        with translated(path), self._locked(path, to), self._tree.place(folder) as place:
            found = place.read(name).version
            if found != before:
                raise changed(path, found)
            with self._tree.place(to_folder, make=True) as there:
                place.must_be_at(self._tree.descriptor)
                there.must_be_at(self._tree.descriptor)
                try:
                    replacing.move(self._change(place, name, before, b""), there, to_name)
                except FileExistsError:
                    raise changed(to, there.version(to_name)) from None

    def trash(self, path: str, before: str) -> str:
        """Move the file to the trash if it is at version `before`; its path there, relative to `.lithos/`."""
        folder, name = split(checked(path))
        with translated(path), self._locked(path), self._tree.place(folder) as place:
            old = place.read(name)
            if old.version != before:
                raise changed(path, old.version)
            kept = self._trash.keep(path, old.data)
            replacing.take_away(self._change(place, name, before, b""))
            self._recent.drop(before)
            return kept.kept

    def make_folder(self, path: str) -> None:
        with translated(checked_new(path)):
            self._tree.make(path)

    # History and trash

    def keep_history(self, path: str, data: bytes) -> KeptVersion:
        with translated(checked(path)), self._locked(path):
            return self._history.keep(path, data)

    def keep_conflict(self, path: str, data: bytes) -> str:
        """A conflict copy with these bytes beside the file; its path."""
        folder, name = split(checked(path))
        with translated(path), self._tree.place(folder, make=True) as place:
            fresh = new_name()
            place.write_durably(fresh, data)
            return self._note_copy(place, replacing.make_conflict_copy(place, fresh, name, self._clock.now()))

    def keep_overwritten(self, path: str, version: str) -> None:
        """Another program saved over this version: if Lithos wrote it recently, keep it in the history."""
        data = self._recent.find(version)
        if data is not None:
            self.keep_history(path, data)

    def new_conflict_copies(self) -> list[str]:
        """The conflict copies made since the last call."""
        found: list[str] = []
        while self._copies:
            found.append(self._copies.popleft())
        return found

    def history(self, path: str) -> list[KeptVersion]:
        """Replaced versions, newest first."""
        with translated(checked(path)):
            return self._history.versions(path)

    def trashed(self, path: str) -> list[KeptVersion]:
        with translated(checked(path)):
            return self._trash.versions(path)

    def read_kept(self, kept: KeptVersion) -> bytes:
        with translated(kept.path):
            return self._trash.read(kept)

    def version_kept(self, path: str, version: str) -> bytes:
        """The bytes of this version; NotFound when they are no longer kept."""
        with translated(checked(path)):
            return self._history.find(path, version)

    def prune(self) -> int:
        """Delete what exceeds the limits of history and trash; how many files."""
        with translated(self.name):
            return self._history.prune() + self._trash.prune()

    # Staged files

    def recover(self) -> list[str]:
        """At start, before the first call: settle the staged files of a crash; the conflict copies it made."""
        copies = []
        for folder, name in list(self._tree.staged_files()):
            with translated(joined(folder, name)), self._tree.place(folder) as place:
                staged = StagedFile.parse(name)
                if name.startswith(NEW):
                    place.unlink(name)
                elif staged is not None:
                    copies += self._settle(place, staged, overdue=staged.kind == HELD)
        return copies

    def sweep(self, everything: bool = False) -> list[str]:
        """Settle the staged files that are due; the conflict copies it made."""
        copies: list[str] = []
        now = self._clock.since_boot()
        for _ in range(len(self._watched)):
            if not everything and not self._is_due(now):
                break
            try:
                watched = self._watched.popleft()
            except IndexError:  # another thread sweeps as well
                break
            overdue = everything or now - watched.since >= self._limits.patience_seconds
            try:
                with translated(watched.folder or "."), self._tree.place(watched.folder) as place:
                    copies += self._settle(place, watched.staged, overdue, watched.since)
            except NotFound:
                continue  # the folder is gone, and the staged file with it
        return copies

    def _is_due(self, now: float) -> bool:
        try:
            oldest = self._watched[0]
        except IndexError:
            return False
        return len(self._watched) > _MOST_WATCHED or now - oldest.since >= self._limits.grace_seconds

    def _settle(self, place: OpenFolder, staged: StagedFile, overdue: bool, since: float | None = None) -> list[str]:
        try:
            verdict = judge(staged, _sighting(place, staged, overdue))
        except FileNotFoundError:
            return []
        if verdict == "drop":
            place.unlink(staged.name)
        elif verdict == "wait":
            self._watch(place.folder, staged, since)
        elif verdict == "put-back":
            place.rename_new(staged.name, staged.target)
            place.flush()
        else:
            copy = replacing.make_conflict_copy(place, staged.name, staged.target, self._clock.now())
            return [self._note_copy(place, copy)]
        return []

    def _note_copy(self, place: OpenFolder, name: str) -> str:
        path = joined(place.folder, name)
        self._copies.append(path)
        return path

    def _watch(self, folder: str, staged: StagedFile, since: float | None = None) -> None:
        self._watched.append(_Watched(folder, staged, self._clock.since_boot() if since is None else since))

    # Helpers

    def _change(self, place: OpenFolder, name: str, before: str, data: bytes) -> replacing.Replacement:
        return replacing.Replacement(
            place,
            name,
            before,
            version_of(data),
            self._tree.descriptor,
            self._watch,
            self._clock.now,
            self._copies.append,
        )

    @contextmanager
    def _locked(self, *paths: str) -> Iterator[None]:
        with ExitStack() as stack:
            for index in sorted({hash(path) % _LOCKS for path in paths}):
                stack.enter_context(self._locks[index])
            yield


def _sighting(place: OpenFolder, staged: StagedFile, overdue: bool) -> Sighting:
    target = place.version(staged.target)
    try:
        with place.opened(staged.name) as descriptor:
            open_elsewhere = held_by_others(descriptor)
        found = place.read(staged.name)
    except Forbidden:
        return Sighting(None, False, False, target, overdue)
    return Sighting(found.version, not found.data, open_elsewhere, target, overdue)


def _history_bounds(limits: Limits) -> Bounds:
    return Bounds(limits.history_versions, limits.history_days, limits.history_bytes)


def _trash_bounds(limits: Limits) -> Bounds:
    return Bounds(limits.history_versions, limits.trash_days, limits.trash_bytes)
