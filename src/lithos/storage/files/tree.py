"""A folder and everything beneath it, reached without following a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lithos.storage.faults import Faults
from lithos.storage.files.kernel import Kernel, flush, look, open_folder
from lithos.storage.files.open_folder import OpenFolder
from lithos.storage.files.paths import OURS, is_conflict_copy, joined, name_fault
from lithos.storage.files.values import FileEntry


class Tree:
    def __init__(self, path: Path, kernel: Kernel, faults: Faults, largest: int, mode: int = 0o777) -> None:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)  # a new one is private; one that is there keeps its mode
        self.path = path
        self.kernel = kernel
        self._faults = faults
        self._largest = largest
        self._mode = mode
        # The top itself may be a link; from here on only this descriptor counts.
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def reopen(self) -> bool:
        """Work in the folder that bears the path now, if it is another one; True then. OSError: there is none."""
        fresh = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if os.path.samestat(os.fstat(fresh), os.fstat(self.descriptor)):
                return False
            os.dup2(fresh, self.descriptor, inheritable=False)  # in one step: other threads use the number meanwhile
            return True
        finally:
            os.close(fresh)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    @contextmanager
    def place(self, folder: str, make: bool = False) -> Iterator[OpenFolder]:
        descriptor = self._open(folder, make)
        try:
            yield OpenFolder(self.kernel, self._faults, descriptor, folder, self._largest)
        finally:
            os.close(descriptor)

    def _open(self, folder: str, make: bool) -> int:
        try:
            return open_folder(self.kernel, self.descriptor, folder)
        except NotADirectoryError:
            self._refuse_links(folder)
            raise
        except FileNotFoundError:
            if not make:
                raise
        self.make(folder)
        return open_folder(self.kernel, self.descriptor, folder)

    def _refuse_links(self, folder: str) -> None:
        """The kernel reports a link in place of a folder as "not a directory"; the error should say which."""
        names = folder.split("/")
        for end in range(1, len(names) + 1):
            if stat.S_ISLNK(look(self.kernel, self.descriptor, "/".join(names[:end])).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), folder)

    def make(self, folder: str) -> None:
        """The folder and those above it, durably."""
        above, _, name = folder.rpartition("/")
        descriptor = self._open(above, make=bool(above))
        try:
            self._faults.at("make-folder")
            os.mkdir(name, self._mode, dir_fd=descriptor)
            flush(descriptor)
        except FileExistsError:
            os.close(self._open(folder, make=False))  # a file or link of that name is an error
        finally:
            os.close(descriptor)

    def scan(self, folder: str = "", hidden: bool = False) -> Iterator[FileEntry]:
        """Every file beneath, and with a reason what cannot be served; dot names are left out unless `hidden`."""
        for _, entries in self._folders(folder, hidden):
            yield from entries

    def contents(self, folder: str) -> Iterator[tuple[str, bytes]]:
        """(path, bytes) of every file that can be read, each folder opened once."""
        for place, entries in self._folders(folder, hidden=False, measured=False):
            for entry in entries:
                data = place.read_listed(entry.path.rpartition("/")[2]) if place and entry.kind == "file" else None
                if data is not None:
                    yield entry.path, data

    def _folders(
        self, folder: str, hidden: bool, measured: bool = True
    ) -> Iterator[tuple[OpenFolder | None, list[FileEntry]]]:
        """Each folder while it is open, with what is in it; None: it could not be opened."""
        pending = [folder]
        while pending:
            here = pending.pop()
            try:
                with self.place(here) as place:
                    with os.scandir(place.descriptor) as entries:
                        found = list(_entries(entries, here, pending, hidden, measured))
                    yield place, found
            except OSError as error:
                yield None, [FileEntry(here, 0, 0, 0, "unreadable", error.strerror or str(error))]

    def staged_files(self) -> Iterator[tuple[str, str]]:
        """(folder, name) of every file that a replace left behind."""
        pending = [""]
        while pending:
            here = pending.pop()
            try:
                descriptor = open_folder(self.kernel, self.descriptor, here)
            except OSError:
                continue  # unreadable folders are reported by `scan`
            try:
                with os.scandir(descriptor) as entries:
                    for entry in entries:
                        if entry.name.startswith(f"{OURS}-"):
                            yield here, entry.name
                        elif entry.is_dir(follow_symlinks=False) and name_fault(entry.name) is None:
                            pending.append(joined(here, entry.name))
            finally:
                os.close(descriptor)


def _entries(
    entries: Iterator[os.DirEntry[str]], here: str, pending: list[str], hidden: bool, measured: bool
) -> Iterator[FileEntry]:
    """Entries of one folder; folders below go to `pending`. Without `measured` no file costs a stat."""
    prefix = f"{here}/" if here else ""
    for entry in entries:
        name = entry.name
        if name[0] == "." and (not hidden or name.lower().startswith(OURS)):
            continue
        path = prefix + name
        if not (name.isascii() and name.isprintable()) and (fault := name_fault(name)):
            yield FileEntry(path, 0, 0, 0, "name", fault)
        elif entry.is_file(follow_symlinks=False):
            yield _file(entry, path, measured)
        elif entry.is_dir(follow_symlinks=False):
            pending.append(path)
        elif entry.is_symlink():
            yield FileEntry(path, 0, 0, 0, "link", "links are never followed")
        else:
            yield FileEntry(path, 0, 0, 0, "special", "a FIFO, socket or device")


def _file(entry: os.DirEntry[str], path: str, measured: bool) -> FileEntry:
    is_copy = is_conflict_copy(path)
    if not measured and not is_copy:
        return FileEntry(path, 0, 0, 0)
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError as error:
        return FileEntry(path, 0, 0, 0, "unreadable", error.strerror or str(error))
    facts = (path, found.st_size, found.st_mtime_ns, found.st_ino)
    if is_copy:
        return FileEntry(*facts, "conflict", "a conflict copy", found.st_ctime_ns, found.st_dev)
    return FileEntry(*facts, "file", "", found.st_ctime_ns, found.st_dev)
