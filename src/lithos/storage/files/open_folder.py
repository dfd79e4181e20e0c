"""One opened folder, and operations on its entries by plain name: no path is resolved twice."""

from __future__ import annotations

import errno
import os
import stat as modes
from collections.abc import Iterator
from contextlib import contextmanager

from lithos.core.canonical import version_of
from lithos.errors import Forbidden, TooLarge
from lithos.storage.faults import Faults
from lithos.storage.files.kernel import OPEN_ALWAYS, Kernel, flush, look, open_folder
from lithos.storage.files.os_errors import link_refused
from lithos.storage.files.values import File

_CHUNK = 2**20
_STEADY_TRIES = 3  # an editor that writes in place may be half-way: read again, a few times


class OpenFolder:
    def __init__(self, kernel: Kernel, faults: Faults, descriptor: int, folder: str, largest: int) -> None:
        self.kernel = kernel
        self.faults = faults
        self.descriptor = descriptor
        self.folder = folder
        self._largest = largest

    def read(self, name: str) -> File:
        """The bytes of a regular file. A link, folder or special file is never opened."""
        for _ in range(_STEADY_TRIES):
            data, before, after = self._read_once(name)
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
                break
        return File(data, version_of(data), after)

    def read_listed(self, name: str) -> bytes | None:
        """The bytes of what a scan has just called a regular file, or None; saves the look before the opening."""
        try:
            descriptor = os.open(name, os.O_RDONLY | OPEN_ALWAYS, dir_fd=self.descriptor)
        except OSError:
            return None
        try:
            found = os.fstat(descriptor)
            regular = modes.S_ISREG(found.st_mode) and found.st_size <= self._largest
            return _read_all(descriptor, found.st_size) if regular else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def version(self, name: str) -> str | None:
        """None where no regular file bears the name."""
        try:
            return self.read(name).version
        except (FileNotFoundError, Forbidden):
            return None

    def _read_once(self, name: str) -> tuple[bytes, os.stat_result, os.stat_result]:
        with self.opened(name) as descriptor:
            before = os.fstat(descriptor)
            if before.st_size > self._largest:
                raise TooLarge(f"{name!r} has {before.st_size} bytes; {self._largest} is the most that is read")
            data = _read_all(descriptor, before.st_size)
            return data, before, os.fstat(descriptor)

    @contextmanager
    def opened(self, name: str) -> Iterator[int]:
        _must_be_regular(name, look(self.kernel, self.descriptor, name))
        descriptor = self.kernel.open(self.descriptor, name, os.O_RDONLY)
        try:
            _must_be_regular(name, os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)

    def write_durably(self, name: str, data: bytes, like: os.stat_result | None = None, mode: int = 0o666) -> None:
        """A new file with all of these bytes on the disk; gone again if anything fails."""
        self.faults.at("write:open")
        descriptor = self.kernel.open(self.descriptor, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            if like is not None:
                _take_after(descriptor, like)
            rest = memoryview(data)
            while rest:
                self.faults.at("write:bytes")
                rest = rest[os.write(descriptor, rest[:_CHUNK]) :]
            self.faults.at("write:flush")
            flush(descriptor)
        except Exception:
            self.unlink(name)
            raise
        finally:
            os.close(descriptor)

    def exchange(self, one: str, other: str) -> None:
        self.faults.at("exchange")
        self.kernel.exchange(self.descriptor, one, other)

    def rename_new(self, name: str, to: str, to_place: OpenFolder | None = None) -> None:
        self.faults.at("rename-new")
        self.kernel.rename_new(self.descriptor, name, (to_place or self).descriptor, to)

    def rename(self, name: str, to: str) -> None:
        self.faults.at("rename")
        os.rename(name, to, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        """Gone, whether or not it was there."""
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return

    def flush(self) -> None:
        self.faults.at("flush-folder")
        flush(self.descriptor)

    def must_be_at(self, root: int) -> None:
        """Forbidden unless the path still leads here: the folder may have been moved and another put there."""
        if not self._is_at(root):
            raise Forbidden(
                f"the folder {self.folder!r} was moved or replaced meanwhile", hint="Look where the file is now."
            )

    def _is_at(self, root: int) -> bool:
        try:
            again = open_folder(self.kernel, root, self.folder)
        except OSError:
            return False
        try:
            return os.path.samestat(os.fstat(again), os.fstat(self.descriptor))
        finally:
            os.close(again)


def _must_be_regular(name: str, found: os.stat_result) -> None:
    if modes.S_ISREG(found.st_mode):
        return
    if modes.S_ISLNK(found.st_mode):
        raise link_refused(name)
    if modes.S_ISDIR(found.st_mode):
        raise Forbidden(f"{name!r} is a folder", hint="Name a file.")
    raise Forbidden(f"{name!r} is a FIFO, socket or device", hint="Only regular files are opened.")


def _read_all(descriptor: int, size: int) -> bytes:
    first = os.read(descriptor, size + 1)
    if len(first) <= size:
        return first  # a regular file is read short only at its end
    parts = [first]
    while part := os.read(descriptor, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def _take_after(descriptor: int, old: os.stat_result) -> None:
    """Mode and owner of the file that is replaced, as far as this user may give them."""
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError as error:
            # Only root can give files away; refusing to edit another user's file would be worse.
            if error.errno not in (errno.EPERM, errno.EACCES):
                raise
    os.fchmod(descriptor, modes.S_IMODE(old.st_mode))
