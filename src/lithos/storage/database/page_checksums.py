"""Page checksums: SQLite's checksum VFS writes eight bytes at the end of each page and compares them at every read.

A bit that flips on the disk is then an error (`SQLITE_IOERR_DATA`) instead of an altered row. The extension comes with
apsw. Where it cannot be loaded, databases go on without checksums and `lithos doctor` says so. A program that writes
to the file without this VFS leaves pages with wrong checksums: change rows through Lithos alone.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path

import apsw
import apsw.sqlite_extra

NAME = "cksmvfs"
BYTES = 8  # at the end of each page; the VFS checks databases with exactly this many reserved bytes
_RESERVED_AT = 20  # in the header of the file
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
    connection.reserve_bytes("main", BYTES)
    if has is None:
        return
    try:
        connection.execute("VACUUM").fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (apsw.FullError, apsw.BusyError, apsw.ReadOnlyError, apsw.IOError) as error:
        _log.warning("%s has no page checksums yet: %s", path.name, error)
