"""The segments of one chain, open for appending: one write and one flush for a whole batch."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from lithos.errors import Damaged, ReadOnly, StorageFull, Unavailable
from lithos.ledger.chain.format import RawEntry
from lithos.ledger.chain.segments import SEGMENT_BYTES, Adapter, Segment, list_segments, read_entries, segment_path
from lithos.storage import Faults, flush_path, open_file

REWRITING = ".rewriting"


class Log:
    def __init__(
        self,
        folder: Path,
        adapter: Adapter,
        faults: Faults,
        segment_bytes: int = SEGMENT_BYTES,
        *,
        frozen: bool = False,
    ) -> None:
        """`frozen`: the disk is read-only; nothing is touched, and `append` must not be called."""
        self._file = -1  # the last segment, while it is open
        self._frozen = frozen
        self.folder = folder
        self.adapter = adapter
        self._faults = faults
        self._segment_bytes = segment_bytes
        self.segments = list_segments(folder)
        self.end = 0
        if frozen:
            if not self.segments:
                raise Damaged("the chain has no segment", hint="Restore it from a backup.", finding="tail_missing")
            return
        for unfinished in folder.glob(f"*{REWRITING}"):
            unfinished.unlink()
        if not self.segments:
            self._start_segment(0)
        else:
            self._open_last()

    def _open_last(self) -> None:
        last = self.segments[-1]
        self._file = _open_to_write(last.path)
        self.end = os.fstat(self._file).st_size
        if self.end < len(last.adapter.magic):
            os.pwrite(self._file, last.adapter.magic, 0)
            self.end = len(last.adapter.magic)

    def _writable(self) -> int:
        """The last segment, reopened after `close`; `Damaged` if it was cut, replaced or removed meanwhile."""
        path = self.segments[-1].path
        if self._file < 0:
            self._file = _open_to_write(path)
        state = os.fstat(self._file)
        if state.st_size != self.end or not state.st_nlink:
            found = f"has {state.st_size} bytes" if state.st_nlink else "was removed"
            raise Damaged(
                f"{path.name} {found}; {self.end} were written",
                hint="The file was changed from outside: restore the chain from a backup.",
                finding="tail_missing",
            )
        return self._file

    def _start_segment(self, first: int) -> None:
        path = segment_path(self.folder, first, self.adapter)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            write_all(descriptor, self.adapter.magic, 0)
            self._faults.at("ledger.segment")
            os.fdatasync(descriptor)
            flush_path(self.folder)
        except OSError:
            os.close(descriptor)
            path.unlink()  # or the next attempt would fail, because the file exists
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self.end = descriptor, len(self.adapter.magic)
        self.segments.append(Segment(path, first, self.adapter))

    def append(self, first: int, entries: Sequence[bytes]) -> list[int]:
        """Write entries durably, all or none; returns their offsets."""
        data = b"".join(entries)
        try:
            if self.end >= self._segment_bytes:
                self._start_segment(first)
            descriptor = self._writable()
            self._faults.at("ledger.write")
            write_all(descriptor, data, self.end)
            self._faults.at("ledger.flush")
            os.fdatasync(descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):  # what is left is found by the next append, which then refuses
                os.ftruncate(self._file, self.end)
            raise translated(error) from error
        offsets, place = [], self.end
        for entry in entries:
            offsets.append(place)
            place += len(entry)
        self.end = place
        self._faults.at("ledger.written")
        return offsets

    def cut(self, segment: Segment, offset: int) -> None:
        """Drop what an unfinished write left behind; durable before anything is appended after it."""
        if self._frozen:
            return
        os.truncate(segment.path, offset)
        os.fsync(self._file)
        self.end = max(offset, len(self.adapter.magic))

    def segment_of(self, index: int) -> Segment:
        for segment in reversed(self.segments):
            if segment.first <= index:
                return segment
        return self.segments[0]

    def read_many(self, places: Sequence[tuple[int, int, int]]) -> list[RawEntry]:
        """Entries by index, offset and size; a segment is opened once for all that follow each other in it."""
        found: list[RawEntry] = []
        for segment, group in groupby(places, key=lambda place: self.segment_of(place[0])):
            found += read_entries(segment, [(offset, size) for _, offset, size in group])
        return found

    def rewrite(self, segment: Segment, offset: int, size: int, entry: bytes) -> None:
        """Replace one entry's bytes in its segment, whole or not at all, and wipe the old file's copy of them."""
        data = segment.path.read_bytes()
        fresh = segment.path.with_suffix(REWRITING)
        try:
            with fresh.open("wb") as file:
                file.write(data[:offset] + entry + data[offset + size :])
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            fresh.unlink()
            raise
        fresh.chmod(0o600)
        old = os.open(segment.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._faults.at("ledger.erase")
            fresh.rename(segment.path)
            flush_path(self.folder)
            os.pwrite(old, bytes(size), offset)
            os.fsync(old)
        finally:
            os.close(old)
        self.reopen()

    def reopen(self) -> None:
        """After a segment file was replaced."""
        self.close()
        self.segments = list_segments(self.folder)
        self._open_last()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    __del__ = close  # a caller may use it once more after the chain was closed


def _open_to_write(path: Path) -> int:
    try:
        return open_file(path, os.O_WRONLY)
    except (OSError, Damaged) as error:
        if isinstance(error, OSError) and error.errno == errno.EROFS:
            raise
        raise Damaged(
            f"{path.name} cannot be opened: {error}",
            hint="Restore the chain from a backup, or its permissions.",
            finding="malformed",
        ) from None


def write_all(descriptor: int, data: bytes | bytearray, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def append_whole(descriptor: int, data: bytes | bytearray) -> None:
    """Append durably, all or nothing: half a row or line would shift everything written after it."""
    end = os.fstat(descriptor).st_size
    try:
        write_all(descriptor, data, end)
        os.fdatasync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def translated(error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull("the disk is full: nothing was appended", hint="Free disk space, then call again.")
    if error.errno == errno.EROFS:
        return ReadOnly("the disk is read-only: nothing was appended", hint="Give it write access, then call again.")
    return Unavailable(f"it could not be written: {error}", hint="Nothing was appended. Call again.")
