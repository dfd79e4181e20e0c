"""`merkle.bin`: the stored nodes of a chain's tree. Derived, written with each checkpoint, read by place."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

from lithos.errors import Damaged
from lithos.ledger.chain.log import write_all
from lithos.ledger.proofs import merkle
from lithos.storage import clear_place, open_file


class Nodes:
    def __init__(self, path: Path, size: int, *, frozen: bool = False) -> None:
        """Open with the tree of the first `size` leaves; nodes stored beyond it are dropped. `frozen`: the disk is
        read-only, the file stays as it is, and `flush` must not be called."""
        self.path = path
        self._frozen = frozen
        self._file = -1
        self._lock = threading.Lock()  # a reader must not meet a descriptor that is closed, or another file's
        self._reset(size)

    @property
    def _descriptor(self) -> int:
        """Opened on first need, and again after `close`."""
        if self._file < 0:
            if not self._frozen:
                clear_place(self.path)
            self._file = open_file(self.path, os.O_RDONLY if self._frozen else os.O_RDWR | os.O_CREAT)
        return self._file

    @staticmethod
    def peek(path: Path, size: int) -> bytes | None:
        """The root of the first `size` leaves, without changing the file; None if it does not hold them."""
        try:
            descriptor = open_file(path)
        except (OSError, Damaged):
            return None
        try:
            if os.fstat(descriptor).st_size < merkle.stored_count(size) * merkle.HASH_BYTES:
                return None
            return merkle.root(size, lambda place: os.pread(descriptor, 32, place * merkle.HASH_BYTES))
        finally:
            os.close(descriptor)

    def _reset(self, size: int) -> None:
        stored = merkle.stored_count(size) * merkle.HASH_BYTES
        if stored and os.fstat(self._descriptor).st_size < stored:
            size = stored = 0
        if not self._frozen:
            os.ftruncate(self._descriptor, stored)
        # Where the file ends, and what `flush` will write there: one pair, so that a reader never sees half a flush.
        self._tail = (stored, bytearray())
        self._tree = merkle.MerkleTree(size, merkle.right_edge(size, self.read))

    @property
    def size(self) -> int:
        return self._tree.size

    def append(self, hashes: Iterable[bytes]) -> bytes:
        """Add thoughts by their hashes (32 bytes each); returns the root of all of them."""
        self._tail[1].extend(self._tree.extend([merkle.leaf_hash(digest) for digest in hashes]))
        return self._tree.root()

    def read(self, place: int) -> bytes:
        start = place * merkle.HASH_BYTES
        end, waiting = self._tail
        if start < end:
            with self._lock:
                node = os.pread(self._descriptor, merkle.HASH_BYTES, start)
        else:
            node = bytes(waiting[start - end : start - end + merkle.HASH_BYTES])
        if len(node) != merkle.HASH_BYTES:
            raise Damaged("merkle.bin ends before the tree does", finding="index_damaged")
        return node

    def root(self, size: int) -> bytes:
        return merkle.root(size, self.read)

    def flush(self) -> None:
        end, waiting = self._tail
        write_all(self._descriptor, waiting, end)
        os.fdatasync(self._descriptor)
        self._tail = (end + len(waiting), bytearray())

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    __del__ = close  # a caller may use it once more after the chain was closed
