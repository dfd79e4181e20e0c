"""Entries in files: `*.jsonl`, one readable line each, or `*.bin`, length-prefixed frames. Append-only segments.

A segment is named after the index of its first entry. Both adapters hold the same canonical bytes, so converting
one into the other changes no hash.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lithos.errors import Damaged
from lithos.ledger.chain.format import SALT_BYTES, RawEntry
from lithos.storage import open_file

SEGMENT_BYTES = 32 << 20  # forgetting rewrites one segment: a fifth of a second at this size
BLOCK_BYTES = 4 << 20
HASH_TEXT = 64
FRAME_HEAD = struct.Struct(">II32s16s")
SALT_TEXT = 2 * SALT_BYTES
_SEGMENT_NAME = re.compile("[0-9]{12}")


class Adapter(Protocol):
    name: str
    suffix: str
    magic: bytes

    def encode(self, raw: RawEntry) -> bytes: ...

    def decode(self, data: bytes) -> RawEntry:
        """One entry of exactly these bytes."""
        ...

    def split(self, block: bytes) -> tuple[list[bytes], int]:
        """The whole entries at the beginning of a block, and where the rest begins."""
        ...


class Lines:
    """`{"body":…,"record":…,"salt":"…","hash":"…"}` and a newline."""

    name = "jsonl"
    suffix = ".jsonl"
    magic = b""
    _forgotten = b'{"body":null,"record":'
    _tail = len(b',"salt":"') + SALT_TEXT + len(b'","hash":"') + HASH_TEXT + len(b'"}\n')
    _forgotten_tail = len(b',"salt":null,"hash":"') + HASH_TEXT + len(b'"}\n')

    def encode(self, raw: RawEntry) -> bytes:
        record, body, salt, digest = raw
        if not body and not salt:
            return b'%s%s,"salt":null,"hash":"%s"}\n' % (self._forgotten, record, digest)
        return b'{"body":%s,"record":%s,"salt":"%s","hash":"%s"}\n' % (body, record, salt, digest)

    def decode(self, data: bytes) -> RawEntry:
        if data.startswith(self._forgotten):
            end = len(data) - self._forgotten_tail
            raw = (data[len(self._forgotten) : end], b"", b"", data[-HASH_TEXT - 3 : -3])
        else:
            end = len(data) - self._tail
            # An unescaped quote cannot occur inside a JSON text, so this border is only where it should be.
            border = data.find(b',"record":', 8, end)
            salt = data[end + 9 : end + 9 + SALT_TEXT]
            raw = (data[border + 10 : end], data[8:border], salt, data[-HASH_TEXT - 3 : -3])
        if self.encode(raw) != data:
            raise Damaged("the line is not an entry", finding="malformed")
        return raw

    def split(self, block: bytes) -> tuple[list[bytes], int]:
        lines = block.split(b"\n")
        rest = lines.pop()
        return [line + b"\n" for line in lines], len(block) - len(rest)


class Frames:
    """Big-endian length of the rest, length of the body, hash, salt, record, body."""

    name = "binary"
    suffix = ".bin"
    magic = b"LITHOS1\n"
    _head = FRAME_HEAD

    def encode(self, raw: RawEntry) -> bytes:
        record, body, salt, digest = raw
        rest = self._head.size - 4 + len(record) + len(body)
        noise = bytes.fromhex(salt.decode()) if salt else bytes(SALT_BYTES)
        return self._head.pack(rest, len(body), bytes.fromhex(digest.decode()), noise) + record + body

    def decode(self, data: bytes) -> RawEntry:
        if len(data) < self._head.size:
            raise Damaged("the frame is too short to be an entry", finding="malformed")
        rest, body_size, digest, noise = self._head.unpack_from(data)
        border = len(data) - body_size
        if rest != len(data) - 4 or border < self._head.size:
            raise Damaged("the frame's lengths contradict each other", finding="malformed")
        if not body_size:
            if any(noise):
                raise Damaged("a frame without content has a salt", finding="malformed")
            return data[self._head.size :], b"", b"", digest.hex().encode()
        return data[self._head.size : border], data[border:], noise.hex().encode(), digest.hex().encode()

    def split(self, block: bytes) -> tuple[list[bytes], int]:
        frames: list[bytes] = []
        place, size = 0, len(block)
        while place + 4 <= size:
            end = place + 4 + int.from_bytes(block[place : place + 4], "big")
            # A length below the head's is damage; taken as a separate frame, `decode` finds it.
            end = max(end, place + 8)
            if end > size:
                break
            frames.append(block[place:end])
            place = end
        return frames, place


ADAPTERS: dict[str, Adapter] = {"binary": Frames(), "jsonl": Lines()}
_BY_SUFFIX = {adapter.suffix: adapter for adapter in ADAPTERS.values()}


@dataclass(frozen=True, slots=True)
class Segment:
    path: Path
    first: int
    adapter: Adapter

    @property
    def size(self) -> int:
        return self.path.lstat().st_size


@dataclass(frozen=True, slots=True)
class Block:
    """Whole entries that follow each other in one segment."""

    segment: Segment
    offset: int
    entries: list[bytes]


@dataclass(frozen=True, slots=True)
class Rest:
    """The bytes after the last whole entry of a segment."""

    segment: Segment
    offset: int
    data: bytes

    @property
    def looks_torn(self) -> bool:
        """An unfinished write: the beginning of an entry, or blocks that were never filled."""
        return not self.data.strip(b"\x00") or b"\n" not in self.data or self.segment.adapter.name == "binary"


def list_segments(folder: Path) -> list[Segment]:
    found = []
    for path in folder.iterdir():
        adapter = _BY_SUFFIX.get(path.suffix)
        if adapter is not None and _SEGMENT_NAME.fullmatch(path.stem):
            found.append(Segment(path, int(path.stem), adapter))
    return sorted(found, key=lambda segment: segment.first)


def segment_path(folder: Path, first: int, adapter: Adapter) -> Path:
    return folder / f"{first:012d}{adapter.suffix}"


def read_blocks(segment: Segment, start: int = 0, block_bytes: int = BLOCK_BYTES) -> Iterator[Block | Rest]:
    """All whole entries from byte `start` on, in big blocks; at the end what is left over, if anything is."""
    with os.fdopen(_opened(segment), "rb") as file:
        if start == 0 and not _magic_matches(segment, file.read(len(segment.adapter.magic))):
            raise Damaged(f"{segment.path.name} does not begin as a segment does", finding="malformed")
        place = max(start, len(segment.adapter.magic))
        file.seek(place)
        rest = b""
        while chunk := file.read(block_bytes):
            data = rest + chunk
            entries, used = segment.adapter.split(data)
            if entries:
                yield Block(segment, place, entries)
            place += used
            rest = data[used:]
        if rest:
            yield Rest(segment, place, rest)


def check_magic(segment: Segment) -> None:
    """That a segment begins as one does: no hash covers these bytes."""
    descriptor = _opened(segment)
    try:
        if not _magic_matches(segment, os.pread(descriptor, len(segment.adapter.magic), 0)):
            raise Damaged(f"{segment.path.name} does not begin as a segment does", finding="malformed")
    finally:
        os.close(descriptor)


def _magic_matches(segment: Segment, head: bytes) -> bool:
    # A file shorter than its magic was created and not yet written to when the machine stopped.
    return segment.adapter.magic.startswith(head)


def read_entries(segment: Segment, places: Sequence[tuple[int, int]]) -> list[RawEntry]:
    """Entries by offset and size."""
    found = []
    descriptor = _opened(segment)
    try:
        for offset, size in places:
            data = _pread(segment, descriptor, size, offset)
            if len(data) != size:
                raise Damaged(
                    f"{segment.path.name} ends before its entry does",
                    hint="The file was cut: restore the chain from a backup.",
                    finding="tail_missing",
                )
            found.append(segment.adapter.decode(data))
    finally:
        os.close(descriptor)
    return found


def _opened(segment: Segment) -> int:
    try:
        return open_file(segment.path)
    except (OSError, Damaged) as error:
        raise Damaged(
            f"{segment.path.name} cannot be read: {error}",
            hint="Restore the chain from a backup.",
            finding="segment_missing" if isinstance(error, FileNotFoundError) else "malformed",
        ) from None


def _pread(segment: Segment, descriptor: int, size: int, offset: int) -> bytes:
    try:
        return os.pread(descriptor, size, offset)
    except OSError as error:  # a folder bears the name now, or the disk fails
        raise Damaged(f"{segment.path.name} cannot be read: {error.strerror}", finding="segment_missing") from None
