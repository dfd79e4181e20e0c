"""Page checksums: SQLite's checksum VFS writes eight bytes at the end of each page and compares them at every read.

A bit that flips on the disk is then an error (`SQLITE_IOERR_DATA`) instead of an altered row. The extension comes with
apsw. Where it cannot be loaded, databases go on without checksums and `lithos doctor` says so. A program that writes
to the file without this VFS leaves pages with wrong checksums: change rows through Lithos alone.
"""

from __future__ import annotations

import functools
import logging
import os
from pathlib import Path

import apsw
import apsw.sqlite_extra

from lithos.errors import Damaged
from lithos.storage.files.durable import open_file

NAME = "cksmvfs"
BYTES = 8  # at the end of each page; the VFS checks databases with exactly this many reserved bytes
_RESERVED_AT = 20  # in the header of the file
_MAGIC = b"SQLite format 3\0"
_log = logging.getLogger(__name__)


@functools.cache
def checksum_vfs() -> str | None:
    """The name of the VFS, registered once per process; None: this build has none."""
    try:
        connection = apsw.Connection(":memory:")
        try:
            apsw.sqlite_extra.load(connection, "cksumvfs")
        finally:
            connection.close()
    except (apsw.Error, apsw.sqlite_extra.NotAvailable, OSError) as error:
        _log.warning("databases have no page checksums here: %s", error)
        return None
    return NAME


def has_checksums(path: Path) -> bool | None:
    """None: there is no page yet."""
    with path.open("rb") as file:
        header = file.read(100)
    return header[_RESERVED_AT] == BYTES if len(header) == 100 else None


def add_checksums(connection: apsw.Connection, path: Path) -> None:
    """For a new database with its first page; one that has none yet is rewritten once."""
    has = has_checksums(path) if path.exists() else None
    if has or checksum_vfs() is None:
        return
    if has is False and _had_checksums(path):
        raise Damaged(f"the header of {path.name} is not what was written", hint="Restore it from a backup.")
    connection.reserve_bytes("main", BYTES)
    if has is None:
        return
    try:
        connection.execute("VACUUM").fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (apsw.FullError, apsw.BusyError, apsw.ReadOnlyError, apsw.IOError) as error:
        _log.warning("%s has no page checksums yet: %s", path.name, error)


def _had_checksums(path: Path) -> bool:
    """Whether the first page is sound but for the byte that says that pages have checksums."""
    with path.open("rb") as file:
        header = file.read(100)
        size = int.from_bytes(header[16:18], "big") or 65_536
        page = bytearray(header + file.read(max(0, size - 100)))
    if len(page) != size or size < 512 or size & (size - 1):
        return True
    page[_RESERVED_AT] = BYTES
    return _sound(bytes(page))


def _sound(page: bytes) -> bool:
    connection = apsw.Connection(":memory:")
    try:
        return bool(connection.execute("SELECT verify_checksum(?)", (page,)).get == 1)
    finally:
        connection.close()


class PageCheck:
    """Reads the pages of a database file one after the other, and compares each with its checksum.

    A page that no question asks for would keep its flipped bit until it is needed. The file stays open until `close`:
    closing any descriptor of it would drop the locks that SQLite holds on it in this process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._next = 0
        self.wrong: frozenset[int] = frozenset()  # page numbers, from 1, of those looked at so far
        self.suspect: frozenset[int] = frozenset()  # of the last look: zeros, whose checksum is right, or cut off

    def run(self, most: int | None = None) -> frozenset[int]:
        """Look at the next `most` pages, or at all of them; those that were wrong before are looked at again."""
        if checksum_vfs() is None:
            return self.wrong
        if self._file < 0:
            self._file = open_file(self._path)
        header = os.pread(self._file, 100, 0)
        if header[: len(_MAGIC)] != _MAGIC:  # all may still be in the log
            self.suspect = frozenset({1})
            return self.wrong
        size = int.from_bytes(header[16:18], "big") or 65_536
        if header[_RESERVED_AT] != BYTES and 1 not in self.wrong and not self._next:
            return self.wrong
        count = os.fstat(self._file).st_size // size
        first = 0 if most is None else self._next
        last = count if most is None else min(count, first + most)
        self._next = last if last < count else 0
        looked = {*range(first, last), *(page - 1 for page in self.wrong if page <= count)}
        self.wrong = self._wrong_of(looked, size)
        self.suspect = frozenset(self._suspects(looked, header, size, count))
        return self.wrong

    def _suspects(self, looked: set[int], header: bytes, size: int, count: int) -> set[int]:
        nothing = bytes(size)
        zeros = {page + 1 for page in looked if os.pread(self._file, size, page * size) == nothing}
        wanted = int.from_bytes(header[28:32], "big")
        return (zeros - self._free(header, size) if zeros else set()) | ({wanted} if wanted > count else set())

    def _free(self, header: bytes, size: int) -> set[int]:
        """Pages in no use, which SQLite overwrites with zeros: lists of them, of which the header names the first."""
        free: set[int] = set()
        trunk = int.from_bytes(header[32:36], "big")
        while trunk and trunk not in free:
            page = os.pread(self._file, size, (trunk - 1) * size)
            numbers = [int.from_bytes(page[place : place + 4], "big") for place in range(0, len(page), 4)] or [0, 0]
            free |= {trunk, *numbers[2 : 2 + numbers[1]]}
            trunk = numbers[0]
        return free

    def _wrong_of(self, pages: set[int], size: int) -> frozenset[int]:
        connection = apsw.Connection(":memory:")
        try:
            return frozenset(page + 1 for page in pages if not self._is_sound(connection, page, size))
        finally:
            connection.close()

    def _is_sound(self, connection: apsw.Connection, page: int, size: int) -> bool:
        """Twice: a checkpoint may be writing the page at this moment."""
        for _ in range(2):
            data = os.pread(self._file, size, page * size)
            if len(data) < size or connection.execute("SELECT verify_checksum(?)", (data,)).get == 1:
                return True
        return False

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    __del__ = close
